"""What is told of pods and of the scheduler: conditions, events, metrics, debug output."""
