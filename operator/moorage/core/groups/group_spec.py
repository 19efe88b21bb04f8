"""Group specs: what a pod group asks for, whichever API says so.

A group asks by its PodGroup, or, where its API has none or there is none, by annotations of its
pods. Behind a ``GroupSpec`` nobody knows which API it was. All of this is pure: from a group, what
its pods say, and the store, follow its spec, or the reason why there is none.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Collection, Iterable, Mapping
from typing import Final, TypeAlias

from moorage.core.columns.store import Lister
from moorage.core.objects.pod_groups import (
    API,
    COSCHEDULING_API,
    KUEUE_API,
    MIN_MEMBER,
    TOTAL_COUNT,
    VOLCANO_API,
    CoschedulingPodGroup,
    GroupKey,
    Membership,
    PodGroup,
    PodGroupResourceClaim,
    VolcanoPodGroup,
    groups_named_by,
)
from moorage.core.objects.pods import Pod

AnyPodGroup: TypeAlias = PodGroup | CoschedulingPodGroup | VolcanoPodGroup

GROUP_KINDS: Final[Mapping[str, type[AnyPodGroup]]] = {
    API: PodGroup,
    COSCHEDULING_API: CoschedulingPodGroup,
    VOLCANO_API: VolcanoPodGroup,
}
"""The PodGroups of each API that has some."""
INITIALLY_SCHEDULED: Final = "PodGroupInitiallyScheduled"
"""The condition that says whether the minimum was ever met."""

_API_OF: Final[Mapping[type[AnyPodGroup], str]] = {kind: api for api, kind in GROUP_KINDS.items()}
_ANNOTATIONS: Final[Mapping[str, str]] = {COSCHEDULING_API: MIN_MEMBER, KUEUE_API: TOTAL_COUNT}
"""Where pods say how many members it takes."""
_MAX_SHOWN_CHARACTERS: Final = 40
"""Characters of an annotation that are shown."""
_MAX_DIGITS: Final = 10
"""A number with so many is none."""


@dataclasses.dataclass(frozen=True, slots=True)
class GroupSpec:
    """What a group asks for."""

    key: GroupKey
    min_count: int
    """Members that have to be placed together; 1 for a basic group."""
    priority: int
    """What it may displace is below this: the priority of its PodGroup; where the API has none, the
    lowest of its members.
    """
    uid: str = ""
    """Of its PodGroup; "" where pods alone say that there is a group."""
    is_gang: bool = True
    """Else it is a basic group: its members are placed as far as they fit."""
    preemption_policy: str | None = None
    """Its PodGroup's; None where that leaves it to the members."""
    disrupted_together: bool = False
    """Disruption mode all: its members are preempted all, or not at all."""
    topology_key: str = ""
    """The label of which all members' nodes have the same value; "" for any nodes."""
    claims: tuple[PodGroupResourceClaim, ...] = ()
    """Claims that its members share."""
    overdue_seconds: int | None = None
    """Seconds in vain after which that is told; None or 0: never."""
    generation: int | None = None
    """Of its PodGroup."""
    initially_scheduled: bool = False
    """Whether its PodGroup says that the minimum was met once."""

    @property
    def name(self) -> str:
        """``namespace/name``."""
        return str(self.key)

    @property
    def tie_breaker(self) -> str:
        """What ties between placements are broken by: its UID, its name where it has none."""
        return self.uid or self.name

    @property
    def is_kubernetes(self) -> bool:
        """Whether it is one of Kubernetes' API: that is scheduled to the letter as kube-scheduler
        does it, and has a condition. Else its members may differ in priority and preemption policy,
        and are told who is missing.
        """
        return self.key.api == API


def key_of(declared: AnyPodGroup) -> GroupKey:
    """Which group a PodGroup declares."""
    return GroupKey(_API_OF[type(declared)], declared.metadata.namespace, declared.metadata.name)


def declaration_of(key: GroupKey, store: Lister) -> AnyPodGroup | None:
    """The PodGroup of a group, if there is one."""
    kind = GROUP_KINDS.get(key.api)
    return None if kind is None else store.objects(kind).get(str(key))


def group_spec(key: GroupKey, said: Iterable[Membership], store: Lister) -> GroupSpec | None:
    """What a group asks for, members of which say this; None while nothing says so, or where it
    cannot be scheduled (``why_no_spec``).
    """
    said = tuple(said)
    lowest = min((member.priority for member in said), default=0)
    match declaration_of(key, store):
        case PodGroup() as declared:
            return _kubernetes_spec(key, declared)
        case CoschedulingPodGroup(metadata=metadata, spec=spec):
            return GroupSpec(
                key,
                spec.min_member,
                lowest,
                metadata.uid,
                overdue_seconds=spec.schedule_timeout_seconds,
                generation=metadata.generation,
            )
        case VolcanoPodGroup(metadata=metadata, spec=volcano):
            return GroupSpec(
                key, volcano.min_member, lowest, metadata.uid, generation=metadata.generation
            )
    asks = {member.asked for member in said if member.asked}
    if key.api not in _ANNOTATIONS or not asks or not all(map(_is_number, asks)):
        return None
    return GroupSpec(key, max(map(int, asks)), lowest)


def why_no_spec(
    key: GroupKey, said: Iterable[Membership], store: Lister, unserved: Collection[str]
) -> str:
    """Why nothing is known of a group (``group_spec`` gives None), and what to do. ``unserved``:
    the APIs that the API server does not have.
    """
    declared = declaration_of(key, store)
    if isinstance(declared, PodGroup):
        parent = declared.spec.parent_composite_pod_group_name
        return (
            f'pod group "{key}" belongs to the CompositePodGroup {parent!r}, and groups of groups '
            f"are not scheduled; use a PodGroup without spec.parentCompositePodGroupName"
        )
    if key.api in _ANNOTATIONS:
        return f'pod group "{key}": {_why_no_minimum(key, said, unserved)}'
    missing = f"waiting for pods's pod group {_quoted(key.name)} to appear in scheduling queue"
    if key.api in unserved:
        return f"{missing}: the API server does not serve PodGroups of {key.api}{_SERVING[key.api]}"
    return f"{missing}: there is no PodGroup {key} ({key.api})"


def other_groups_note(pod: Pod) -> str:
    """What is said of groups that a pod names beside the one that it is a member of."""
    others = groups_named_by(pod)[1:]
    if not others:
        return ""
    named = ", ".join(f"{other} ({other.api})" for other in others)
    return f"; the pod also names {named}, which does not count"


# ---- inside --------------------------------------------------------------------------------------

_SERVING: Final[Mapping[str, str]] = {
    API: (
        f" (Kubernetes 1.37 with feature gate GenericWorkload and --runtime-config={API}=true does)"
    ),
    VOLCANO_API: " (its CustomResourceDefinition is Volcano's)",
}
"""What it takes for an API to be served."""


def _kubernetes_spec(key: GroupKey, declared: PodGroup) -> GroupSpec | None:
    metadata, spec = declared.metadata, declared.spec
    if spec.parent_composite_pod_group_name:
        return None
    gang, constraints = spec.scheduling_policy.gang, spec.scheduling_constraints
    topology = (constraints.topology if constraints is not None else None) or ()
    return GroupSpec(
        key,
        gang.min_count if gang is not None else 1,
        spec.priority or 0,
        metadata.uid,
        is_gang=gang is not None,
        preemption_policy=spec.preemption_policy,
        disrupted_together=spec.disrupted_together,
        topology_key=topology[0].key if topology else "",
        claims=spec.resource_claims or (),
        generation=metadata.generation,
        initially_scheduled=any(
            one.type == INITIALLY_SCHEDULED and one.status == "True"
            for one in declared.status.conditions or ()
        ),
    )


def _why_no_minimum(key: GroupKey, said: Iterable[Membership], unserved: Collection[str]) -> str:
    annotation = _ANNOTATIONS[key.api]
    asks = (member.asked for member in said)
    wrong = next((ask for ask in asks if ask and not _is_number(ask)), None)
    if wrong is not None:
        return (
            f"annotation {annotation} is {wrong[:_MAX_SHOWN_CHARACTERS]!r}; write a whole number, "
            f'as in {annotation}: "3"'
        )
    remedy = f"give its pods the annotation {annotation}"
    if key.api in GROUP_KINDS and key.api not in unserved:
        remedy = f"create the PodGroup {key} ({key.api}) with spec.minMember, or {remedy}"
    return f"nothing says how many members it takes; {remedy}"


def _is_number(text: str) -> bool:
    return text.isascii() and text.isdecimal() and len(text) < _MAX_DIGITS


def _quoted(name: str) -> str:
    return f'"{name}"'
