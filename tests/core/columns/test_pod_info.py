"""Pods on nodes: whether pods have room beside others."""

from __future__ import annotations

import pytest

from moorage.core.columns.cache import Cache
from moorage.core.columns.pod_info import PodInfo, PodState, fits_with
from moorage.core.pods.requests import pod_requests
from tests.builders import make_node, make_pod


def record(name: str, cpu: str, memory: str = "0") -> PodInfo:
    """A pod on the node n1."""
    pod = make_pod(name, cpu=cpu, memory=memory)
    return PodInfo(pod, "n1", pod_requests(pod), PodState.ASSUMED)


@pytest.mark.parametrize(
    ("mine", "others", "right"),
    [
        (record("a", "4"), [], True),
        (record("a", "4001m"), [], False),
        (record("a", "3"), [record("b", "1")], True),
        (record("a", "3"), [record("b", "500m"), record("c", "501m")], False),
        (record("a", "3"), [record("b", "1", "9Gi")], True),
        (record("a", "3", "1"), [record("b", "1", "9Gi")], False),
    ],
    ids=[
        "alone",
        "too large",
        "just",
        "too many",
        "what is short is not asked for",
        "what is short is asked for",
    ],
)
def test_room_beside_others(mine: PodInfo, others: list[PodInfo], right: bool) -> None:
    """All that the pod asks for must be there, and nothing else."""
    cache = Cache()
    cache.put_node(make_node("n1"))
    assert fits_with(mine, others, cache.nodes) is right
