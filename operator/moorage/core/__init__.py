"""Core decides: which node a pod goes to, or why none will do.

Called by engine with the time and the tie-break seed as arguments, so that a decision can be
replayed, tested against an oracle, simulated and explained with the code that schedules. Pure: no
I/O, no clock, no randomness, no logging, no async, and nothing but the standard library's pure
parts, NumPy, msgspec and annotated_types. It knows no layer above it.
"""
