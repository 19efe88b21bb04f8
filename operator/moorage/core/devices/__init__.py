"""Devices: which of them can be given to which claims. Pure functions on the structs of ``claim_objects``.

``pools`` says what a node can reach, ``requests`` what claims want, ``allocating`` searches, ``results`` writes the answer down;
``capacity`` is about devices that are shared, ``extended_resources`` about requests that are made without a claim.
"""
