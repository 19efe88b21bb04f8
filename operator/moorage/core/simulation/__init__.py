"""Simulation: a queue, a clock and arrivals around ``core.cycle``, on a context of one's own."""
