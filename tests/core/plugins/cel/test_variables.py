"""What expressions are shown: just what they read, the same way for the same objects."""

from __future__ import annotations

from typing import Any

import pytest
from msgspec.structs import replace

from moorage.core.columns.cache import Cache
from moorage.core.objects.nodes import Node
from moorage.core.objects.pods import Container, ResourceRequirements
from moorage.core.plugins.cel.expression_survey import Reads
from moorage.core.plugins.cel.variables import (
    MAX_ANNOTATION_CHARACTERS,
    NODE,
    POD,
    REQUESTED,
    encode,
    select_variables,
)
from moorage.core.pods.requests import pod_requests
from tests.builders import make_node, make_pod

GPU = "example.com/gpu"
LABELS, NAME = "node.metadata.labels", "node.metadata.name"
READS: Reads = {
    "pod.spec.priority": None,
    LABELS: frozenset(f"key-{number}" for number in range(20)),
    NAME: None,
}


def shown(reads: Reads, node: Node) -> list[Any]:
    """Of a node that is in no table."""
    return select_variables(reads, NODE).values(node, None, -1)


def test_variables_come_in_an_order_of_their_own() -> None:
    """Whatever the order in which an expression reads them; each kind has its own."""
    for reads in (READS, dict(reversed([*READS.items()]))):
        assert select_variables(reads, NODE).names == (NAME, LABELS)
        assert select_variables(reads, POD).names == ("pod.spec.priority",)
        parts = select_variables(reads, NODE).parts
        assert [keys for _, keys in parts] == [None, tuple(sorted(READS[LABELS] or ()))]


@pytest.mark.parametrize("keys", [None, frozenset({"a", "b", "c"})])
def test_equal_entries_have_equal_encodings(keys: frozenset[str] | None) -> None:
    """In whatever order an object has them."""
    one, other = (
        make_node("n", labels={"a": "1", "b": "2"}),
        make_node("n", labels={"b": "2", "a": "1"}),
    )
    first, second = (encode(shown({LABELS: keys}, node)) for node in (one, other))
    assert first == second


def test_only_entries_that_are_read_are_shown() -> None:
    """Those that are not there are not; a long text is cut."""
    node = make_node("n", labels={"read": "1", "unread": "2"})
    long = {"long": "x" * (MAX_ANNOTATION_CHARACTERS + 1)}
    node = replace(node, metadata=replace(node.metadata, annotations=long))
    reads: Reads = {LABELS: frozenset({"read", "absent"}), "node.metadata.annotations": None}
    assert shown(reads, node) == [{"read": "1"}, {"long": "x" * MAX_ANNOTATION_CHARACTERS}]


def test_what_was_requested_once_leaves_no_trace() -> None:
    """A resource that the node has is shown as 0, another one not at all."""
    cache, node = Cache(), make_node("n")
    cache.put_node(node)
    row = cache.nodes.row_of["n"]
    of = select_variables({REQUESTED: None}, NODE)
    (before,) = of.values(node, cache.nodes, row)
    assert before["cpu"] == 0 and GPU not in before
    asked = ResourceRequirements(requests={"cpu": "1", GPU: "1"})
    pod = make_pod("p", node="n", containers=(Container("c", "i", asked),))
    cache.observe(pod, pod_requests(pod))
    (taken,) = of.values(node, cache.nodes, row)
    assert (taken["cpu"], taken[GPU]) == (1000, 1)
    cache.remove(pod.metadata.uid)
    assert of.values(node, cache.nodes, row) == [before]
    status = replace(node.status, allocatable={**(node.status.allocatable or {}), GPU: "1"})
    cache.put_node(replace(node, status=status))
    assert of.values(node, cache.nodes, row) == [{**before, GPU: 0}]
    cache.put_node(node)
    assert of.values(node, cache.nodes, row) == [before]
    with pytest.raises(ValueError, match=f"{REQUESTED} of a node that is in no table"):
        of.values(node, None, -1)
