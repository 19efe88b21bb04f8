"""Room that a pod frees before it was ever seen on its node wakes the pods that wait for room."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import msgspec
import pytest

from moorage.core.framework.status import error_status
from moorage.core.objects.meta import HasMetadata
from moorage.core.objects.pods import Pod, PodResourceClaim
from moorage.core.objects.resource_claims import DeviceClass, ResourceClaim, ResourceSlice
from moorage.engine.binding.outcome import GONE, BindingOutcome
from tests.builders import make_node, make_pod
from tests.engine.having_volumes import a_claim, a_class, a_node, a_pod, a_volume
from tests.engine.worlds import Bench, versioned


def lost(bench: Bench) -> None:
    """The binding of the first pod is refused for good: the pod is gone."""
    bench.binder.end("uid-first", GONE)


def refused(bench: Bench) -> None:
    """The binding of the first pod fails."""
    bench.binder.end("uid-first", BindingOutcome(False, error_status("no")))


def deleted(bench: Bench) -> None:
    """The first pod is deleted while it is being bound."""
    bench.pods.delete(versioned(make_pod("first", cpu="3")))


@pytest.mark.parametrize("frees", [lost, refused, deleted])
def test_freed_room_wakes_who_waits_for_it(frees: Callable[[Bench], None]) -> None:
    """A pod that did not fit beside an assumed one is tried again as soon as that one's room is
    free.
    """
    bench = Bench()
    bench.nodes.put(versioned(make_node("n1", cpu="4")))
    bench.pods.put(versioned(make_pod("first", cpu="3")))
    bench.pods.put(versioned(make_pod("second", cpu="2")))
    assert (bench.attempt(), bench.attempt(), bench.attempt()) == ("first", "second", "")
    frees(bench)
    bench.clock.jump(2)
    assert "second" in (bench.attempt(), bench.attempt())


def devices(bench: Bench, name: str) -> Pod:
    """A pod with a claim of its own for the one device."""
    request = {
        "name": "r",
        "exactly": {"deviceClassName": "gpu", "allocationMode": "ExactCount", "count": 1},
    }
    bodies: list[tuple[type[HasMetadata], dict[str, Any]]] = [
        (DeviceClass, {"metadata": {"name": "gpu"}}),
        (
            ResourceSlice,
            {
                "metadata": {"name": "s"},
                "spec": {"driver": "x", "nodeName": "n1", "pool": POOL, "devices": [{"name": "d"}]},
            },
        ),
        (
            ResourceClaim,
            {
                "metadata": {"name": name, "namespace": "default", "uid": name},
                "spec": {"devices": {"requests": [request]}},
            },
        ),
    ]
    for kind, body in bodies:
        bench.cache.store.put(msgspec.convert(body, kind))
    return make_pod(name, resource_claims=(PodResourceClaim("c", resource_claim_name=name),))


def volumes(bench: Bench, name: str) -> Pod:
    """A pod with a claim of its own that only the one volume fits."""
    if name == "first":
        bench.cache.store.put(a_class("kubernetes.io/no-provisioner"))
        bench.cache.store.put(a_volume("pv", "n1"))
    bench.cache.store.put(a_claim(name))
    return a_pod(name, name)


POOL = {"name": "n1", "generation": 1, "resourceSliceCount": 1}


@pytest.mark.parametrize("pod_with", [devices, volumes])
def test_what_was_set_aside_for_a_pod_that_goes_nowhere_wakes_who_waits_for_it(
    pod_with: Callable[[Bench, str], Pod],
) -> None:
    """Devices and volumes that no object tells of yet: it was decided, not written."""
    bench = Bench()
    bench.nodes.put(versioned(a_node("n1")))
    bench.pods.put(versioned(pod_with(bench, "first")))
    assert bench.attempt() == "first"
    bench.pods.put(versioned(pod_with(bench, "second")))
    assert (bench.attempt(), bench.attempt()) == ("second", "")
    refused(bench)
    bench.clock.jump(2)
    assert "second" in (bench.attempt(), bench.attempt())
