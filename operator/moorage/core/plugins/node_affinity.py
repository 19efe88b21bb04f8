"""NodeAffinity: a node must have the labels that the pod, or the administrator for all pods,
requires; preferred terms rank nodes.

Cost: each distinct value of a label is judged once; a node that changed costs a look-up per
requirement.
Source: kube-scheduler NodeAffinity (v1.37).
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Hashable
from typing import Annotated, ClassVar, Literal, NamedTuple

import msgspec
import numpy as np
from annotated_types import Interval

from kubefacts.labels import RequirementFault, SelectorError
from moorage.core.columns.nodes.node_table import Aspect, Rows
from moorage.core.columns.nodes.row_selection import rows_matching
from moorage.core.columns.snapshot import Snapshot
from moorage.core.columns.store import Lister
from moorage.core.framework.arguments import ARGUMENTS, Violation
from moorage.core.framework.cluster_events import (
    ActionType,
    ClusterEvent,
    ClusterEventWithHint,
    EventResource,
    shared_hint,
)
from moorage.core.framework.interfaces import (
    Codes,
    PreFilterResult,
    Scores,
    default_normalize_score,
)
from moorage.core.framework.status import SKIP, SUCCESS, Code, Reason, error_status, rejected
from moorage.core.objects.nodes import Node
from moorage.core.objects.pods import NodeAffinity as Affinity
from moorage.core.objects.pods import Pod
from moorage.core.objects.selector_terms import NodeSelector
from moorage.core.pods.node_selection import (
    NODE_NAME,
    NodeTerms,
    Preference,
    compile_node_selector,
    compile_preferences,
    matches_any,
    required_node_selector,
    required_node_terms,
)
from moorage.core.structures.remembering import memoized, text_size

_encode = msgspec.msgpack.Encoder().encode

NAME = "NodeAffinity"
NOT_WANTED = Reason(
    "NodeAffinityMismatch",
    "node(s) didn't match Pod's node affinity/selector",
    Code.UNSCHEDULABLE_AND_UNRESOLVABLE,
)
NOT_ALLOWED = Reason(
    "EnforcedNodeAffinityMismatch",
    "node(s) didn't match scheduler-enforced node affinity",
    Code.UNSCHEDULABLE_AND_UNRESOLVABLE,
)
CONFLICT = Reason(
    "NodeAffinityConflict", "pod affinity terms conflict", Code.UNSCHEDULABLE_AND_UNRESOLVABLE
)
"""The terms name nodes in a way that no node can meet."""


# ---- arguments -----------------------------------------------------------------------------------
# The same as in a pod's spec, read strictly: what an administrator misspells must not be ignored.


@dataclasses.dataclass(frozen=True, slots=True)
class AddedRequirement:
    """A requirement of ``addedAffinity``: key, operator, values."""

    __pydantic_config__: ClassVar = ARGUMENTS

    key: str
    operator: Literal["In", "NotIn", "Exists", "DoesNotExist", "Gt", "Lt"]
    values: tuple[str, ...] | None = None


@dataclasses.dataclass(frozen=True, slots=True)
class AddedTerm:
    """All of matchExpressions (labels) and matchFields (only metadata.name exists)."""

    __pydantic_config__: ClassVar = ARGUMENTS

    match_expressions: tuple[AddedRequirement, ...] | None = None
    match_fields: tuple[AddedRequirement, ...] | None = None


@dataclasses.dataclass(frozen=True, slots=True)
class AddedSelector:
    """Any of its terms."""

    __pydantic_config__: ClassVar = ARGUMENTS

    node_selector_terms: tuple[AddedTerm, ...]


@dataclasses.dataclass(frozen=True, slots=True)
class AddedPreference:
    """A term that adds ``weight`` where it matches."""

    __pydantic_config__: ClassVar = ARGUMENTS

    weight: Annotated[int, Interval(ge=0, le=2**31 - 1)]
    preference: AddedTerm


@dataclasses.dataclass(frozen=True, slots=True)
class AddedAffinity:
    """What holds for all pods of the profile, besides each pod's own node affinity."""

    __pydantic_config__: ClassVar = ARGUMENTS

    required_during_scheduling_ignored_during_execution: AddedSelector | None = None
    preferred_during_scheduling_ignored_during_execution: tuple[AddedPreference, ...] | None = None


@dataclasses.dataclass(frozen=True, slots=True)
class NodeAffinityArgs:
    """Node affinity to add to every pod's."""

    __pydantic_config__: ClassVar = ARGUMENTS

    added_affinity: AddedAffinity | None = None

    def validate(self) -> list[Violation]:
        """Every term must be readable: in a pod an unreadable one matches nothing, but here that
        would be nobody's wish.
        """
        added = _affinity_of(self)
        required = added.required_during_scheduling_ignored_during_execution or NodeSelector()
        preferred = added.preferred_during_scheduling_ignored_during_execution or ()
        faults = _faults(
            lambda: compile_node_selector(
                required, "addedAffinity.requiredDuringSchedulingIgnoredDuringExecution"
            )
        )
        faults += _faults(
            lambda: compile_preferences(
                preferred, "addedAffinity.preferredDuringSchedulingIgnoredDuringExecution"
            )
        )
        return [Violation(*fault) for fault in faults]


def _affinity_of(args: NodeAffinityArgs) -> Affinity:
    return (
        msgspec.convert(args.added_affinity, Affinity, from_attributes=True)
        if args.added_affinity is not None
        else Affinity()
    )


def _faults(compile_terms: Callable[[], object]) -> tuple[RequirementFault, ...]:
    try:
        compile_terms()
    except SelectorError as error:
        return error.faults
    return ()


class AddedTerms(NamedTuple):
    """The arguments compiled; ``required`` is None when every node will do."""

    required: NodeTerms | None
    preferred: tuple[Preference, ...]


@memoized(text_size, most=256)
def _added_terms(args: NodeAffinityArgs) -> AddedTerms:
    affinity = _affinity_of(args)
    required = affinity.required_during_scheduling_ignored_during_execution
    preferred = affinity.preferred_during_scheduling_ignored_during_execution
    return AddedTerms(
        compile_node_selector(required) if required is not None else None,
        compile_preferences(preferred or ()),
    )


# ---- the plugin ----------------------------------------------------------------------------------

_FAILS_ADDED = 1
_FAILS_OWN = 2


class NodeAffinityState(NamedTuple):
    """Which nodes will do: for the administrator (None: all), and for the pod."""

    added: NodeTerms | None
    own: NodeTerms


@dataclasses.dataclass(frozen=True, slots=True)
class NodeAffinityPlugin:
    """Passes nodes that match both the added and the pod's own required terms; adds up the weights
    of matching preferred terms.
    """

    name: ClassVar[str] = NAME
    reasons: ClassVar[tuple[Reason, ...]] = (NOT_ALLOWED, NOT_WANTED, CONFLICT)
    reads: ClassVar[frozenset[Aspect]] = frozenset({Aspect.LABELS})

    args: NodeAffinityArgs = NodeAffinityArgs()

    @property
    def added_terms(self) -> NodeTerms | None:
        """Which nodes will do for all pods of the profile; None: every node."""
        return _added_terms(self.args).required

    @property
    def events_to_register(self) -> tuple[ClusterEventWithHint, ...]:
        """A node that is new or has other labels; the hint needs the arguments."""
        return (
            shared_hint(
                EventResource.NODE, ActionType.ADD | ActionType.UPDATE_NODE_LABEL, self._matches_now
            ),
        )

    def hint_signature(self, pod: Pod) -> Hashable:
        """Where it wants to go."""
        return _encode((pod.spec.node_selector, required_node_selector(pod)))

    def pre_filter(self, pod: Pod, snapshot: Snapshot) -> PreFilterResult:
        """The compiled terms, and the only nodes that they can mean when they go by name; a pod
        without any skips this plugin.
        """
        required, added = required_node_selector(pod), _added_terms(self.args).required
        if required is None and added is None and pod.spec.node_selector is None:
            return PreFilterResult(SKIP)
        names = _named_nodes(required) if required is not None else None
        if names is not None and not names:
            return PreFilterResult(rejected(CONFLICT))
        return PreFilterResult(SUCCESS, NodeAffinityState(added, required_node_terms(pod)), names)

    def filter(self, state: NodeAffinityState, snapshot: Snapshot, rows: Rows) -> Codes:
        """Whose terms a node fails, the administrator's first."""
        codes = np.where(rows_matching(state.own, snapshot.nodes, rows), 0, _FAILS_OWN)
        if state.added is None:
            return codes
        return np.where(rows_matching(state.added, snapshot.nodes, rows), codes, _FAILS_ADDED)

    def explain(self, state: NodeAffinityState, code: int) -> tuple[tuple[Reason, str], ...]:
        return ((NOT_ALLOWED if code == _FAILS_ADDED else NOT_WANTED, ""),)

    def pre_score(self, pod: Pod, snapshot: Snapshot) -> PreFilterResult:
        """The added and the pod's own preferences; neither: skipped. An unreadable one is a fault,
        as in kube-scheduler.
        """
        affinity = pod.spec.affinity.node_affinity if pod.spec.affinity is not None else None
        own = (
            affinity.preferred_during_scheduling_ignored_during_execution
            if affinity is not None
            else None
        )
        added = _added_terms(self.args).preferred
        if own is None and not added:
            return PreFilterResult(SKIP)
        try:
            return PreFilterResult(SUCCESS, added + compile_preferences(own or ()))
        except SelectorError as error:
            return PreFilterResult(error_status(str(error)))

    def score(self, state: tuple[Preference, ...], snapshot: Snapshot, rows: Rows) -> Scores:
        """The sum of the weights of the terms that a node matches."""
        total = np.zeros(snapshot.nodes.live[rows].size, np.int64)
        for weight, term in state:
            total += weight * rows_matching((term,), snapshot.nodes, rows)
        return total

    def normalize_score(self, state: tuple[Preference, ...], raw: Scores) -> Scores:
        """100 for the node with the highest sum."""
        return default_normalize_score(raw)

    def _matches_now(self, pod: Pod, event: ClusterEvent, _store: Lister) -> bool:
        """Whether the node matches and, if it was there before, did not.

        kube-scheduler looks at the old node with the pod's own terms alone, so there a pod waits on
        when a node begins to match the added ones.
        """
        old, new = event.old, event.new
        wanted = NodeAffinityState(_added_terms(self.args).required, required_node_terms(pod))
        return (
            isinstance(new, Node)
            and _matches(wanted, new)
            and not (isinstance(old, Node) and _matches(wanted, old))
        )


def _matches(wanted: NodeAffinityState, node: Node) -> bool:
    return (wanted.added is None or matches_any(wanted.added, node)) and matches_any(
        wanted.own, node
    )


def _named_nodes(required: NodeSelector) -> frozenset[str] | None:
    """The only nodes that these terms can match; None when a term does not go by name, or there are
    no terms.
    """
    names: frozenset[str] = frozenset()
    for term in required.node_selector_terms or ():
        named = [
            frozenset(one.values or ())
            for one in term.match_fields or ()
            if one.key == NODE_NAME and one.operator == "In"
        ]
        if not named:
            return None
        names |= frozenset.intersection(*named)
    return names if required.node_selector_terms else None
