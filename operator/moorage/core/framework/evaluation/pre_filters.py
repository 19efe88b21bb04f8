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
    """What preFilter plugins say together: the first that rejects for good, or fails, has the last
    word.
    """
    status, rejector = SUCCESS, ""
    narrowing: list[str] = []
    names: frozenset[str] | None = None
    for plugin, column in preparing.items():
        prepared = column.prepared
        code = prepared.status.code
        if code is Code.UNSCHEDULABLE_AND_UNRESOLVABLE:
            return PreFilterSummary(prepared.status, plugin)
        if code in REJECTED:
            status, rejector = prepared.status, plugin
        elif code is Code.ERROR:
            text = f'running PreFilter plugin "{plugin}": {prepared.status.message}'
            return PreFilterSummary(error_status(text), plugin)
        if prepared.node_names is not None:
            narrowing.append(plugin)
            names = prepared.node_names if names is None else names & prepared.node_names
            if not names:
                who = (
                    f"plugin {plugin}"
                    if len(narrowing) == 1
                    else f"plugin(s) [{' '.join(sorted(narrowing))}] simultaneously"
                )
                none_left = Status(
                    Code.UNSCHEDULABLE_AND_UNRESOLVABLE, (f"node(s) didn't satisfy {who}",)
                )
                return PreFilterSummary(none_left, plugin, tuple(narrowing))
    return PreFilterSummary(status, rejector, tuple(narrowing), names)
