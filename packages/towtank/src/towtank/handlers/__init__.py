"""From a request to its response: which handler answers it, reads, writes, discovery and
OpenAPI.
"""
