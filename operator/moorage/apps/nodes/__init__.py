"""Nodes: the room on each of them, and what of it is of no use, as columns for a map."""
