"""Far nominated pods: pods nominated to other nodes, what they need being guarded everywhere.

A plugin whose state spans nodes (``PreFilterExtensions``) says of each whether it is concerned
with it: what such a pod needs of a claim or of a domain nobody may take elsewhere either.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Mapping
from typing import TypeVar

from moorage.core.columns.change_log import ChangedRows
from moorage.core.columns.nominations import MAX_NOMINATED_ELSEWHERE
from moorage.core.columns.snapshot import Snapshot
from moorage.core.framework.evaluation.plugin_result import PluginResult
from moorage.core.framework.interfaces import ObjectReadingPlugin, PreFilterExtensions, is_a
from moorage.core.objects.pods import Pod

T = TypeVar("T")
FarNominatedPods = Mapping[int, list[tuple[Pod, int]]]
"""The far nominated pods that each plugin whose state spans nodes (by place) is concerned with, and
their rows.
"""


class FarNominations:
    """Finds the far nominated pods for the pods of one template.

    Whoever was of no concern to any plugin is asked about again only after a change by which a
    plugin may tell.
    """

    def __init__(self, filters: Mapping[str, PluginResult]) -> None:
        self._adjusting = [
            (i, column, column.plugin)
            for i, column in enumerate(filters.values())
            if is_a(column.plugin, PreFilterExtensions)
        ]
        self._unconcerned: dict[str, Pod] = {}

    def find(self, pod: Pod, snapshot: Snapshot, changed: ChangedRows = None) -> FarNominatedPods:
        """Those of this pod of the template, caught up with. ``changed``: the rows that changed
        since the last call; None for all, and where objects that plugins read did.
        """
        if changed is None or len(self._unconcerned) > 2 * MAX_NOMINATED_ELSEWHERE:
            self._unconcerned = {}  # most of so many are gone
        known = self._unconcerned
        for row in () if changed is None else changed.tolist():
            for record in snapshot.nominations.nominated_pods(snapshot.nodes.names[row]):
                known.pop(record.pod.metadata.uid, None)
        ahead = itertools.islice(_nominated_ahead_of(pod, snapshot), MAX_NOMINATED_ELSEWHERE)
        found: dict[int, list[tuple[Pod, int]]] = {}
        for other, node in [one for one in ahead if known.get(one[0].metadata.uid) is not one[0]]:
            row = snapshot.nodes.row_of[node]
            if not (concerned := self._concerned(other, row, snapshot)):
                known[other.metadata.uid] = other
            for i in concerned:
                found.setdefault(i, []).append((other, row))
        return found

    def objects_version(self, snapshot: Snapshot) -> int:
        """Moves with all objects by which a plugin may tell what a nominated pod needs."""
        return sum(
            snapshot.store.version_counter(kind).version
            for _, column, plugin in self._adjusting
            if may_apply(column) and is_a(plugin, ObjectReadingPlugin)
            for kind in plugin.required_kinds
        )

    def _concerned(self, other: Pod, row: int, snapshot: Snapshot) -> list[int]:
        return [
            i
            for i, column, plugin in self._adjusting
            if may_apply(column)
            and plugin.adjust(column.prepared.state, other, row, 1, snapshot)
            is not column.prepared.state
        ]


def may_apply(column: PluginResult) -> bool:
    """Whether the plugin has a say about the pod, or might have one beside the pods that are
    nominated.
    """
    return column.applies or (
        column.prepared.state is not None and is_a(column.plugin, PreFilterExtensions)
    )


def with_nominated_pods(plugin: PreFilterExtensions, state: T, pod: Pod, snapshot: Snapshot) -> T:
    """The state with all these pods there: by it ``reserve`` chooses, so that it takes nothing that
    filter left to them.
    """
    if len(snapshot.nominations):
        for other, node in _nominated_ahead_of(pod, snapshot):
            state = plugin.adjust(state, other, snapshot.nodes.row_of[node], 1, snapshot)
    return state


def _nominated_ahead_of(pod: Pod, snapshot: Snapshot) -> Iterator[tuple[Pod, str]]:
    """The pods nominated to any node that is there that a pod must leave room for, and where."""
    return (
        (record.pod, record.node)
        for record in snapshot.nominations.ahead_of(pod)
        if record.node in snapshot.nodes.row_of and isinstance(record.pod, Pod)
    )
