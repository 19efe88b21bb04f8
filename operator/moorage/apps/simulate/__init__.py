"""`moorage simulate`: what would become of a cluster, or of a recorded time, otherwise."""
