"""What pairs of decisions prove: the sequential test of a trial, and nothing of the cluster."""
