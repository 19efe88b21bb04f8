"""A small Kubernetes API server in memory, for demos, tests and classrooms: its README says what it is and what it is not.

It knows nothing of the rest of the package. ``python -m towtank`` runs it as a process of its own.
"""
