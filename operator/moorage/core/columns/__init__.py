"""Columns: the cluster as parallel arrays, the cache that keeps them, the snapshot that plugins
read.

Called by the framework and the cycle; written by the engine's intake alone. Knows nothing of
plugins.
"""
