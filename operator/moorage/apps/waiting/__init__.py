"""`moorage queue`: who waits for a node, in which order, for what, and until when."""
