"""What the page reads: the fields of every document, by path below ``api/``.

All of them have ``apiVersion``, ``kind`` and the fields of ``AnsweredDocument``. Times are RFC 3339
in UTC, spans are seconds, quantities strings as Kubernetes writes them; in columns cpu is in
millicores and everything else in whole units. What is not known is None, and never left out; lists
may be empty.

``at=`` (RFC 3339) asks for the moment of a recording: of overview, status, queue, nodes, node, pod
and decisions. A source that is live takes moments since it began to look, where it can.

A request that cannot be answered gets ``RefusedDocument`` and its status: 400 the question is
wrong, 403 no right, 404 there is no such object, 503 no answer now. What a source never has (a
queue in a recording of another scheduler, a recording of a live cluster) is 404 too, and
``OverviewDocument.has`` says so beforehand.
"""

from __future__ import annotations

from typing import Any, Final

from moorage.apps.outputs.cluster_outputs import WaitingGroupPart
from moorage.apps.outputs.explanation_outputs import PodExplanationOutput
from moorage.apps.outputs.fields import AnsweredOutput, TypedDict
from moorage.apps.outputs.revision_outputs import DifferencePart, RevisionPart
from moorage.apps.outputs.simulation_outputs import ComparedMeasurePart, PodReasonPart


class AnsweredDocument(AnsweredOutput):
    """``source`` continues a sentence after "from". ``leftOut``: what could not be had, a sentence
    each.
    """

    kind: str
    at: str
    source: str
    leftOut: list[str]


class RefusedDocument(TypedDict):
    """Any status above 399."""

    error: str


# ---- api/overview: what this page is of; asked first ---------------------------------------------


class OverviewDocument(AnsweredDocument):
    """``cluster`` is its name, ``version`` that of Kubernetes ("" where not known). ``live``:
    whether there is a present, so that ``events`` tells of changes. ``has``: the names of the
    documents that can be asked for.
    """

    cluster: str
    version: str
    moorage: str
    live: bool
    has: list[str]
    nodes: int
    pods: int
    waiting: int
    resources: dict[str, AmountItem]


class AmountItem(TypedDict):
    """Of a resource, over all nodes, as in columns."""

    allocatable: int
    requested: int


# ---- api/status ----------------------------------------------------------------------------------


class StatusDocument(AnsweredDocument):
    """``profiles`` in the order of their names. ``groups``: those that wait, the longest first.
    ``groups`` and ``rates``: None where no operator can be asked.
    """

    problems: list[ProblemItem]
    profiles: list[ProfileLineItem]
    groups: list[WaitingGroupPart] | None
    replicas: list[ReplicaItem]
    rates: RatesItem | None


class ProblemItem(TypedDict):
    """``severity``: bad, warn or trial. ``profile``: None where it is about all.

    ``next``: a command to copy, None where there is none.
    """

    severity: str
    profile: str | None
    text: str
    since: str | None
    next: str | None


class ProfileLineItem(TypedDict):
    """``ready``: True, False or Unknown, with the condition's ``reason`` and ``message``.

    ``state``: see ``apps.status.profile_problems.state_of``.
    """

    name: str
    schedulerName: str
    preset: str
    created: str | None
    ready: str
    state: str
    reason: str
    message: str
    activeRevision: str | None
    activeSince: str | None
    desiredRevision: str | None
    trial: dict[str, Any] | None
    """status.trial, as it is: see ``TrialDocument``."""
    queue: DepthItem | None
    rates: RatesItem | None
    pods: int | None
    """On nodes."""


class DepthItem(TypedDict):
    """Pods that wait, by where."""

    active: int
    backoff: int
    unschedulable: int
    gated: int


class RatesItem(TypedDict):
    """``placed``: pods a second; ``p99``: seconds from created to bound."""

    placed: float | None
    p99: float | None


class ReplicaItem(TypedDict):
    """``role``: Leader, Observer or Standby. ``revisions``: as in ``4 of 4``; ``watches``: fresh or
    stale.
    """

    name: str
    role: str
    revisions: str | None
    watches: str | None
    since: str | None


# ---- api/queue -----------------------------------------------------------------------------------


class QueueDocument(AnsweredDocument):
    """``ordered``: whether positions are known.

    ``rows`` are the same pods folded: of one owner, one state and one reason.
    """

    ordered: bool
    depth: DepthItem
    pods: list[WaitingPodItem]
    rows: list[WaitingRowItem]


class WaitingPodItem(TypedDict):
    """``queue``: active, backoff, unschedulable or gated. ``until``: when it is tried at the
    latest. ``group``: its pod group, NAMESPACE/NAME, and until when room is held for that.
    """

    pod: str
    schedulerName: str
    priority: int
    queue: str
    position: int | None
    attempts: int | None
    since: str
    until: str | None
    reasons: list[str]
    wakesOn: list[str]
    group: str | None
    roomHeldUntil: str | None


class WaitingRowItem(TypedDict):
    """``first`` and ``last``: positions. ``name``: of the pod, or what its pods are of."""

    name: str
    pods: list[str]
    schedulerName: str
    priority: int
    queue: str
    first: int | None
    last: int | None
    since: str
    why: str
    until: str | None


# ---- api/nodes, api/node?name= -------------------------------------------------------------------

UNSCHEDULABLE: Final = 1
"""Of ``flags``: cordoned."""
TAINTED: Final = 2
"""Of ``flags``: it has a taint with NoSchedule or NoExecute beside that of cordoning."""
NOT_READY: Final = 4
"""Of ``flags``: its condition Ready is not True."""


class NodesDocument(AnsweredDocument):
    """One entry a node, in the order of names, in every list.

    ``zones`` and ``pools`` are indices into ``zoneNames`` and ``poolNames``, "" for nodes without
    one. ``free`` of a column, what nobody asks for, is allocatable - requested.
    """

    names: list[str]
    zones: list[int]
    zoneNames: list[str]
    pools: list[int]
    poolNames: list[str]
    poolLabel: str
    """The label that says a node's pool; "" where they are told by size."""
    resources: dict[str, ColumnItem]
    pods: list[int]
    flags: list[int]
    classes: list[PodClassItem]
    """What pods ask for: the most common first."""
    stranded: list[StrandedRoomItem]


class ColumnItem(TypedDict):
    """One resource. ``stranded``: of what is free on the node the mean part that is no use to the
    pods that ask for the resource: all of it for those that lack something there, none for others
    (``core.simulation.measures``).
    """

    allocatable: list[int]
    requested: list[int]
    stranded: list[int]


class PodClassItem(TypedDict):
    """``pods`` that ask for the same, on nodes and waiting, and how many of them wait."""

    asks: dict[str, int]
    pods: int
    waiting: int


class StrandedRoomItem(TypedDict):
    """A resource of which something is stranded, and the sentence that says so. ``nodes`` have any
    of it.
    """

    resource: str
    text: str
    amount: int
    free: int
    nodes: int


class NodeDocument(AnsweredDocument):
    """One node. ``pods``: by what they ask for, the largest first."""

    name: str
    zone: str
    pool: str
    flags: int
    taints: list[str]
    labels: dict[str, str]
    resources: dict[str, AmountItem]
    profiles: dict[str, int]
    pods: list[PodOnNodeItem]


class PodOnNodeItem(TypedDict):
    """``asks``: quantities."""

    pod: str
    profile: str
    priority: int
    asks: dict[str, str]


# ---- api/pod?name=NAMESPACE/NAME -----------------------------------------------------------------


class ExplanationDocument(PodExplanationOutput):
    """What ``moorage explain -o json`` writes, with more.

    ``plugins``: filters in the order in which they are asked. Of ``refusals`` each group is refused
    by ``plugin`` and passed those before it; names joined by spaces left nodes out together, before
    all filters. ``zones``: by name, of the nodes that are named. ``history``: what a recording says
    of it.
    """

    leftOut: list[str]
    priority: int
    owner: str | None
    plugins: list[str]
    zones: dict[str, str]
    history: list[DecisionItem]


# ---- api/history?profile=, api/trial?profile=, api/diff?a=&b= ------------------------------------


class HistoryDocument(AnsweredDocument):
    """The newest first."""

    profile: str
    revisions: list[RevisionPart]


class TrialDocument(AnsweredDocument):
    """``trial``: status.trial (docs/trials.md), None where none was. ``toGo``: pairs until the end,
    about, None where that cannot be reckoned. ``pairs``: the first that regressed; ``elsewhere``:
    the last that went to other nodes.
    """

    profile: str
    trial: dict[str, Any] | None
    pairs: list[dict[str, Any]]
    elsewhere: list[dict[str, Any]]
    toGo: int | None


class DifferenceDocument(AnsweredDocument):
    """``a`` and ``b`` as asked: PROFILE or PROFILE@REVISION. ``same``: settings that do not
    differ.
    """

    a: str
    b: str
    same: int
    differences: list[DifferencePart]
    errors: dict[str, list[str]]


# ---- api/timeline, api/decisions?at=&limit= ------------------------------------------------------


class TimelineDocument(AnsweredDocument):
    """``begin`` and ``end``: Unix seconds. The curves have ``step`` seconds between their points,
    the first at ``begin``; None in a gap. ``cpu``: 0 to 1, requested of allocatable. ``p99``:
    seconds from created to bound. ``placedBy``: the same as ``placed``, by schedulerName.
    """

    begin: float
    end: float
    step: float
    placed: list[float | None]
    placedBy: dict[str, list[float | None]]
    waiting: list[int | None]
    cpu: list[float | None]
    p99: list[float | None]
    marks: list[MarkItem]
    worlds: list[str]
    """What ``api/compare?b=`` takes."""
    progress: float
    """Below 1 while a long recording is still gone through."""


class MarkItem(TypedDict):
    """``what``: swap, removed, gap or burst; trials, refusals and leaders are not recorded, as no
    decision comes of them. ``time``: Unix seconds.
    """

    time: float
    what: str
    profile: str | None
    text: str


class DecisionsDocument(AnsweredDocument):
    """Those from ``at`` on, in order; ``before`` are the last ones before it, the nearest last."""

    before: list[DecisionItem]
    decisions: list[DecisionItem]


class DecisionItem(TypedDict):
    """``node``: None where none was found, and ``message`` says why not."""

    time: float
    pod: str
    profile: str
    revision: str | None
    node: str | None
    score: int | None
    message: str


# ---- api/compare?b= ------------------------------------------------------------------------------


class ComparisonDocument(AnsweredDocument):
    """World A as it was, world B under ``b``. Until ``progress`` is 1 the other fields are empty;
    ``events`` says ``compare`` when there is more.

    ``windows``: measure -> A and B, one value a window of ``windowSeconds``. The nodes of world A
    are ``api/nodes?at=``, those of world B ``api/nodes?at=&b=``.
    """

    a: str
    b: str
    progress: float
    seconds: float
    arrivals: int
    measures: list[MeasureItem]
    placedInBoth: int
    elsewhere: int
    waitingA: int
    waitingB: int
    onlyB: list[PodReasonPart]
    notes: list[str]
    cannotKnow: str
    windowSeconds: float
    windows: dict[str, dict[str, list[float | None]]]


class MeasureItem(ComparedMeasurePart):
    """``text``: a, b, difference and interval in words, with units."""

    text: dict[str, str]


# ---- api/find?text= ------------------------------------------------------------------------------


class FoundDocument(AnsweredDocument):
    """At most twenty of each, those that begin with the text first."""

    pods: list[FoundPodItem]
    nodes: list[str]
    profiles: list[str]


class FoundPodItem(TypedDict):
    """``node``: None while it waits."""

    pod: str
    node: str | None


# ---- events --------------------------------------------------------------------------------------


class ChangedItem(TypedDict):
    """The data of an event ``changed``: names of documents, as in ``["status", "queue"]``; at most
    twice a second. The first one after a lost connection has all that changed meanwhile.
    """

    documents: list[str]
    at: str
