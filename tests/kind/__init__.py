"""The image on a cluster of kind: `python -m tests.kind`, where Docker is."""
