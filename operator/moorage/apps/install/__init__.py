"""`moorage install` and `moorage uninstall`: the operator's objects, in a cluster and out of it."""
