"""Subresources, and other things that are only asked: bindings, evictions, scales, tokens,
reviews.
"""
