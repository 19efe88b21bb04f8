"""The CEL plugin: filters and scores that a PluginConfig writes as expressions on a pod and a
node.
"""
