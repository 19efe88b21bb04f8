"""Devices: which of them can be given to which claims. Pure functions on the structs of
``objects.resource_claims``.

``pools`` says what a node can reach, ``claim_requests`` what claims want; ``allocator`` searches,
``device_searches`` joins slices of that, ``allocation_results`` writes the answer down; ``ledger``
and ``uses`` say who has which devices, ``pod_claims`` which claims a pod uses; ``capacity`` is
about devices that are shared, ``extended_resources`` about requests that are made without a claim.
"""
