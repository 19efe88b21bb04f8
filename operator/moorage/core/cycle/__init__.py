"""One decision: filters, scores, a node, or why none will do; with extenders and for groups of
pods.
"""
