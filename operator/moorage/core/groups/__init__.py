"""Pod groups: what they ask for."""
