"""From the next pod to what becomes of it: the loop, attempts, groups, extenders, preemption,
nominations.
"""
