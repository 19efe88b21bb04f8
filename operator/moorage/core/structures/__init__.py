"""Data structures without a meaning of their own: what grows, what is numbered, what is remembered,
what is all or nothing.
"""
