"""The demo: a cluster in a temporary folder, the operator at work on it, and a board of what
happens.

``control_plane`` starts the processes and ``samples`` gives them work. ``watcher`` reads what
becomes of it into a ``cluster_state``; ``board`` lays that out for a terminal, and ``screen`` shows
it there. ``tour`` changes something and says what happened.
"""
