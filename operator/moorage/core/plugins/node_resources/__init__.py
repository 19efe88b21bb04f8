"""NodeResourcesFit and NodeResourcesBalancedAllocation, and what they have in common."""
