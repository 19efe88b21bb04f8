"""Volumes: what of a pod's volumes placement looks at, and what claims and volumes are to each
other.
"""
