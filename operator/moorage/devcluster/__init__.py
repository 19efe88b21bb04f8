"""A small Kubernetes API server in memory, for demos, tests and classrooms: docs/devcluster.md says what it is and what it is not.

It knows nothing of the rest of the package. ``python -m moorage.devcluster`` runs it as a process of its own.
"""
