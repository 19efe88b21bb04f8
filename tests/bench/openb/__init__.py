"""The trace of ``make bench-openb``, and how it is placed."""
