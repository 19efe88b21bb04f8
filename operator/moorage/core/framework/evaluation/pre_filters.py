"""What the preFilter plugins of an evaluation say of all nodes at once."""

from __future__ import annotations

from moorage.core.framework.evaluation.plugin_result import PluginResult
from moorage.core.framework.status import REJECTED, SUCCESS, Code, Status, error_status


def merge_pre_filters(
    preparing: dict[str, PluginResult],
) -> tuple[tuple[str, Status], tuple[str, ...], frozenset[str] | None]:
    """preFilter's common status: (plugin, status), the plugins that narrowed, the names that are
    left (None for all).
    """
    status: tuple[str, Status] = ("", SUCCESS)
    narrowing: list[str] = []
    names: frozenset[str] | None = None
    for plugin, column in preparing.items():
        prepared = column.prepared
        code = prepared.status.code
        if code is Code.UNSCHEDULABLE_AND_UNRESOLVABLE:
            return (plugin, prepared.status), (), None
        if code in REJECTED:
            status = plugin, prepared.status
        elif code is Code.ERROR:
            return (
                (
                    plugin,
                    error_status(f'running PreFilter plugin "{plugin}": {prepared.status.message}'),
                ),
                (),
                None,
            )
        if prepared.node_names is not None:
            narrowing.append(plugin)
            names = prepared.node_names if names is None else names & prepared.node_names
            if not names:
                who = (
                    f"plugin {plugin}"
                    if len(narrowing) == 1
                    else f"plugin(s) [{' '.join(sorted(narrowing))}] simultaneously"
                )
                return (
                    (
                        plugin,
                        Status(
                            Code.UNSCHEDULABLE_AND_UNRESOLVABLE, (f"node(s) didn't satisfy {who}",)
                        ),
                    ),
                    tuple(narrowing),
                    None,
                )
    return status, tuple(narrowing), names
