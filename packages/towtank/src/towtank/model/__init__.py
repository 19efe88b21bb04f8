"""The vocabulary: names and numbers, kinds and schemas' nodes, requests and refusals. Pure, and
below everything else.
"""
