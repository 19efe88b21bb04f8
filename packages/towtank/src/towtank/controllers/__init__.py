"""Controllers: what else moves in a cluster. Deployments get pods, pods run, what nobody owns is
deleted.
"""
