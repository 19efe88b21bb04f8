"""Worlds: a cluster at one moment with the profiles that decide for it, wherever they are from.

Whatever looks, explains or simulates opens a world and works on its context: nobody else uses it.
``from_cluster`` opens one from the API server, ``from_files`` from YAML and JSON.
"""
