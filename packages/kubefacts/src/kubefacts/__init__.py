"""What Kubernetes' texts mean, stated once: quantities, names, label selectors, durations. It knows no object and no client."""
