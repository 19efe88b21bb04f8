"""Herds: whether pods have room beside others."""

from __future__ import annotations

import pytest

from moorage.core.columns.cache import Cache
from moorage.core.columns.pod_info import Record, State, beside
from moorage.core.pods.requests import pod_requests
from tests.builders import make_node, make_pod


def record(name: str, cpu: str, memory: str = "0") -> Record:
    """A pod on the node n1."""
    pod = make_pod(name, cpu=cpu, memory=memory)
    return Record(pod, "n1", pod_requests(pod), State.ASSUMED)


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
    ids=["alone", "too large", "just", "too many", "what is short is not asked for", "what is short is asked for"],
)
def test_room_beside_others(mine: Record, others: list[Record], right: bool) -> None:
    """All that the pod asks for must be there, and nothing else."""
    cache = Cache()
    cache.put_node(make_node("n1"))
    assert beside(mine, others, cache.nodes) is right
