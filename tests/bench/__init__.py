"""Benchmarks: programs that measure; none is part of `make test`."""
