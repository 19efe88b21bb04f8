"""Answering: a request, as it came, to an answer."""
