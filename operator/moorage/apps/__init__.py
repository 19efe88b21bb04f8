"""Apps are the programs: the command line, the composition root that joins engine and adapters,
supervision, reports, generators.

Started by people and containers. The only layer that may import all others. Heavy libraries (Kopf,
Kubernetes, NumPy) are imported inside the commands, so that `moorage --help` answers at once.
"""
