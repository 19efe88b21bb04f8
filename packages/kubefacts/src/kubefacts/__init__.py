"""What Kubernetes' texts mean, stated once: quantities, names, durations. It knows no object and no client."""
