"""Ports are small protocols for what the engine needs from the world (API server, clock, events,
telemetry), and their errors.

Called by engine, implemented by adapters and by the tests' fakes. There is no third-party library
here and no I/O, so that whatever stands behind a port can be replaced.

* Ports, a module for each that can be replaced by itself: ``kube``, ``http_calls``,
  ``extender_calls``, ``event_recorder``, ``telemetry``, ``clock``, ``leadership``, ``requesters``.
  ``bundle`` has those that the engine is given.
* What both sides of a port call alike: ``errors``, ``stored_kinds``, ``quarantine_record``,
  ``texts``.
* What both sides do about faults alike: ``guards``, ``retrying``, ``repeated_logs``.
"""
