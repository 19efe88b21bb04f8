"""The demo: a cluster in a temporary folder, the operator at work on it, and a table of what
happens.

``control_plane`` starts the processes and ``samples`` gives them work. ``watcher`` reads what
becomes of it into a ``cluster_state``, and ``table`` draws that. ``tour`` changes something and
says what happened.
"""
