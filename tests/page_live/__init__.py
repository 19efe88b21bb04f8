"""The page of a cluster in which things happen."""
