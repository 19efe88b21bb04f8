"""Revisions of profiles, for people: what decided when, what differs between two, and the way back.

All are views of what the API server has: the profiles, and the revisions that the operator stores.
"""
