"""InterPodAffinity: pods beside, or away from, other pods within a topology; required terms refuse
nodes, preferred ones rank them.

Terms count both ways: those of the pod to be placed, about pods on nodes, and those of pods on
nodes, about the pod to be placed.
Cost: nothing where no pod has terms; else about 0.1 ms per decision at 5,000 nodes, whatever the
number of pods: counts per term are kept as pods come and go.
Source: kube-scheduler InterPodAffinity (v1.37), KEP-2249 (namespaceSelector); docs/adr/0004 on
terms met by different pods.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Hashable, Iterator
from typing import Annotated, ClassVar, Literal, NamedTuple

import msgspec
import numpy as np
from annotated_types import Interval

from moorage.core.columns.change_log import Versioned
from moorage.core.columns.domains import domains, shifted
from moorage.core.columns.nodes.label_columns import ABSENT
from moorage.core.columns.nodes.node_table import Aspect, Rows
from moorage.core.columns.pod_counters import AffinityTermKind, Counts, PodQuery
from moorage.core.columns.snapshot import Snapshot
from moorage.core.columns.store import Lister
from moorage.core.columns.views import RowCounts
from moorage.core.framework.arguments import ARGUMENTS
from moorage.core.framework.cluster_events import (
    ActionType,
    ClusterEvent,
    ClusterEventWithHint,
    EventResource,
    shared_hint,
)
from moorage.core.framework.interfaces import MAX_NODE_SCORE, Codes, PreFilterResult, Scores
from moorage.core.framework.status import SKIP, SUCCESS, Code, Reason, Status
from moorage.core.objects.meta import Namespace
from moorage.core.objects.pods import Pod
from moorage.core.plugins.inter_pod_affinity.queueing_hints import (
    awaited_labels,
    namespace_frees,
    node_frees,
    pod_frees,
    repelled_labels,
    would_do_itself,
)
from moorage.core.plugins.inter_pod_affinity.term_matching import (
    existing_term_matches,
    query_for_all,
    terms_match,
)
from moorage.core.plugins.inter_pod_affinity.topology_tally import PerKey, TopologyTally
from moorage.core.pods.affinity_terms import AffinityTerm, AffinityTerms, pod_terms

NAME = "InterPodAffinity"
NOT_BESIDE = Reason(
    "PodAffinityMismatch",
    "node(s) didn't match pod affinity rules",
    Code.UNSCHEDULABLE_AND_UNRESOLVABLE,
)
NOT_AWAY = Reason(
    "PodAntiAffinityConflict", "node(s) didn't match pod anti-affinity rules", Code.UNSCHEDULABLE
)
REPELLED = Reason(
    "ExistingPodAntiAffinity",
    "node(s) didn't satisfy existing pods anti-affinity rules",
    Code.UNSCHEDULABLE,
)
UNREADABLE = Reason("PodAffinityUnreadable", "parsing pod: {}", Code.UNSCHEDULABLE_AND_UNRESOLVABLE)
_REASONS = {1: NOT_BESIDE, 2: NOT_AWAY, 3: REPELLED}
_NOT_BESIDE, _NOT_AWAY, _REPELLED = _REASONS
"""Codes; where several hold, the lowest counts."""

_encode = msgspec.msgpack.Encoder().encode


@dataclasses.dataclass(frozen=True, slots=True)
class InterPodAffinityArgs:
    """How affinity counts.

    ``hard_pod_affinity_weight``: what a required term of a pod on a node, met by the pod to be
    placed, adds to the score. ``ignore_preferred_terms_of_existing_pods``: a pod without
    preferences of its own is not ranked by those of others. ``terms_met_by`` (ours): whether one
    pod must meet all required affinity terms, as in kube-scheduler, or each term some pod.
    """

    __pydantic_config__: ClassVar = ARGUMENTS

    hard_pod_affinity_weight: Annotated[int, Interval(ge=0, le=100)] = 1
    ignore_preferred_terms_of_existing_pods: bool = False
    terms_met_by: Literal["SamePod", "AnyPod"] = "SamePod"


class RequiredTerms(NamedTuple):
    """Required affinity terms that one pod must meet together.

    ``selects``: the pods that do. ``counts``: how many there are in each domain of each term's
    topology. ``by_itself``: whether the pod to be placed does, so that it may be the first one.
    """

    selects: PodQuery
    counts: PerKey
    by_itself: bool


class InterPodAffinityState(NamedTuple):
    """What ``filter`` looks at. ``avoids``: the pod's anti-affinity terms, as queries with their
    topology keys.

    ``shunned`` counts, by topology, the pods that the pod wants to be away from, ``shunning`` those
    that want to be away from it.
    """

    pod: Pod
    demands: tuple[RequiredTerms, ...]
    avoids: tuple[tuple[PodQuery, str], ...]
    shunned: PerKey
    shunning: PerKey


@dataclasses.dataclass(frozen=True, slots=True)
class InterPodAffinity:
    """Passes nodes where required terms of and about the pod are met; adds up the weights of
    preferred ones that are met.
    """

    name: ClassVar[str] = NAME
    reasons: ClassVar[tuple[Reason, ...]] = (NOT_BESIDE, NOT_AWAY, REPELLED, UNREADABLE)
    reads: ClassVar[frozenset[Aspect]] = frozenset({Aspect.LABELS})

    args: InterPodAffinityArgs = InterPodAffinityArgs()

    @property
    def events_to_register(self) -> tuple[ClusterEventWithHint, ...]:
        """Pods and namespaces that come, go or change labels, nodes that are new or do."""
        return (
            shared_hint(
                EventResource.ASSIGNED_POD,
                ActionType.ADD | ActionType.UPDATE_POD_LABEL | ActionType.DELETE,
                self._pod_frees,
                pod_selectors=awaited_labels,
                event_selectors=repelled_labels,
            ),
            ClusterEventWithHint(EventResource.TARGET_POD, ActionType.UPDATE_POD_LABEL),
            shared_hint(
                EventResource.NODE, ActionType.ADD | ActionType.UPDATE_NODE_LABEL, node_frees
            ),
            ClusterEventWithHint(EventResource.NODE, ActionType.DELETE),
            shared_hint(EventResource.NAMESPACE, ActionType.ALL, namespace_frees),
        )

    def hint_signature(self, pod: Pod) -> Hashable:
        """Its terms, and whether its labels are what they ask for.

        Else its labels matter where a pod went that had terms about it: such an event selects it.
        """
        affinity = pod.spec.affinity
        if affinity is None:
            return _encode((pod.metadata.namespace, None))
        own = [would_do_itself(together, pod) for together in self._required_terms(pod)]
        return _encode(
            (pod.metadata.namespace, affinity.pod_affinity, affinity.pod_anti_affinity, own)
        )

    def sign_pod(self, pod: Pod, snapshot: Snapshot) -> bytes:
        """Which of the terms that pods on nodes carry speak of this pod, and which of its own
        affinity terms.

        Of pods nominated to nodes the terms are not counted: beside these, pods differ as their
        labels do.
        """
        matches, nominated = snapshot.pod_counters, len(snapshot.nominations)
        if pod.spec.affinity is None and not matches.has_existing_terms and not nominated:
            return b""
        carried = sorted(counter.id for _, counter in matches.existing_terms_matching(pod))
        own = [terms_match(terms, pod, snapshot.store) for terms in self._required_terms(pod)]
        labels = sorted((pod.metadata.labels or {}).items()) if nominated else None
        return _encode((carried, own, labels)) if carried or own or nominated else b""

    def sign_depends_on(self, pod: Pod, snapshot: Snapshot) -> tuple[Versioned, ...]:
        """Which terms there are, whether pods are nominated, and the labels of namespaces."""
        namespaces = snapshot.store.version_counter(Namespace)
        return snapshot.pod_counters.existing_terms, snapshot.nominations.presence, namespaces

    def pre_filter(self, pod: Pod, snapshot: Snapshot) -> PreFilterResult:
        """Counts pods over the topologies of all required terms; a pod that these leave alone skips
        this plugin.
        """
        terms, store = pod_terms(pod), snapshot.store
        if terms.error:
            text = UNREADABLE.text.replace("{}", terms.error)
            return PreFilterResult(Status(UNREADABLE.code, (text,)))
        tally = TopologyTally(snapshot)
        shunning = _shunning(pod, snapshot, tally)
        demanded = self._required_terms(pod)
        if not shunning and not demanded and not terms.anti_affinity:
            none = InterPodAffinityState(pod, (), (), {}, {})
            return PreFilterResult(SKIP, none, depends_on=tuple(tally.depends_on))
        demands = tuple(_required(together, pod, snapshot, tally) for together in demanded)
        avoids = tuple(
            (query_for_all((term,), store), term.topology_key) for term in terms.anti_affinity
        )
        shunned: dict[str, Counts] = {}
        for selects, key in avoids:
            tally.add(shunned, snapshot.matching(selects), key)
        tally.depend_on_namespaces((*terms.affinity, *terms.anti_affinity))
        state = InterPodAffinityState(pod, demands, avoids, shunned, shunning)
        return PreFilterResult(SUCCESS, state, depends_on=tuple(tally.depends_on))

    def filter(self, state: InterPodAffinityState, snapshot: Snapshot, rows: Rows) -> Codes:
        """Affinity first, then the pod's anti-affinity, then that of others."""
        nodes = snapshot.nodes
        codes = np.zeros(nodes.live[rows].size, np.int64)
        for code, away_from in ((_REPELLED, state.shunning), (_NOT_AWAY, state.shunned)):
            for key, counts in away_from.items():
                codes[counts[domains(key, nodes, rows)] > 0] = code
        for demand in state.demands:
            first = demand.by_itself and not any(counts.any() for counts in demand.counts.values())
            for key, counts in demand.counts.items():
                where = domains(key, nodes, rows)
                codes[(where == ABSENT) if first else (counts[where] <= 0)] = _NOT_BESIDE
        return codes

    def explain(self, state: InterPodAffinityState, code: int) -> tuple[tuple[Reason, str], ...]:
        return ((_REASONS[code], ""),)

    def adjust(
        self, state: InterPodAffinityState, other: Pod, row: int, sign: int, snapshot: Snapshot
    ) -> InterPodAffinityState:
        """Count one pod more or less, in every map that it has a part in."""
        if other.spec.affinity is None and not state.avoids and not state.demands:
            return state  # neither speaks of the other
        nodes, pod = snapshot.nodes, state.pod
        theirs = [
            term.topology_key
            for term in pod_terms(other).anti_affinity
            if existing_term_matches(term, pod, snapshot.store)
        ]
        mine = [key for selects, key in state.avoids if selects.matches(other)]
        demands = tuple(
            demand._replace(counts=shifted(demand.counts, demand.counts, row, sign, nodes))
            if demand.selects.matches(other)
            else demand
            for demand in state.demands
        )
        if (
            not theirs
            and not mine
            and all(new is old for new, old in zip(demands, state.demands, strict=True))
        ):
            return state
        return state._replace(
            demands=demands,
            shunned=shifted(state.shunned, mine, row, sign, nodes),
            shunning=shifted(state.shunning, theirs, row, sign, nodes),
        )

    def pre_score(self, pod: Pod, snapshot: Snapshot) -> PreFilterResult:
        """The weights of preferred terms, summed over each domain of their topologies; none met
        anywhere: skipped.
        """
        preferred = pod_terms(pod).preferred
        if self.args.ignore_preferred_terms_of_existing_pods and not preferred:
            return PreFilterResult(SKIP)
        tally = TopologyTally(snapshot)
        weights: dict[str, Counts] = {}
        met = False
        for counter, key, weight in self._weighed(pod, snapshot):
            met |= tally.add(weights, counter, key, weight)
        tally.depend_on_namespaces(preferred)
        return PreFilterResult(
            SUCCESS if met else SKIP, weights, depends_on=tuple(tally.depends_on)
        )

    def _weighed(self, pod: Pod, snapshot: Snapshot) -> Iterator[tuple[RowCounts, str, int]]:
        """The pods that its preferred terms select, and those whose own terms select it; with the
        topology and the weight of each.
        """
        for term in pod_terms(pod).preferred:
            selects = query_for_all((term,), snapshot.store)
            yield snapshot.matching(selects), term.topology_key, term.weight
        for carried, counter in snapshot.pod_counters.existing_terms_matching(pod):
            weight = self._weight(carried.kind, carried.term)
            if weight is not None:
                yield counter, carried.term.topology_key, weight

    def score(self, state: PerKey, snapshot: Snapshot, rows: Rows) -> Scores:
        """The sum of the weights in the node's domains; may be negative."""
        total = np.zeros(snapshot.nodes.live[rows].size, np.int64)
        for key, weights in state.items():
            total += weights[domains(key, snapshot.nodes, rows)]
        return total

    def normalize_score(self, state: PerKey, raw: Scores) -> Scores:
        """0 for the lowest sum, 100 for the highest; 0 for all when they are equal."""
        least = int(raw.min())
        spread = int(raw.max()) - least
        return (
            (MAX_NODE_SCORE * ((raw - least) / spread)).astype(np.int64)
            if spread
            else np.zeros_like(raw)
        )

    # ---- inside ----------------------------------------------------------------------------------

    def _required_terms(self, pod: Pod) -> tuple[AffinityTerms, ...]:
        """The pod's required affinity terms, those together that one pod must meet."""
        terms = pod_terms(pod).affinity
        if self.args.terms_met_by == "AnyPod":
            return tuple((term,) for term in terms)
        return (terms,) if terms else ()

    def _weight(self, kind: AffinityTermKind, term: AffinityTerm) -> int | None:
        """What a carried term adds to the score; None for terms that do not rank."""
        if kind is AffinityTermKind.AFFINITY:
            return self.args.hard_pod_affinity_weight or None
        return term.weight if kind is AffinityTermKind.PREFERRED else None

    def _pod_frees(self, pod: Pod, event: ClusterEvent, store: Lister) -> bool:
        """Whether a pod on a node meets its affinity now, or stands against its anti-affinity no
        more.
        """
        return pod_frees(pod, self._required_terms(pod), event, store)


def _shunning(pod: Pod, snapshot: Snapshot, tally: TopologyTally) -> dict[str, Counts]:
    """By topology, the pods that want to be away from this one."""
    found: dict[str, Counts] = {}
    for carried, counter in snapshot.pod_counters.existing_terms_matching(pod):
        if carried.kind is AffinityTermKind.ANTI_AFFINITY:
            tally.add(found, counter, carried.term.topology_key)
    return {key: counts for key, counts in found.items() if counts.any()}


def _required(
    terms: AffinityTerms, pod: Pod, snapshot: Snapshot, tally: TopologyTally
) -> RequiredTerms:
    """Terms that one pod must meet, with the pods that do."""
    selects = query_for_all(terms, snapshot.store)
    counts: dict[str, Counts] = {}
    counter = snapshot.matching(selects)
    for key in dict.fromkeys(term.topology_key for term in terms):
        tally.add(counts, counter, key)
    return RequiredTerms(selects, counts, terms_match(terms, pod, snapshot.store))
