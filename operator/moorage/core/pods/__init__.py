"""What the spec of one pod means: what it asks for, where it may go, with whom. Pure functions of
one pod.
"""
