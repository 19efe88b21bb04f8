"""PodTopologySpread: pods of one kind spread over topology domains."""
