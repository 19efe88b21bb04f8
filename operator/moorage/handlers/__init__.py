"""Handlers turn Kopf's events on our two custom resources into engine calls: unpack, one engine
call, return.

Registered by apps in an explicit Kopf registry. No I/O, no decisions, no adapters and no clients:
Kopf's login and session are handed in by apps.
"""
