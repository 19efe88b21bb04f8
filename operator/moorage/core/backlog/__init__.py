"""The backlog: pods that have no node yet, each in one place, and what gets it out of there.

``backlog.Backlog`` is what others call; the other modules are its parts.
"""
