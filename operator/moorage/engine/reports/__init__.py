"""What is reported of pods and of the scheduler: conditions, events, metrics, debug output."""
