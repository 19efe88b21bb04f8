"""Explaining: why a pod is where it is, or nowhere, and what would change that.

Everything is asked of the evaluator and the cycle; no rule is written down here a second time. The
context that is handed in belongs to the explanation (one from a key frame): pods are moved and
nodes added to try what that would change, and all of it is taken back.
"""
