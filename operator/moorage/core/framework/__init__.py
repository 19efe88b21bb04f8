"""The framework: the plugin contract, how profiles become revisions, how a pod is evaluated against
all nodes.

Called by the cycle and, to resolve profiles, by the engine. Knows plugins by their protocols only.
"""
