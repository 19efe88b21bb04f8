"""Engine does what core decided: feeds the cache and the queue, runs the loop, binds, swaps
profiles, reports status.

Called by handlers (one call per event) and started by apps, on one event loop's thread. It reaches
the world through ports only: it imports no adapter, no client library, no Kopf, no Prometheus.
"""
