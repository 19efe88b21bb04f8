"""Ports are small protocols for what the engine needs from the world (API server, clock, events,
telemetry), and their errors.

Called by engine, implemented by adapters and by the tests' fakes. Only declarations and the errors
that cross the edge live here: no third-party library, no I/O, so that whatever stands behind a port
can be replaced.
"""
