"""Ports without a network or a real clock, for tests of the layers above them. What a test did not
foresee fails loudly.
"""
