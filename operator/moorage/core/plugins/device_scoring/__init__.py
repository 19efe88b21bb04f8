"""DeviceScoring: which nodes, and which of their devices, are to be taken."""
