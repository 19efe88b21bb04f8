"""Nodes as they are read: what counts as a change of one."""

from __future__ import annotations

import msgspec
import pytest

from moorage.core.objects.nodes import Node, is_unchanged
from tests.builders import make_node

BEFORE = make_node("n", labels={"a": "b"})


def heard_of(node: Node) -> Node:
    """The same, written once more."""
    metadata = msgspec.structs.replace(node.metadata, resource_version="99")
    return msgspec.structs.replace(node, metadata=metadata)


@pytest.mark.parametrize(
    ("now", "want"),
    [
        (BEFORE, True),
        (heard_of(BEFORE), True),
        (heard_of(make_node("n", labels={"a": "c"})), False),
        (heard_of(make_node("n", labels={"a": "b"}, cpu="5")), False),
        (heard_of(make_node("n", labels={"a": "b"}, unschedulable=True)), False),
    ],
)
def test_what_kubelets_write_all_the_time_is_no_change(now: Node, want: bool) -> None:
    """All else is one."""
    assert is_unchanged(now, BEFORE) is want
