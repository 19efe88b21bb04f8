"""A scheduler without columns: plain loops over nodes and pods, nothing kept from one decision to
the next.

It is the naive twin of core's columns and says what they must decide. It shares the objects and the
arguments with core, no logic.
"""
