"""What the preFilter plugins of an evaluation say of all nodes at once."""

from __future__ import annotations

from typing import NamedTuple

from moorage.core.framework.evaluation.plugin_result import PluginResult
from moorage.core.framework.status import REJECTED, SUCCESS, Code, Status, error_status


class PreFilterSummary(NamedTuple):
    """What all preFilter plugins say of all nodes at once."""

    status: Status = SUCCESS
    plugin: str = ""
    """Who says so, where it is not SUCCESS."""
    narrowed_by: tuple[str, ...] = ()
    """The plugins that name the only nodes that can fit."""
    node_names: frozenset[str] | None = None
    """These nodes; None for all."""


def merge_pre_filters(preparing: dict[str, PluginResult]) -> PreFilterSummary:
    """What they say together; the first that rejects for good, or fails, has the last word."""
    summary = PreFilterSummary()
    for plugin, column in preparing.items():
        status, names = column.prepared.status, column.prepared.node_names
        if status.code is Code.UNSCHEDULABLE_AND_UNRESOLVABLE:
            return PreFilterSummary(status, plugin)
        if status.code is Code.ERROR:
            text = f'running PreFilter plugin "{plugin}": {status.message}'
            return PreFilterSummary(error_status(text), plugin)
        if status.code in REJECTED:
            summary = summary._replace(status=status, plugin=plugin)
        if names is not None:
            summary = _narrowed(summary, plugin, names)
            if not summary.node_names:
                return summary
    return summary


def _narrowed(summary: PreFilterSummary, plugin: str, names: frozenset[str]) -> PreFilterSummary:
    """With one more plugin that names the only nodes that can fit; a rejection if none is left."""
    narrowed_by = (*summary.narrowed_by, plugin)
    left = names if summary.node_names is None else summary.node_names & names
    if left:
        return summary._replace(narrowed_by=narrowed_by, node_names=left)
    who = f"plugin {plugin}"
    if len(narrowed_by) > 1:
        who = f"plugin(s) [{' '.join(sorted(narrowed_by))}] simultaneously"
    status = Status(Code.UNSCHEDULABLE_AND_UNRESOLVABLE, (f"node(s) didn't satisfy {who}",))
    return PreFilterSummary(status, plugin, narrowed_by, left)
