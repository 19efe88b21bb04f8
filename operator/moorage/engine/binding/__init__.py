"""From a node chosen to a pod bound: permit, preBind, the binding itself, postBind, and taking back
what fails.
"""
