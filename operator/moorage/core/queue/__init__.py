"""The scheduling queue: active, backoff, unschedulable, gated; which event moves whom. The time is
an argument.
"""
