"""DynamicResources: a pod goes where its claims can be used, and those that have no devices yet can
get some.

Whether claims can be allocated on a node depends on what the node offers, names aside; so it is
asked once for each *shape* of what nodes offer (``devices.ledger``), and again for the chosen node
when the pod is reserved for, with names.

A search goes on in slices (``devices.device_searches``). Core has no clock of its own:
``filterTimeout`` is told by the budget's. That a device took longer than ``bindingTimeout`` to
become usable is found by whoever waits for it, who gives the claim up then.
Cost: nothing for pods without claims; else a search for devices on each node that has any, the
dearest thing a profile can do.
Source: kube-scheduler DynamicResources (v1.36). Deviations:
docs/adr/0006.
"""

from __future__ import annotations

import dataclasses
from typing import ClassVar

import numpy as np

from kubefacts.durations import parse_signed
from kubefacts.labels import SelectorError
from kubefacts.quantities import QuantityError
from moorage.core.columns.change_log import Versioned
from moorage.core.columns.nodes.node_table import Aspect, Rows
from moorage.core.columns.snapshot import Snapshot
from moorage.core.columns.store import Lister
from moorage.core.devices.device_demand import (
    DeviceDemand,
    delegable,
    demand_content,
    demand_of,
    kept_devices,
)
from moorage.core.devices.device_searches import AllocationTimeout
from moorage.core.devices.ledger import DeviceLedger
from moorage.core.devices.pod_claims import ClaimError, can_be_deallocated
from moorage.core.devices.pools import AllocationError
from moorage.core.framework.cluster_events import (
    ActionType,
    ClusterEventWithHint,
    EventResource,
    shared_hint,
)
from moorage.core.framework.companions import DeviceOrderingPlugin
from moorage.core.framework.evaluation.far_nominations import with_nominated_pods
from moorage.core.framework.interfaces import (
    Codes,
    PreFilterResult,
    ReserveResult,
    Scores,
    default_normalize_score,
)
from moorage.core.framework.post_filter_contract import (
    FailedAttempt,
    FailedGroupAttempt,
    PodGroupPostFilterResult,
    PostFilterResult,
)
from moorage.core.framework.status import (
    SKIP,
    SUCCESS,
    Code,
    Reason,
    Status,
    Why,
    error_status,
    rejected_for,
)
from moorage.core.groups.group_spec import GroupSpec
from moorage.core.objects.meta import HasMetadata
from moorage.core.objects.pods import Pod
from moorage.core.objects.resource_claims import (
    DeviceClass,
    DeviceTaintRule,
    ResourceClaim,
    ResourceSlice,
)
from moorage.core.plugins.dynamic_resources.arguments import DynamicResourcesArgs
from moorage.core.plugins.dynamic_resources.claim_reservation import reserve_devices
from moorage.core.plugins.dynamic_resources.node_search import (
    JudgeFn,
    NodeSearch,
    alternatives_score,
    filter_code,
)
from moorage.core.plugins.dynamic_resources.queueing_hints import (
    claim_helps,
    claim_problem,
    claims_are_there,
    was_to_have_devices,
)
from moorage.core.plugins.dynamic_resources.releases import (
    LostClaims,
    propose,
    release_for_group,
    release_for_pod,
)
from moorage.core.plugins.dynamic_resources.verdicts import (
    ALTERNATIVES_FAILED,
    CANNOT_ALLOCATE,
    CANNOT_FIT,
    CANNOT_JUDGE,
    CODE_OF,
    FIRST_EXCLUSION_CODE,
    NODE_REASONS,
    NOT_AVAILABLE,
    NOT_READY,
    STALE_CLAIM,
    DynamicResourcesState,
)

NAME = "DynamicResources"


@dataclasses.dataclass(frozen=True, slots=True)
class DynamicResources:
    """Passes nodes where every claim has or can get its devices; prefers those with the better
    alternatives.
    """

    name: ClassVar[str] = NAME
    skips_reserve: ClassVar[bool] = True
    reasons: ClassVar[tuple[Reason, ...]] = (
        NOT_READY,
        *NODE_REASONS,
        CANNOT_JUDGE,
        ALTERNATIVES_FAILED,
    )
    reads: ClassVar[frozenset[Aspect]] = frozenset(
        {Aspect.LABELS, Aspect.ALLOCATABLE, Aspect.DEVICES}
    )
    required_kinds: ClassVar[frozenset[type[HasMetadata]]] = frozenset(
        {ResourceClaim, ResourceSlice, DeviceClass, DeviceTaintRule}
    )
    may_fail: ClassVar[bool] = True
    rows_at_a_time: ClassVar[int] = 64
    """Nodes that it is asked about at once: a search may take long."""
    events_to_register: ClassVar[tuple[ClusterEventWithHint, ...]] = (
        ClusterEventWithHint(
            EventResource.NODE,
            ActionType.ADD | ActionType.UPDATE_NODE_LABEL | ActionType.UPDATE_NODE_ALLOCATABLE,
        ),
        shared_hint(
            EventResource.RESOURCE_CLAIM,
            ActionType.ADD | ActionType.UPDATE | ActionType.DELETE,
            claim_helps,
        ),
        shared_hint(EventResource.ASSIGNED_POD, ActionType.DELETE, was_to_have_devices),
        shared_hint(
            EventResource.TARGET_POD,
            ActionType.UPDATE_POD_GENERATED_RESOURCE_CLAIM,
            claims_are_there,
        ),
        ClusterEventWithHint(
            EventResource.DEVICE_CLASS, ActionType.ADD | ActionType.UPDATE | ActionType.DELETE
        ),
        ClusterEventWithHint(
            EventResource.RESOURCE_SLICE, ActionType.ADD | ActionType.UPDATE | ActionType.DELETE
        ),
    )

    args: DynamicResourcesArgs = dataclasses.field(default_factory=DynamicResourcesArgs)
    ordering: DeviceOrderingPlugin | None = None
    """The plugin of the profile that says which devices are to be taken."""

    def ordered_by(self, ordering: DeviceOrderingPlugin) -> DynamicResources:
        """The same, where devices are taken as ``ordering`` prefers."""
        return dataclasses.replace(self, ordering=ordering)

    def pre_enqueue(self, pod: Pod, store: Lister) -> Status:
        """A pod waits until each of its claims is there and may be used by it."""
        if not pod.spec.resource_claims:
            return SUCCESS
        why = claim_problem(pod, store)
        return rejected_for(((NOT_READY, why),)) if why else SUCCESS

    def sign_pod(self, pod: Pod, snapshot: Snapshot) -> bytes:
        """Pods are alike whose claims want the same and got the same, whatever these are called."""
        if (
            not pod.spec.resource_claims
            and snapshot.store.index(DeviceLedger).extended_claim(pod) is None
        ):
            return b""
        return demand_content(pod, snapshot.store)

    def sign_depends_on(self, pod: Pod, snapshot: Snapshot) -> tuple[Versioned, ...] | None:
        """A pod that can have nothing to do with devices is like any other such pod."""
        try:
            return None if pod.spec.resource_claims or any(delegable(pod)) else ()
        except QuantityError:
            return None

    def pre_filter(self, pod: Pod, snapshot: Snapshot) -> PreFilterResult:
        """The pod's claims and what it lacks; a claim that can't be used refuses all nodes.

        What the claims say is in the template's key, and nodes whose devices change are asked
        again: that leaves the classes.
        """
        classes = (snapshot.store.version_counter(DeviceClass),)
        try:
            depends = classes if pod.spec.resource_claims or any(delegable(pod)) else ()
            wanted = demand_of(pod, snapshot.store)
        except ClaimError as error:
            return PreFilterResult(rejected_for(((NOT_READY, str(error)),)), depends_on=classes)
        except (SelectorError, QuantityError) as error:
            return PreFilterResult(error_status(str(error)))
        if wanted is None:
            return PreFilterResult(SKIP, depends_on=depends)
        return PreFilterResult(SUCCESS, DynamicResourcesState(wanted), depends_on=depends)

    def filter(self, state: DynamicResourcesState, snapshot: Snapshot, rows: Rows) -> Codes:
        """Extended resources first, then claims to be allocated, then those that are."""
        wanted, nodes = state.demand, snapshot.nodes
        size = nodes.live[rows].size
        if wanted.stale is not None:
            return np.full(size, CODE_OF[STALE_CLAIM])
        ways = wanted.alternatives(nodes, rows)
        codes: Codes = np.where(ways < 0, CODE_OF[CANNOT_FIT], 0)
        for place, code in self._search(state, snapshot, filter_code).run(ways, rows):
            codes[place] = code
        for _, away in wanted.unavailable(nodes, rows):
            codes[(codes == 0) & away] = CODE_OF[NOT_AVAILABLE]
        if state.waits:
            codes[codes == 0] = CODE_OF[CANNOT_ALLOCATE]
        return codes

    def explain(self, state: DynamicResourcesState, code: int) -> Why:
        if code < 0:
            return ((CANNOT_JUDGE, [*state.faults][-1 - code]),)
        return (
            ((ALTERNATIVES_FAILED, [*state.excluded][code - FIRST_EXCLUSION_CODE]),)
            if code >= FIRST_EXCLUSION_CODE
            else ((NODE_REASONS[code - 1], ""),)
        )

    def adjust(
        self, state: DynamicResourcesState, other: Pod, row: int, sign: int, snapshot: Snapshot
    ) -> DynamicResourcesState:
        """Beside what is kept for a nominated pod. Whoever leaves gives no devices back at once."""
        wanted = state.demand
        if (
            sign < 0
            or not (wanted.unallocated or wanted.resources)
            or not (other.spec.resource_claims or any(delegable(other)))
        ):
            return state
        kept = kept_devices(snapshot, self.args.search_seconds).get(other.metadata.uid)
        return state if kept is None else state.without_kept(kept)

    def prepare_score(self, pod: Pod, snapshot: Snapshot) -> PreFilterResult:
        """Only alternatives make a difference: without any to choose from there is no state."""
        prepared = self.pre_filter(pod, snapshot)
        chooses = prepared.state is not None and any(
            request.first_available
            for claim in prepared.state.demand.unallocated
            for request in claim.spec.devices.requests or ()
        )
        return PreFilterResult(
            SUCCESS, prepared.state if chooses else None, depends_on=prepared.depends_on
        )

    def score(self, state: DynamicResourcesState | None, snapshot: Snapshot, rows: Rows) -> Scores:
        """8 for each request that gets its first alternative, 7 for the second, and so on."""
        scores: Scores = np.zeros(snapshot.nodes.live[rows].size, np.int64)
        if state is not None:
            ways = state.demand.alternatives(snapshot.nodes, rows)
            for place, score in self._search(state, snapshot, alternatives_score).run(ways, rows):
                scores[place] = score
        return scores

    def normalize_score(self, state: DynamicResourcesState | None, raw: Scores) -> Scores:
        """The best node gets 100."""
        return default_normalize_score(raw)

    def reserve(self, pod: Pod, node: str, snapshot: Snapshot) -> ReserveResult:
        """Takes the devices, so that the next pod does not get them too."""
        prepared = self.pre_filter(pod, snapshot)
        row = snapshot.nodes.row_of[node]
        target = snapshot.nodes.nodes[row]
        if prepared.status.code is Code.SKIP or target is None:
            return ReserveResult(SUCCESS)
        if prepared.status.code is not Code.SUCCESS:
            return ReserveResult(prepared.status)
        wanted = with_nominated_pods(self, prepared.state, pod, snapshot).demand
        way = int(wanted.alternatives(snapshot.nodes, np.array([row]))[0])
        try:
            order = None if self.ordering is None else self.ordering.candidate_order(snapshot)
            seconds = self.args.search_seconds
            found = wanted.find(target, way, seconds, snapshot.budget, order)
            allocations = wanted.allocations(found, target) if found is not None else ()
        except (AllocationError, QuantityError, AllocationTimeout) as error:
            return ReserveResult(error_status(str(error)))
        if found is None:
            return ReserveResult(error_status("claim allocation not found for node"))
        seconds = parse_signed(self.args.binding_timeout)
        return reserve_devices(wanted, found, allocations, seconds, snapshot.store)

    def post_filter(self, pod: Pod, attempt: FailedAttempt) -> PostFilterResult:
        """A claim that nobody else has reserved can give its devices back, if it kept the pod from
        a node.
        """
        return propose(release_for_pod(pod, self._lost_claims(pod, attempt)))

    def look_at_member(self, pod: Pod, group: GroupSpec, attempt: FailedAttempt) -> LostClaims:
        """The claims that keep a member from nodes, as far as it or its group alone has them."""
        return self._lost_claims(pod, attempt, group.uid)

    def pod_group_post_filter(self, attempt: FailedGroupAttempt) -> PodGroupPostFilterResult:
        """Claims of members, or else one of the group, may give their devices back."""
        return release_for_group(attempt)

    # ---- inside ----------------------------------------------------------------------------------

    def _search(
        self, state: DynamicResourcesState, snapshot: Snapshot, judge: JudgeFn
    ) -> NodeSearch:
        return NodeSearch(state, snapshot, self.args.search_seconds, judge=judge)

    def _lost_claims(self, pod: Pod, attempt: FailedAttempt, group: str = "") -> LostClaims:
        """The claims that nobody but this pod, or its group (UID), has reserved, and that can't be
        used on a node which this plugin refused for it.
        """
        prepared = self.pre_filter(pod, attempt.snapshot)
        if prepared.status.code is not Code.SUCCESS:
            return LostClaims()
        wanted: DeviceDemand = prepared.state.demand
        mine = [
            claim
            for claim in wanted.claims
            if claim.status.allocation is not None
            and not wanted.ledger.is_assumed(claim)
            and any(can_be_deallocated(claim, uid) for uid in (pod.metadata.uid, group))
        ]
        if not mine or wanted.stale is not None:
            return LostClaims(stale=wanted.stale)
        unavailable = self._unavailable(wanted, attempt)
        return LostClaims(tuple(claim for claim in mine if claim in unavailable))

    def _unavailable(self, wanted: DeviceDemand, attempt: FailedAttempt) -> list[ResourceClaim]:
        """The claims whose devices can't be used on nodes which this plugin rejected for that."""
        nodes = attempt.snapshot.nodes
        with attempt.dry_run() as what_if:
            answers = what_if.run_filters(np.flatnonzero(nodes.live))
        away = [
            row
            for row, one in answers.items()
            if one.plugin == self and one.code == CODE_OF[NOT_AVAILABLE]
        ]
        rows = np.array(away, np.intp)
        return [claim for claim, mask in wanted.unavailable(nodes, rows) if mask.any()]
