"""The plugin contract: what a plugin may do at each extension point, in the order in which a pod
meets them.

A plugin is a frozen dataclass whose fields are its arguments; it opts into an extension point by
having that method. The contract is columnar: ``filter`` and ``score`` answer for many nodes (rows
of the node table) in one call with one integer array; text is made late, by ``explain``. The
evaluator keeps these arrays and asks again only for rows that changed in an aspect that the plugin
reads. Deciders live here in core: pure, synchronous, no clock, no I/O. What has to be *done* at
permit, preBind, bind and postBind is the plugin's other half, an actor
(``moorage.engine.binding.actors``), registered under the same name.

========================  ======================  =================================================
extension point           method                  runs
========================  ======================  =================================================
preEnqueue                ``pre_enqueue``         before a pod enters the active queue
queueSort                 ``sort_key``            when a pod enters the active queue
preFilter                 ``pre_filter``          once per pod template, again when what it depends
                                                  on changed
filter                    ``filter``/``explain``  for rows that changed since last time
postFilter                ``post_filter``         when no node fits
preScore                  ``pre_score``           once per pod template, again when what it depends
                                                  on changed
score                     ``score``               for rows that changed since last time
normalizeScore            ``normalize_score``     over the feasible rows, when they or their raw
                                                  scores changed
score and normalizeScore  ``score_feasible``      instead of both, where a raw score depends on
                                                  which other rows are feasible
reserve                   ``reserve``             after assume; gives a value for the actor and how
                                                  to undo it
permit … postBind         (actors)                asynchronously, after the decision
placement…, podGroup…     (placement_contract)    for pod groups
========================  ======================  =================================================

Methods must be functions of their arguments alone, and states are values: whoever has one may keep
it while another is made. Whatever ``pre_filter`` or ``pre_score`` returns as state is shared
between all pods of one template (same namespace, spec and status as
``core.pods.signatures.pod_signature`` sees them), so it must not depend on the pod's name, uid or
labels, unless the plugin tells such pods apart by ``sign_pod``. Answers that depend on more than
the pod and the row say so: ``depends_on``.

Source: kube-scheduler framework interfaces (v1.37).
"""

from __future__ import annotations

import dataclasses
import enum
from collections.abc import Callable, Hashable, Mapping
from typing import (
    Any,
    ClassVar,
    NamedTuple,
    Protocol,
    TypeAlias,
    TypeGuard,
    TypeVar,
    runtime_checkable,
)

import numpy as np
import numpy.typing as npt

from moorage.core.columns.change_log import Versioned
from moorage.core.columns.nodes.node_table import Aspect, Rows
from moorage.core.columns.snapshot import Snapshot
from moorage.core.columns.store import Lister
from moorage.core.framework.cluster_events import ClusterEventWithHint
from moorage.core.framework.status import Status, Why
from moorage.core.objects.meta import HasMetadata
from moorage.core.objects.pods import Pod

Codes: TypeAlias = npt.NDArray[np.int64]
"""int64[len(rows)]: 0 where the node passes, else a code of the plugin's own that its ``explain``
can read.

Below 0 (``FallibleFilterPlugin``) the node could not be judged: that is a fault, and the attempt
ends.
"""
Scores: TypeAlias = npt.NDArray[np.int64]
"""int64[len(rows)]: a score per row; within 0..100 once normalised."""
SortKey: TypeAlias = tuple[float, ...]
MAX_NODE_SCORE = 100


class ExtensionPoint(enum.StrEnum):
    """The extension points; the value is the field's name in a profile's ``plugins``."""

    PRE_ENQUEUE = "preEnqueue"
    QUEUE_SORT = "queueSort"
    PRE_FILTER = "preFilter"
    FILTER = "filter"
    POST_FILTER = "postFilter"
    PRE_SCORE = "preScore"
    SCORE = "score"
    RESERVE = "reserve"
    PERMIT = "permit"
    PRE_BIND = "preBind"
    BIND = "bind"
    POST_BIND = "postBind"
    PLACEMENT_GENERATE = "placementGenerate"
    PLACEMENT_SCORE = "placementScore"
    POD_GROUP_POST_FILTER = "podGroupPostFilter"

    def __init__(self, name: str) -> None:
        self.label = name[0].upper() + name[1:]
        """The point's name in metrics: ``PreEnqueue``."""


@runtime_checkable
class Plugin(Protocol):
    """What every decider is: a hashable value with a name (equal plugins have equal arguments and
    share their results).
    """

    name: ClassVar[str]

    @property
    def events_to_register(self) -> tuple[ClusterEventWithHint, ...]:
        """The cluster events that may free a pod which this plugin rejected; a ClassVar, unless
        hints need the arguments.
        """


@runtime_checkable
class HintSignaturePlugin(Plugin, Protocol):
    """A plugin whose shared hints see little of a waiting pod, so that few questions are enough for
    many that differ elsewhere.
    """

    def hint_signature(self, pod: Pod, /) -> Hashable:
        """Equal for pods that no shared hint tells apart, unless the event is about one of them or
        selects one by its labels.

        Must be quick. Without this it is ``core.pods.signatures.waiting_signature``.
        """


@runtime_checkable
class ObjectReadingPlugin(Plugin, Protocol):
    """A plugin that decides by objects other than pods, nodes and namespaces."""

    required_kinds: ClassVar[frozenset[type[HasMetadata]]]
    """The structs of what it reads in the store: a profile waits until these are listed."""


@runtime_checkable
class PreEnqueuePlugin(Plugin, Protocol):
    """May keep a pod out of the queue (gated) until an event it registered comes."""

    def pre_enqueue(self, pod: Pod, store: Lister, /) -> Status:
        """SUCCESS, or a rejection: the pod is gated."""


@runtime_checkable
class QueueSortPlugin(Plugin, Protocol):
    """Orders the active queue; exactly one for all profiles."""

    def sort_key(self, pod: Pod, queued_at: float) -> SortKey:
        """A tuple that compares lower for the pod that is to go first; ``queued_at`` in seconds."""


@dataclasses.dataclass(frozen=True, slots=True)
class PreFilterResult:
    """What ``pre_filter`` or ``pre_score`` found out once per template.

    ``status``: SUCCESS; SKIP (the plugin's later method is left out); from pre_filter also a
    rejection of all nodes, or ERROR. ``state``: handed to ``filter``/``explain`` or ``score``.
    ``node_names`` (pre_filter): the only nodes that can fit, None for all. ``depends_on``: what the
    status, the state or the answers depend on beyond pod and row. When one of these moves, the
    template is prepared again and every row asked again.
    """

    status: Status
    state: Any = None
    node_names: frozenset[str] | None = None
    depends_on: tuple[Versioned, ...] = ()


@runtime_checkable
class SignPlugin(Plugin, Protocol):
    """A plugin to which pods of the same namespace and spec may not be the same."""

    def sign_pod(self, pod: Pod, snapshot: Snapshot) -> bytes:
        """What tells pods apart that this plugin would answer differently (say, which of its
        selectors match the pod's labels).

        Asked for each pod at each decision: must be quick, and b"" where there is nothing to tell.
        """


@runtime_checkable
class SharedSignPlugin(SignPlugin, Protocol):
    """A plugin that tells pods apart by no more than their namespace, spec, labels and owners, most
    of them at least: it is asked once for all that agree in these.
    """

    def sign_depends_on(self, pod: Pod, snapshot: Snapshot) -> tuple[Versioned, ...] | None:
        """What ``sign_pod`` goes by beside these; when one of them moves, it is asked again. None
        where it goes by more of such a pod: then it is asked for each.
        """


@runtime_checkable
class PreFilterPlugin(Plugin, Protocol):
    """Compiles what a template asks for, once."""

    def pre_filter(self, pod: Pod, snapshot: Snapshot) -> PreFilterResult:
        """The state for ``filter``, or a verdict for all nodes at once."""


@runtime_checkable
class FilterPlugin(Plugin, Protocol):
    """Tells which nodes a pod cannot run on."""

    reads: ClassVar[frozenset[Aspect]]
    """Aspects of a node that the answers depend on: a row is asked again when one of them
    changed.
    """

    def filter(self, state: Any, snapshot: Snapshot, rows: Rows) -> Codes:
        """A code per row, 0 = passes. ``state`` is pre_filter's, or the pod itself when the plugin
        has no pre_filter.
        """

    def explain(self, state: Any, code: int) -> Why:
        """The reasons behind a code that ``filter`` gave, each with its detail ("" where its text
        has none), in text order.
        """


@runtime_checkable
class FallibleFilterPlugin(FilterPlugin, Protocol):
    """A filter plugin that may be unable to judge a node, with codes below 0."""

    may_fail: ClassVar[bool]


class Shortfall(NamedTuple):
    """How much of a resource is asked for, and by row how much more that is than a node has left (0
    or less: nothing is lacking), in the node table's unit.
    """

    asked: int
    lacking: npt.NDArray[np.int64]


@runtime_checkable
class MeasuringFilterPlugin(FilterPlugin, Protocol):
    """A filter plugin that can say by how much a node falls short, for whoever explains."""

    def shortfalls(
        self, state: Any, snapshot: Snapshot, rows: npt.NDArray[np.intp], /
    ) -> Mapping[str, Shortfall]:
        """By resource. ``filter`` rejects just the rows where something is lacking."""


@runtime_checkable
class PreScorePlugin(Plugin, Protocol):
    """Compiles what a template prefers, once."""

    def pre_score(self, pod: Pod, snapshot: Snapshot) -> PreFilterResult:
        """The state for ``score``; SKIP leaves the plugin's score out; a rejection is a fault
        here.
        """


@runtime_checkable
class ScorePlugin(Plugin, Protocol):
    """Ranks the nodes that passed."""

    reads: ClassVar[frozenset[Aspect]]

    def score(self, state: Any, snapshot: Snapshot, rows: Rows) -> Scores:
        """A raw score per row; ``state`` is pre_score's, or the pod itself when the plugin has no
        pre_score.
        """


@runtime_checkable
class PreparingScorePlugin(Plugin, Protocol):
    """A score plugin that has no preScore to be enabled at (in kube-scheduler it uses what its
    preFilter found), and yet prepares.
    """

    def prepare_score(self, pod: Pod, snapshot: Snapshot) -> PreFilterResult:
        """As ``pre_score`` does for other plugins."""


@runtime_checkable
class ScoreExtensions(Plugin, Protocol):
    """A score plugin whose raw scores mean something only beside each other."""

    def normalize_score(self, state: Any, raw: Scores) -> Scores:
        """0..100 for each of the feasible rows' raw scores. int64[feasible] -> int64[feasible]."""


class NodeScores(NamedTuple):
    """Raw scores, and what they become: 0..100 each."""

    raw: Scores
    normalized: Scores


@runtime_checkable
class FeasibleScorePlugin(Plugin, Protocol):
    """A score plugin whose raw scores depend on which nodes are feasible; it has this instead of
    ``score`` and ``normalize_score``.
    """

    def score_feasible(self, state: Any, rows: npt.NDArray[np.intp]) -> NodeScores:
        """Scores of the feasible rows; ``state`` is pre_score's.

        Asked again when other rows are feasible, or ``state`` is made anew; the state must hold, or
        depend on, all else.
        """


@runtime_checkable
class DependentPlugin(Plugin, Protocol):
    """A filter or score plugin that prepares nothing, and yet answers for a row by more than that
    row.
    """

    def depends_on(self, snapshot: Snapshot) -> tuple[Versioned, ...]:
        """What else the result goes by, as ``PreFilterResult.depends_on``."""


@runtime_checkable
class PreFilterExtensions(Plugin, Protocol):
    """A filter plugin whose state spans nodes, and which can tell what it would be with a pod more
    or less.
    """

    def adjust(self, state: Any, other: Pod, row: int, sign: int, snapshot: Snapshot) -> Any:
        """The state if ``other`` came to this row (``sign`` 1) or left it (-1); ``state`` itself
        stays as it is.

        Gives ``state`` itself back if ``other`` on this row is of no concern to any state of the
        template.
        Source: kube-scheduler PreFilterExtensions AddPod and RemovePod.
        """


@dataclasses.dataclass(frozen=True, slots=True)
class ReserveResult:
    """``value`` goes, frozen, to the plugin's own actor, whose ``pre_bind`` is not called where it
    is None; ``unreserve`` takes the reservation back (idempotent).
    """

    status: Status
    value: Any = None
    unreserve: Callable[[], None] | None = None


@runtime_checkable
class ReservePlugin(Plugin, Protocol):
    """Keeps something of its own for the pod on the chosen node."""

    def reserve(self, pod: Pod, node: str, snapshot: Snapshot) -> ReserveResult:
        """SUCCESS with a value and ``unreserve``, or a rejection: all reservations of this pod are
        undone in reverse order. The pod is assumed on the node once all have reserved.
        """


@runtime_checkable
class SkippingReservePlugin(ReservePlugin, Protocol):
    """A reserve plugin that has nothing to reserve where its ``pre_filter`` said SKIP; neither it
    nor its actor's ``pre_bind`` is asked then.
    """

    skips_reserve: ClassVar[bool]


P = TypeVar("P")
_KNOWN: dict[tuple[type, Any], bool] = {}


def is_a(plugin: object, protocol: Callable[..., P]) -> TypeGuard[P]:
    """``isinstance``, remembered for the plugin's class: Python compares attribute by attribute,
    each time anew.
    """
    kind: Any = protocol
    known = _KNOWN.get((type(plugin), kind))
    if known is None:
        known = _KNOWN[type(plugin), kind] = isinstance(plugin, kind)
    return known


def default_normalize_score(raw: Scores, *, reverse: bool = False) -> Scores:
    """Scale so that the highest raw score becomes 100 (``reverse``: 0). int64[n] -> int64[n].

    All scores 0 or below: unchanged, or all 100 in reverse. Source: kube-scheduler
    DefaultNormalizeScore.
    """
    top = int(raw.max(initial=0))
    if top <= 0:
        return np.full_like(raw, MAX_NODE_SCORE) if reverse else raw
    scaled = raw * MAX_NODE_SCORE // top
    return MAX_NODE_SCORE - scaled if reverse else scaled
