"""PrioritySort: priority first, then time."""

from __future__ import annotations

from moorage.core.framework.interfaces import QueueSortPlugin
from moorage.core.plugins.priority_sort import PrioritySort
from tests.builders import make_pod

PLUGIN: QueueSortPlugin = PrioritySort()


def test_order() -> None:
    """Higher priorities go first; unset counts as 0; among equals the one queued first."""
    queue = [("low", -5, 1.0), ("late", None, 3.0), ("high", 7, 9.0), ("early", 0, 2.5)]
    keys = {
        name: PLUGIN.sort_key(make_pod(name, priority=priority), at) for name, priority, at in queue
    }
    assert sorted(keys, key=keys.__getitem__) == ["high", "early", "late", "low"]
