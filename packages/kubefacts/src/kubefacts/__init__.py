"""What Kubernetes' texts mean, stated once: quantities, names, label selectors, durations,
patterns, CEL. It knows no object.
"""
