"""Guarding: what stands between a plugin from outside the tree and everybody else.

``guarded`` makes a class with exactly the methods of the plugin's own. Each passes the call on
between the guard's ``enter`` and ``leave``, so that a watchdog can tell which plugin holds up the
process, and looks at the answer: whatever is not what the contract (``framework.interfaces``) says,
and whatever the plugin raises, becomes a ``PluginFault``, which ends that pod's attempt and names
the plugin. Plugins of the tree are never wrapped, so they pay nothing for it.
"""

from __future__ import annotations

import dataclasses
import functools
from collections.abc import Callable, Iterable
from typing import Any, Protocol, TypeVar

import numpy as np

from moorage.core.columns.store import Lister
from moorage.core.framework.cluster_events import ClusterEvent, ClusterEventWithHint, QueueingHintFn
from moorage.core.framework.interfaces import (
    MAX_NODE_SCORE,
    ExtensionPoint,
    NodeScores,
    Plugin,
    PreFilterResult,
    ReserveResult,
)
from moorage.core.framework.post_filter_contract import PostFilterResult
from moorage.core.framework.status import REJECTED, Code, Reason, Status
from moorage.core.objects.pods import Pod

T = TypeVar("T")

ARGUMENTS = "arguments"
"""Where a plugin is when it is made or checks its arguments: no extension point."""
HINT = "hint"


class PluginFault(Exception):
    """A plugin from outside the tree failed; the text names it, its version, where it was and what
    was wrong.
    """

    def __init__(self, guard: Guard, point: str, wrong: str) -> None:
        version = f" {guard.version}" if guard.version else ""
        super().__init__(f'plugin "{guard.plugin}"{version} failed at {point}: {wrong}')
        self.plugin = guard.plugin
        self.point = point

    def __repr__(self) -> str:
        return str(self)


class Guard(Protocol):
    """Stands around the calls of one plugin; calls may be nested, as postFilter asks filters."""

    @property
    def plugin(self) -> str: ...

    @property
    def version(self) -> str:
        """The version of the package that it comes from."""

    def enter(self, point: str) -> None:
        """A call at this extension point begins."""

    def leave(self) -> None:
        """The call has ended."""

    @property
    def seconds(self) -> float:
        """How long the innermost call has been going on."""

    def record(self, fault: PluginFault) -> None:
        """The plugin failed: log it and count it."""


def call(
    guard: Guard, point: str, function: Callable[[], T], passes: tuple[type[Exception], ...] = ()
) -> T:
    """What the function gives. Raises PluginFault for whatever it raises but ``passes``, SystemExit
    included.
    """
    passing: tuple[type[Exception], ...] = (PluginFault, *passes)  # a fault: of another, asked
    guard.enter(point)
    try:
        return function()
    except passing:
        raise
    except (Exception, SystemExit) as error:
        raise recorded(
            PluginFault(guard, point, f"{type(error).__name__}: {error}"), guard
        ) from error
    finally:
        guard.leave()


def recorded(fault: PluginFault, guard: Guard) -> PluginFault:
    """The fault, told to the guard."""
    guard.record(fault)
    return fault


def guarded(decider: type[Plugin], guard: Guard) -> type[Plugin]:
    """A class that makes the decider's plugins, each between the guard's hands."""
    methods = {
        name: _method(name, point, check)
        for name, (point, check) in _METHODS.items()
        if hasattr(decider, name)
    }
    if "score" in methods and "normalize_score" not in methods:
        methods["normalize_score"] = _method(
            "normalize_score", ExtensionPoint.SCORE, _normalized, lambda state, raw: raw
        )
    constants = declared(decider, "name", "reads", "required_kinds", "may_fail")
    body = {**constants, **methods, "decider": decider, "guard": guard}
    made: type[Plugin] = type(decider.__name__, (_Guarded,), body)
    return made


def declared(decider: type[Any], *names: str) -> dict[str, Any]:
    """Those of these attributes that a class has."""
    return {name: getattr(decider, name) for name in names if hasattr(decider, name)}


class _Guarded:
    """A plugin behind its guard. Equal plugins are equal here too, so that profiles share their
    columns.
    """

    decider: type[Any]
    guard: Guard

    def __init__(self, *args: Any) -> None:
        self.plugin, self.events_to_register, self._hash = call(
            self.guard, ARGUMENTS, functools.partial(self._make, *args)
        )

    def _make(self, *args: Any) -> tuple[Any, tuple[ClusterEventWithHint, ...], int]:
        plugin: Any = self.decider(*args)
        if plugin.__hash__ is None:
            raise TypeError(
                f"{self.decider.__qualname__} is no hashable value: make it a frozen dataclass"
            )
        number = int(plugin.__hash__())  # nor may its fields be lists, say
        wakes = _checked_events(plugin.events_to_register, self.decider)
        hinted = (dataclasses.replace(wake, hint=_hint(self.guard, wake.hint)) for wake in wakes)
        return plugin, tuple(hinted), number

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, _Guarded) or self.decider is not other.decider:
            return False
        try:
            return call(self.guard, ARGUMENTS, lambda: bool(self.plugin == other.plugin))
        except PluginFault:  # it was told
            return False

    def __hash__(self) -> int:
        return self._hash


def _method(
    name: str, point: str, check: Check, own: Callable[..., Any] | None = None
) -> Callable[..., Any]:
    """The method of this name, guarded; ``own`` stands for a method that the plugin lacks."""

    def method(self: _Guarded, *args: Any) -> Any:
        guard = self.guard
        answer = call(guard, point, functools.partial(own or getattr(self.plugin, name), *args))
        wrong = check(self, args, answer)
        if wrong:
            raise recorded(PluginFault(guard, point, f"{name} {wrong}"), guard)
        return _safe_unreserve(answer, guard) if isinstance(answer, ReserveResult) else answer

    return method


def _checked_events(wakes: Any, decider: type[Any]) -> tuple[ClusterEventWithHint, ...]:
    """What may free a pod, where the decider has said it rightly. Raises TypeError, ValueError."""
    if not _many(wakes, tuple, ClusterEventWithHint):
        raise TypeError("events_to_register is no tuple of ClusterEventWithHint")
    kinds = {getattr(kind, "resource", "") for kind in getattr(decider, "required_kinds", ())}
    for wake in wakes:
        if isinstance(wake.resource, str) and wake.resource not in kinds:
            raise ValueError(
                f"it wakes on {wake.resource!r}, and has no struct of that resource in its "
                f"required_kinds"
            )
    return tuple(wakes)


def _hint(guard: Guard, hint: QueueingHintFn | None) -> QueueingHintFn | None:
    if hint is None:
        return None

    def asked(pod: Pod, event: ClusterEvent, store: Lister) -> bool:
        answer = call(guard, HINT, lambda: hint(pod, event, store))
        if not isinstance(answer, (bool, np.bool_)):
            raise recorded(
                PluginFault(guard, HINT, f"gave {_shown(answer)} instead of True or False"), guard
            )
        return bool(answer)

    return asked


def _safe_unreserve(reserved: ReserveResult, guard: Guard) -> ReserveResult:
    """An undo that fails is told and stops nobody else's: what the others reserved must be taken
    back too.
    """
    undo = reserved.unreserve
    if undo is None:
        return reserved

    def safely() -> None:
        try:
            call(guard, "unreserve", undo)
        except PluginFault:  # it was told
            return

    return dataclasses.replace(reserved, unreserve=safely)


# ---- what answers must be: "" where one is as it should be, else what is wrong -------------------

Check = Callable[[_Guarded, tuple[Any, ...], Any], str]
_EXPLAINING = frozenset({Code.UNSCHEDULABLE, Code.UNSCHEDULABLE_AND_UNRESOLVABLE, Code.ERROR})


def _anything(_plugin: _Guarded, _args: tuple[Any, ...], _answer: Any) -> str:
    return ""


def _bytes(_plugin: _Guarded, _args: tuple[Any, ...], answer: Any) -> str:
    return "" if isinstance(answer, bytes) else f"gave {_shown(answer)} instead of bytes"


def _sign_depends_on(_plugin: _Guarded, _args: tuple[Any, ...], answer: Any) -> str:
    return "" if answer is None else _versioned(answer)


def _pre_enqueue_status(_plugin: _Guarded, _args: tuple[Any, ...], answer: Any) -> str:
    return _status(answer, {Code.SUCCESS, Code.ERROR, *REJECTED})


def _prepared(_plugin: _Guarded, _args: tuple[Any, ...], answer: Any) -> str:
    if not isinstance(answer, PreFilterResult):
        return f"gave {_shown(answer)} instead of a PreFilterResult"
    if answer.node_names is not None and not _many(answer.node_names, frozenset, str):
        return f"gave node_names that are no frozenset of str: {_shown(answer.node_names)}"
    return _status(answer.status, {Code.SUCCESS, Code.SKIP, Code.ERROR, *REJECTED}) or _versioned(
        answer.depends_on
    )


def _depends_on(_plugin: _Guarded, _args: tuple[Any, ...], answer: Any) -> str:
    return _versioned(answer)


def _codes(plugin: _Guarded, args: tuple[Any, ...], answer: Any) -> str:
    if wrong := _integers(answer, args[1].nodes.live[args[2]].size):
        return wrong
    if answer.size and answer.min() < 0 and not getattr(plugin, "may_fail", False):
        return (
            f"gave the code {answer.min()}: only a plugin with may_fail = True may give codes "
            f"below 0"
        )
    return ""


def _why(_plugin: _Guarded, _args: tuple[Any, ...], answer: Any) -> str:
    if not _many(answer, tuple, tuple) or not answer or not all(map(_reasoned, answer)):
        return f"gave {_shown(answer)} instead of a tuple of (Reason, detail)"
    return ""


def _reasoned(item: Any) -> bool:
    """A code below 0, of a plugin that ``may_fail``, is explained by a Reason whose code is
    ERROR.
    """
    if not isinstance(item, tuple) or len(item) != 2 or not isinstance(item[0], Reason):
        return False
    return item[0].code in _EXPLAINING and _many((item[0].text, item[1]), tuple, str)


def _raw(_plugin: _Guarded, args: tuple[Any, ...], answer: Any) -> str:
    return _integers(answer, args[1].nodes.live[args[2]].size)


def _normalized(_plugin: _Guarded, args: tuple[Any, ...], answer: Any) -> str:
    return _integers(answer, args[1].size) or _in_range(answer)


def _node_scores(_plugin: _Guarded, args: tuple[Any, ...], answer: Any) -> str:
    if not isinstance(answer, NodeScores):
        return f"gave {_shown(answer)} instead of a NodeScores"
    return (
        _integers(answer.raw, args[1].size)
        or _integers(answer.normalized, args[1].size)
        or _in_range(answer.normalized)
    )


def _placement_scores(_plugin: _Guarded, args: tuple[Any, ...], answer: Any) -> str:
    return _integers(answer, len(args[1]), "placements") or _in_range(answer)


def _reserve_result(_plugin: _Guarded, _args: tuple[Any, ...], answer: Any) -> str:
    if not isinstance(answer, ReserveResult):
        return f"gave {_shown(answer)} instead of a ReserveResult"
    undo: Any = answer.unreserve
    if undo is not None and not callable(undo):
        return f"gave an unreserve that cannot be called: {_shown(undo)}"
    return _status(answer.status, {Code.SUCCESS, Code.ERROR, *REJECTED})


def _post_filter_result(_plugin: _Guarded, args: tuple[Any, ...], answer: Any) -> str:
    if not isinstance(answer, PostFilterResult):
        return f"gave {_shown(answer)} instead of a PostFilterResult"
    if not _many(answer.victims, tuple, Pod):
        return f"gave victims that are no tuple of Pod: {_shown(answer.victims)}"
    node: Any = answer.nominated_node
    if node is not None and not isinstance(node, str):
        return f"gave {_shown(node)} instead of a node's name"
    if (node or answer.victims) and node not in args[1].snapshot.nodes.row_of:
        return f"chose the node {node!r}, which there is not"
    return _status(answer.status, {Code.SUCCESS, Code.ERROR, *REJECTED})


_METHODS: dict[str, tuple[str, Check]] = {
    "pre_enqueue": (ExtensionPoint.PRE_ENQUEUE, _pre_enqueue_status),
    "sign_pod": (ExtensionPoint.PRE_FILTER, _bytes),
    "sign_depends_on": (ExtensionPoint.PRE_FILTER, _sign_depends_on),
    "pre_filter": (ExtensionPoint.PRE_FILTER, _prepared),
    "filter": (ExtensionPoint.FILTER, _codes),
    "explain": (ExtensionPoint.FILTER, _why),
    "adjust": (ExtensionPoint.FILTER, _anything),
    "depends_on": (ExtensionPoint.FILTER, _depends_on),
    "post_filter": (ExtensionPoint.POST_FILTER, _post_filter_result),
    "pre_score": (ExtensionPoint.PRE_SCORE, _prepared),
    "prepare_score": (ExtensionPoint.SCORE, _prepared),
    "score": (ExtensionPoint.SCORE, _raw),
    "normalize_score": (ExtensionPoint.SCORE, _normalized),
    "score_feasible": (ExtensionPoint.SCORE, _node_scores),
    "reserve": (ExtensionPoint.RESERVE, _reserve_result),
    "score_placements": (ExtensionPoint.PLACEMENT_SCORE, _placement_scores),
}
"""The methods that plugins from outside may have, where each runs and what it must answer. The
queue's order is the operator's.
"""


def _many(values: Any, container: type[Any], kind: type[Any]) -> bool:
    """Whether these are a tuple, say, of such values and nothing else."""
    return isinstance(values, container) and all(isinstance(value, kind) for value in values)


def _status(answer: Any, codes: Iterable[Code]) -> str:
    if not isinstance(answer, Status):
        return f"gave {_shown(answer)} instead of a Status"
    if not _many(answer.reasons, tuple, str):
        return f"gave reasons that are no tuple of str: {_shown(answer.reasons)}"
    return (
        ""
        if answer.code in codes
        else f"gave the status {answer.code!s}, which means nothing there"
    )


def _versioned(answer: Any) -> str:
    good = isinstance(answer, tuple) and all(hasattr(one, "version") for one in answer)
    return "" if good else f"depends on {_shown(answer)}, which is no tuple of clocks"


def _integers(answer: Any, size: int, of: str = "rows") -> str:
    if not isinstance(answer, np.ndarray):
        return f"gave {_shown(answer)} instead of an array"
    if answer.shape != (size,):
        return f"gave an array of shape {answer.shape} for {size} {of}"
    return "" if answer.dtype.kind in "iu" else f"gave an array of {answer.dtype} instead of int64"


def _in_range(scores: Any) -> str:
    if not scores.size or (scores.min() >= 0 and scores.max() <= MAX_NODE_SCORE):
        return ""
    return (
        f"gave the score {int(scores[(scores < 0) | (scores > MAX_NODE_SCORE)][0])}, which is "
        f"not in 0..{MAX_NODE_SCORE}"
    )


def _shown(answer: Any) -> str:
    """What it is, not what it says: a plugin's own text may be anything."""
    return "None" if answer is None else type(answer).__name__
