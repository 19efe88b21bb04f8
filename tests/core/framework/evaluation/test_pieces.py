"""A plugin that is asked about some nodes at a time goes on where time ran out."""

from __future__ import annotations

from typing import ClassVar

import numpy as np
import pytest

from moorage.core.columns.cache import Cache
from moorage.core.columns.nodes.node_table import Aspect, Rows
from moorage.core.columns.snapshot import Snapshot
from moorage.core.framework.cluster_events import ClusterEventWithHint
from moorage.core.framework.evaluation.plugin_result import PluginResult
from moorage.core.framework.interfaces import Codes
from moorage.core.objects.pods import Pod
from moorage.core.structures.budget import OutOfTime
from tests.builders import make_node, make_pod

POD = make_pod("p")


class Slow:
    """Has time for two nodes, and then for none until ``rested``; its answer is when it was asked
    about a node.
    """

    name: ClassVar[str] = "Slow"
    events_to_register: ClassVar[tuple[ClusterEventWithHint, ...]] = ()
    reads: ClassVar[frozenset[Aspect]] = frozenset({Aspect.LABELS})
    rows_at_a_time: ClassVar[int] = 1

    def __init__(self) -> None:
        self.left = 0
        self.turn = 0

    def rested(self) -> None:
        """The next slice."""
        self.left, self.turn = 2, self.turn + 1

    def ask(self, _state: Pod, _snapshot: Snapshot, rows: Rows) -> Codes:
        """Raises OutOfTime."""
        if not self.left:
            raise OutOfTime
        self.left -= 1
        return np.full(np.asarray(rows).size, self.turn)


@pytest.mark.parametrize("changes", [False, True])
def test_what_was_asked_is_not_asked_again(changes: bool) -> None:
    """But for what has changed meanwhile."""
    cache, slow = Cache(), Slow()
    for i in range(5):
        cache.put_node(make_node(f"n{i}"))
    snapshot = Snapshot(cache)
    result = PluginResult(slow, POD, slow.ask, None)
    for turn in range(4):
        slow.rested()
        if changes and turn == 2:
            cache.put_node(make_node("n0", labels={"a": "b"}))
        try:
            result.refresh(snapshot)
            break
        except OutOfTime:
            assert result.reader is None
    assert result.values[:5].tolist() == ([3, 1, 2, 2, 3] if changes else [1, 1, 2, 2, 3])
    result.refresh(snapshot)
    assert slow.turn == 3
