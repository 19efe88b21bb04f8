"""What Kubernetes' texts mean, stated once: quantities, names, label selectors, durations, patterns. It knows no object and no client."""
