"""Bytes and texts of the wire, made into requests: bodies in JSON, YAML and protobuf, paths,
queries, headers. No store here.
"""
