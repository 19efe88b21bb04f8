"""Pods on nodes: what the columns keep of each, and many of them added up at once."""

from __future__ import annotations

import dataclasses
import enum
from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Sequence

import numpy as np
import numpy.typing as npt

from moorage.core.columns.nodes.node_columns import NodeColumns
from moorage.core.objects.meta import PartialObject
from moorage.core.objects.pods import Pod
from moorage.core.pods.requests import BASIC, Requests, basic_amounts
from moorage.core.volumes.pod_volumes import NO_VOLUMES, PodVolumeUse, volumes_of

_COPIED = frozenset({"topology.kubernetes.io/region", "topology.kubernetes.io/zone"})


class PodBatch:
    """Many pods, what they take added up at once.

    ``ports`` and ``volumes``: those of the pods that have any, by place.
    """

    def __init__(self, records: Sequence[PodInfo], nodes: NodeColumns) -> None:
        self.records = records
        rows = [nodes.row_of[record.node] for record in records]
        self.rows: npt.NDArray[np.intp] = np.array(rows, np.intp)
        requests = [record.requests for record in records]
        # pods of one template share what they ask for
        distinct = {id(one): one for one in requests}
        kinds = {one: kind for kind, one in enumerate(distinct)}
        self._kinds = len(kinds)
        self._kind_of = np.array([kinds[id(one)] for one in requests], np.intp)
        self._others = _others_by_kind(distinct.values(), nodes.resources.names)
        basic = np.array([basic_amounts(one) for one in distinct.values()], np.int64)
        self.amounts = basic.reshape(-1, len(BASIC)).T.take(self._kind_of, axis=1)
        nonzero = [(one.nonzero_cpu, one.nonzero_memory) for one in distinct.values()]
        self.non_zero_requested = np.array(nonzero, np.int64).reshape(-1, 2).T[:, self._kind_of]
        self.volumes = {i: record.volumes for i, record in enumerate(records) if record.volumes}
        self.ports = {i: one.ports for i, one in enumerate(requests) if one.ports}

    def others(
        self, which: npt.NDArray[np.intp]
    ) -> Iterator[tuple[str, npt.NDArray[np.intp], npt.NDArray[np.int64]]]:
        """The other resources that some of these pods take: on which rows, and how much for each
        pod that does.
        """
        kind_of = self._kind_of[which] if self._others else self._kind_of
        for resource, by_kind in self._others.items():
            per_kind = np.zeros(self._kinds, np.int64)
            per_kind[list(by_kind)] = list(by_kind.values())
            amounts = per_kind[kind_of]
            takers = np.flatnonzero(amounts)
            if takers.size:
                yield resource, self.rows[which[takers]], amounts[takers]


def _others_by_kind(
    distinct: Iterable[Requests], known: Collection[str]
) -> dict[str, dict[int, int]]:
    """Of each resource that nodes have, but for the basic ones: how much each kind takes."""
    others: dict[str, dict[int, int]] = {}
    for kind, requests in enumerate(distinct):
        for resource, amount in requests.others:
            if resource in known and resource not in BASIC:
                others.setdefault(resource, {})[kind] = amount
    return others


def fits_with(record: PodInfo, others: Sequence[PodInfo], nodes: NodeColumns) -> bool:
    """Whether a pod's node has of everything what it asks for, when these others are there.

    Of other resources than the basic ones, only those that the node has: none is asked of it where
    devices or somebody else see to that.
    """
    has = nodes.amounts_on(nodes.row_of[record.node])
    taken = Counter[str]()
    for each in (*others, record):
        taken.update(dict(_amounts(each.requests)))
    mine = [resource for resource, amount in _amounts(record.requests) if amount]
    return all(
        taken[resource] <= has[resource][0]
        for resource in mine
        if resource in BASIC or has.get(resource, (0, 0))[0]
    )


def _amounts(requests: Requests) -> Iterator[tuple[str, int]]:
    yield from (("cpu", requests.cpu), ("memory", requests.memory), ("pods", 1), *requests.others)


class PodState(enum.Enum):
    """Whether the API server has shown the pod on its node."""

    ASSUMED = "assumed"
    OBSERVED = "observed"


@dataclasses.dataclass(slots=True)
class PodInfo:
    """A pod on a node: the object, where it is, what it takes there and how we know; ``volumes``
    are those that placement looks at. What is known of a pod later is another one: whoever keeps
    this keeps what was known then.

    ``preempted``: we had it told to go, which the watch may not show yet. ``stuck``: it was told to
    go long ago and does not, so nobody may count on its room. ``held``: nominated as a member of a
    gang that room is held for, which pods of its own priority may take.
    """

    pod: Pod | PartialObject
    node: str
    requests: Requests
    state: PodState
    preempted: bool = False
    stuck: bool = False
    held: bool = False
    volumes: PodVolumeUse = dataclasses.field(init=False)

    @property
    def is_leaving(self) -> bool:
        """Whether it was told to go, by us or by anybody."""
        return self.preempted or self.pod.metadata.deletion_timestamp is not None

    def __post_init__(self) -> None:
        self.volumes = (
            volumes_of(self.pod)
            if isinstance(self.pod, Pod) and self.pod.spec.volumes
            else NO_VOLUMES
        )


def confirms(assumed: PodInfo, seen: PodInfo) -> bool:
    """Whether a pod is seen as it was assumed, but for the labels of its node that the API server
    copies to it as it binds it (admission plugin PodTopologyLabels, KEP-4742).
    """
    mine, its = assumed.pod.metadata.labels or {}, seen.pod.metadata.labels or {}
    own = {name: value for name, value in its.items() if name in mine or name not in _COPIED}
    return (
        assumed.state is PodState.ASSUMED
        and assumed.requests == seen.requests
        and own == mine
        and _count_alike_but_for_labels(assumed.pod, seen.pod)
    )


def counts_alike(one: Pod | PartialObject, other: Pod | PartialObject) -> bool:
    """Whether two states of a pod count alike for selectors and terms."""
    return one.metadata.labels == other.metadata.labels and _count_alike_but_for_labels(one, other)


def _count_alike_but_for_labels(one: Pod | PartialObject, other: Pod | PartialObject) -> bool:
    mine, its = one.metadata, other.metadata
    return (
        (mine.deletion_timestamp is None) == (its.deletion_timestamp is None)
        and isinstance(one, Pod) == isinstance(other, Pod)
        and (
            not isinstance(one, Pod) or not isinstance(other, Pod) or _specs_count_alike(one, other)
        )
    )


def _specs_count_alike(one: Pod, other: Pod) -> bool:
    mine, its = one.spec, other.spec
    said = one.metadata.annotations == other.metadata.annotations  # the minimum of its group
    return (
        said
        and mine.scheduling_group == its.scheduling_group
        and (mine.affinity, mine.priority, mine.volumes)
        == (its.affinity, its.priority, its.volumes)
    )
