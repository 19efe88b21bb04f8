"""Golden vectors: what the plugins of kube-scheduler 1.37.2 decided on random clusters, and what
our core decides on the same.

``python -m tests.vectors DIR`` runs every file of a folder; ``cases/`` holds compressed copies of
the families that are built. An adapter turns a case into what we decide, in the form of the case's
``expect``; the two are then compared field by field.
"""
