"""The plugins in the tree, one module each with the same face; none knows another. ``intree`` lists
them and the presets.
"""
