"""What the garbage collector has to go through: where each device has an attribute value of its
own nodes share no answers, and there are as many of them as devices.
"""

from __future__ import annotations

import gc

import msgspec

from moorage.core.devices.device_searches import SoughtDevices
from moorage.core.devices.pools import facts_of
from moorage.core.objects.resource_claims import Device, DeviceAttribute, DeviceCapacity
from tests.core.devices.test_device_searches import a_context, asks, claim, ledger_of, slice_of

NODES, DEVICES = 100, 8
MOST_PER_DEVICE = 6.0
"""Objects: the device, its name, what it looks like, and its part of what is kept of its node."""


def a_device(i: int) -> Device:
    """As drivers publish them."""
    attributes = {
        "model": DeviceAttribute(string="H100"),
        "uuid": DeviceAttribute(string=f"GPU-{i:08d}-90ab-cdef-0123-456789abcdef"),
    }
    return Device(name=f"d{i}", attributes=attributes, capacity={"memory": DeviceCapacity("80Gi")})


def test_what_is_kept_of_searches_is_little() -> None:
    """And nothing that goes waits for the collector."""
    slices = [slice_of(f"n{i}", DEVICES) for i in range(NODES)]
    for i, piece in enumerate(slices):
        devices = tuple(a_device(DEVICES * i + k) for k in range(DEVICES))
        slices[i] = msgspec.structs.replace(
            piece, spec=msgspec.structs.replace(piece.spec, devices=devices)
        )
    context = a_context(*slices, nodes=NODES)
    sought, ledger = SoughtDevices("this", [claim(asks("r", DEVICES))], 0.0), ledger_of(context)
    nodes = [node for node in context.snapshot.nodes.nodes if node is not None]
    gc.collect()
    gc.disable()
    try:
        before = len(gc.get_objects())
        for node in nodes:
            assert ledger.searches.find(sought, node, ledger, context.budget)
        kept = len(gc.get_objects()) - before
        assert gc.collect() == 0
    finally:
        gc.enable()
    assert len(nodes) == NODES
    assert kept <= MOST_PER_DEVICE * NODES * DEVICES


def test_what_devices_of_a_large_cluster_look_like_is_remembered() -> None:
    """5,000 nodes with eight each: nothing is made twice."""
    devices = [a_device(i) for i in range(40_000)]
    facts = [facts_of("gpu.example.com", device) for device in devices]
    assert facts_of("gpu.example.com", devices[0]) is facts[0]
