"""Scalar plugins: one pod, one node at a time, for authors who need no more.

``as_columnar`` makes of such a class one that the evaluator knows, by looping over the rows that it
is asked for. A row is asked again when anything of the node's own object changed, or (``kinds``) an
object of a kind that the plugin reads. Between two nodes the loop looks at the time: a plugin that
takes too long fails that pod's attempt.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Iterable
from typing import Any, ClassVar, Protocol

import msgspec
import numpy as np

from moorage.core.columns.change_log import Versioned
from moorage.core.columns.nodes.node_table import Aspect, Rows
from moorage.core.columns.snapshot import Snapshot
from moorage.core.framework.cluster_events import ClusterEventWithHint
from moorage.core.framework.guard import Guard, declared
from moorage.core.framework.interfaces import Codes, Plugin, PreFilterResult, Scores
from moorage.core.framework.status import SUCCESS, Code, Reason, Why
from moorage.core.objects.nodes import Node
from moorage.core.objects.pods import Pod

MAX_CALL_SECONDS = 1.0
"""Seconds that one call over all nodes may take."""
MAX_REASONS = 1000
"""Distinct reasons that a plugin may give for one template of pods; more are names or numbers that
do not belong there.
"""


class ScalarPlugin(Protocol):
    """What every scalar plugin has beside one or both of ``filter_node`` and ``score_node``: a
    value, as ``Plugin`` is.

    ``filter_node(pod, node)`` gives None where the node will do, else why not: a text (removing
    pods may help) or a ``Reason``. ``score_node(pod, node)`` gives an integer, 0..100. With
    ``prepare(pod, store)``, what that returns is their third argument. Pods of one namespace, spec,
    owners and labels are taken for the same: whoever looks at more of them has ``sign_pod``.
    """

    name: ClassVar[str]

    @property
    def events_to_register(self) -> tuple[ClusterEventWithHint, ...]:
        """As in ``Plugin``."""


class TooSlow(Exception):
    """Not all nodes were asked in time."""


class _State:
    """What one template's answers are made from, and the reasons that were given: code 1 is the
    first of them.
    """

    def __init__(self, pod: Pod, more: tuple[Any, ...]) -> None:
        self.pod = pod
        self.more = more
        self.reasons: list[tuple[Reason, str]] = []
        self._code_of: dict[str | Reason, int] = {}

    def code(self, answer: object, plugin: str) -> int:
        """The number of a reason, 0 for None."""
        if answer is None:
            return 0
        if not isinstance(answer, (str, Reason)):
            raise TypeError(
                f"filter_node gave {type(answer).__name__} instead of None, a text or a Reason"
            )
        code = self._code_of.get(answer)
        if code is None:
            if len(self.reasons) == MAX_REASONS:
                raise ValueError(
                    f"filter_node gave more than {MAX_REASONS} different reasons: name no "
                    f"nodes and no numbers in them"
                )
            self.reasons.append(
                (answer, "")
                if isinstance(answer, Reason)
                else (Reason(plugin, "{}", Code.UNSCHEDULABLE), answer)
            )
            code = self._code_of[answer] = len(self.reasons)
        return code


class _Scalar:
    """A scalar plugin as the evaluator knows plugins; two are equal when their plugins are."""

    decider: ClassVar[type[Any]]
    guard: ClassVar[Guard]

    def __init__(self, *args: Any) -> None:
        self.plugin = self.decider(*args)

    @property
    def events_to_register(self) -> tuple[ClusterEventWithHint, ...]:
        wakes: tuple[ClusterEventWithHint, ...] = self.plugin.events_to_register
        return wakes

    def __eq__(self, other: object) -> bool:
        return (
            isinstance(other, _Scalar)
            and self.decider is other.decider
            and bool(self.plugin == other.plugin)
        )

    def __hash__(self) -> int:
        return int(self.plugin.__hash__())


def as_columnar(decider: type[Any], guard: Guard) -> type[Plugin]:
    """A class of columnar plugins that ask the scalar ones which ``decider`` makes."""
    methods: dict[str, Any] = {"sign_pod": _sign_pod, "sign_depends_on": _sign_depends_on}
    if hasattr(decider, "sign_pod"):
        methods = {"sign_pod": _own_sign_pod}
    if hasattr(decider, "filter_node"):
        methods |= {"pre_filter": _prepare, "filter": _filter, "explain": _explain}
    if hasattr(decider, "score_node"):
        methods |= {"prepare_score": _prepare, "score": _score}
    body = {
        "reads": frozenset({Aspect.OBJECT}),
        **declared(decider, "name", "required_kinds"),
        **methods,
        "decider": decider,
        "guard": guard,
    }
    made: type[Plugin] = type(decider.__name__, (_Scalar,), body)
    return made


def is_scalar(decider: type[Any]) -> bool:
    """Whether a class answers node by node."""
    return hasattr(decider, "filter_node") or hasattr(decider, "score_node")


def _sign_pod(_self: _Scalar, pod: Pod, _snapshot: Snapshot) -> bytes:
    """What a plugin may look at beside what makes a template anyway."""
    metadata = pod.metadata
    return msgspec.msgpack.encode(
        (sorted((metadata.labels or {}).items()), metadata.owner_references)
    )


def _sign_depends_on(_self: _Scalar, _pod: Pod, _snapshot: Snapshot) -> tuple[Versioned, ...]:
    return ()


def _own_sign_pod(self: _Scalar, pod: Pod, snapshot: Snapshot) -> bytes:
    said: bytes = self.plugin.sign_pod(pod, snapshot)
    return said


def _prepare(self: _Scalar, pod: Pod, snapshot: Snapshot) -> PreFilterResult:
    prepare = getattr(self.plugin, "prepare", None)
    kinds = getattr(self.decider, "required_kinds", ())
    depends: tuple[Versioned, ...] = tuple(
        snapshot.store.version_counter(kind)
        for kind in sorted(kinds, key=lambda kind: kind.__qualname__)
    )
    return PreFilterResult(
        SUCCESS,
        _State(pod, () if prepare is None else (prepare(pod, snapshot.store),)),
        depends_on=depends,
    )


def _filter(self: _Scalar, state: _State, snapshot: Snapshot, rows: Rows) -> Codes:
    name = self.decider.name
    return _ask_each(
        self,
        snapshot,
        rows,
        lambda node: state.code(self.plugin.filter_node(state.pod, node, *state.more), name),
    )


def _explain(_self: _Scalar, state: _State, code: int) -> Why:
    return (state.reasons[code - 1],)


def _score(self: _Scalar, state: _State, snapshot: Snapshot, rows: Rows) -> Scores:
    return _ask_each(
        self,
        snapshot,
        rows,
        lambda node: operator.index(self.plugin.score_node(state.pod, node, *state.more)),
    )


def _ask_each(self: _Scalar, snapshot: Snapshot, rows: Rows, ask: Callable[[Node], int]) -> Codes:
    """The answer for each row, 0 for rows without a node."""
    guard = self.guard
    which: Iterable[int] = (
        range(*rows.indices(snapshot.nodes.live.size)) if isinstance(rows, slice) else rows.tolist()
    )
    nodes = [snapshot.nodes.nodes[row] for row in which]
    answers = np.zeros(len(nodes), np.int64)
    for i, node in enumerate(nodes):
        if node is None:
            continue
        if (seconds := guard.seconds) > MAX_CALL_SECONDS:
            raise TooSlow(
                f"it took {seconds:.1f} s for {i} of {len(nodes)} nodes; it may take "
                f"{MAX_CALL_SECONDS:g} s for all"
            )
        answers[i] = ask(node)
    return answers
