"""Structural schemas: what a kind's objects may hold, said once for built-in kinds and custom
resources alike.
"""
