"""The demo: a cluster in a temporary folder, the operator at work on it, and a table of what happens.

``cluster`` starts the processes, ``samples`` gives them work, ``watching`` reads what becomes of it into a ``state``, ``view`` draws
that, ``tour`` changes something and says what happened.
"""
