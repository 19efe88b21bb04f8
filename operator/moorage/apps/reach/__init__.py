"""Reaching an operator: which installation serves a cluster's profiles, who leads it, and a
connection to that process.
"""
