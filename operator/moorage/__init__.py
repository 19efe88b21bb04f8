"""Moorage: a Kubernetes scheduler whose profiles and plugins are custom resources.

Layers, imports go down only: apps > handlers > (engine | adapters) > ports > api > core. Each
package says in its docstring what it is for, who calls it and what it must not do; `.importlinter`
turns those sentences into a failing check.
"""

__version__ = "0.1.0"
FOLLOWED = "1.37"
"""The release of kube-scheduler by whose rules is decided."""
