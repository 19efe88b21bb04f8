"""Changes to a pod: less of a resource, one more toleration, a requirement on nodes less.

A family is all changes of one kind, from the smallest to the one that gives up everything it can
(``most``). Whether a pod fits is asked of the cycle; the search takes it for granted only that a
request which fits still fits when it is smaller.
"""

from __future__ import annotations

import itertools
from collections import Counter
from collections.abc import Callable, Collection, Iterator
from typing import NamedTuple, Protocol, TypeAlias, TypeVar

import msgspec

from kubefacts.quantities import NANO, nanos
from moorage.core.columns.snapshot import Snapshot
from moorage.core.explaining.searches import Search
from moorage.core.objects.meta import ResourceList
from moorage.core.objects.nodes import LIFECYCLE_TAINTS, Taint
from moorage.core.objects.pods import Container, Pod, ResourceRequirements, Toleration
from moorage.core.objects.selector_terms import NodeSelector, NodeSelectorTerm, Requirement
from moorage.core.pods.node_selection import required_node_selector, untolerated_taints
from moorage.core.pods.requests import FIT, pod_amounts

T = TypeVar("T")
Fits: TypeAlias = Callable[[Pod], bool]
MAX_TRIED = 64
"""Changes of one family that are tried."""
MAX_FOUND = 3
"""Changes of one family that are found: more would be no help."""
MAX_AT_ONCE = 3
"""Tolerations, or requirements, in one change."""
_REPLACE = msgspec.structs.replace


# ---- requests ------------------------------------------------------------------------------------


class RequestChange(NamedTuple):
    """No container asks for more of a resource than ``limit``, nor does the pod as a whole.

    ``before`` and ``after`` are what the pod comes to; all in the node table's unit.
    """

    resource: str
    limit: int
    before: int
    after: int

    def apply(self, pod: Pod) -> Pod:
        return _limited(pod, self.resource, self.limit)


class RequestFamily(NamedTuple):
    """Less of one resource."""

    resource: str

    def most(self, pod: Pod) -> Pod:
        return _limited(pod, self.resource, 0)

    def smallest(self, pod: Pod, fits: Fits) -> Search[PodChange]:
        """The greatest limit that will do; for one more, the pod does not fit."""
        return Search([self.resource], lambda _: self._greatest(pod, fits), most=1, expected=1)

    def _greatest(self, pod: Pod, fits: Fits) -> RequestChange | None:
        low, high = 0, _largest(pod, self.resource)
        if not high or not fits(self.most(pod)):
            return None
        while high - low > 1:
            middle = (low + high) // 2
            if fits(_limited(pod, self.resource, middle)):
                low = middle
            else:
                high = middle
        return self._change(pod, low)

    def _change(self, pod: Pod, limit: int) -> RequestChange:
        """This limit, and what comes of it."""
        before, after = (
            pod_amounts(one, FIT).get(self.resource, 0)
            for one in (pod, _limited(pod, self.resource, limit))
        )
        return RequestChange(self.resource, limit, before, after)


def _request_families(pod: Pod) -> list[RequestFamily]:
    """Of what the pod asks for."""
    return [RequestFamily(name) for name, amount in pod_amounts(pod, FIT).items() if amount]


def request_lists(pod: Pod) -> Iterator[tuple[str, ResourceList]]:
    """What the pod's containers and the pod ask for, each with its path."""
    for field, containers in (
        ("containers", pod.spec.containers),
        ("initContainers", pod.spec.init_containers),
    ):
        for i, container in enumerate(containers or ()):
            yield f"/spec/{field}/{i}/resources/requests", _asked(container.resources)
    yield "/spec/resources/requests", _asked(pod.spec.resources)


def _asked(resources: ResourceRequirements | None) -> ResourceList:
    return (resources.requests if resources is not None else None) or {}


def _unit(resource: str) -> int:
    """Nano-units in a unit of the node table."""
    return NANO // 1000 if resource == "cpu" else NANO


def _largest(pod: Pod, resource: str) -> int:
    """The most that any of them asks for."""
    found = [nanos(one[resource]) for _, one in request_lists(pod) if resource in one]
    return max((-(-amount // _unit(resource)) for amount in found), default=0)


def _limited(pod: Pod, resource: str, limit: int) -> Pod:
    """The pod with no request for more than that."""
    spec = pod.spec
    limited = _REPLACE(
        spec,
        containers=_limited_containers(spec.containers, resource, limit),
        init_containers=_limited_containers(spec.init_containers, resource, limit),
        resources=_limited_resources(spec.resources, resource, limit),
    )
    return _REPLACE(pod, spec=limited)


def _limited_containers(
    containers: tuple[Container, ...] | None, resource: str, limit: int
) -> tuple[Container, ...] | None:
    if containers is None:
        return None
    return tuple(
        _REPLACE(one, resources=_limited_resources(one.resources, resource, limit))
        for one in containers
    )


def _limited_resources(
    resources: ResourceRequirements | None, resource: str, limit: int
) -> ResourceRequirements | None:
    asked = _asked(resources)
    if (
        resources is None
        or resource not in asked
        or nanos(asked[resource]) <= limit * _unit(resource)
    ):
        return resources
    quantity = f"{limit}m" if resource == "cpu" else str(limit)
    return _REPLACE(resources, requests={**asked, resource: quantity})


# ---- tolerations ---------------------------------------------------------------------------------


class TolerationChange(NamedTuple):
    """Tolerate these taints too."""

    taints: tuple[Taint, ...]

    def apply(self, pod: Pod) -> Pod:
        added = tuple(
            Toleration(taint.key, "Equal", taint.value, taint.effect) for taint in self.taints
        )
        tolerations = (*(pod.spec.tolerations or ()), *added)
        return _REPLACE(pod, spec=_REPLACE(pod.spec, tolerations=tolerations))


class TolerationFamily(NamedTuple):
    """Tolerations of the taints that nodes have."""

    snapshot: Snapshot

    def most(self, pod: Pod) -> Pod:
        return TolerationChange(tuple(itertools.chain.from_iterable(self._sets(pod)))).apply(pod)

    def smallest(self, pod: Pod, fits: Fits) -> Search[PodChange]:
        """Sets of taints as nodes have them; of those of one size first what most nodes have."""

        def attempt(taints: tuple[Taint, ...]) -> TolerationChange | None:
            helps = _is_minimal(taints, lambda some: fits(TolerationChange(some).apply(pod)))
            return TolerationChange(taints) if helps else None

        some = self._sets(pod)[:MAX_TRIED]
        return Search(some, attempt, most=MAX_FOUND, expected=len(some))

    def _sets(self, pod: Pod) -> list[tuple[Taint, ...]]:
        """What nodes have that the pod does not tolerate, those that are tried first in front."""
        nodes, tolerations = self.snapshot.nodes, pod.spec.tolerations or ()
        untolerated = Counter[tuple[Taint, ...]]()
        for code, count in Counter(nodes.taint_set[[*nodes.row_of.values()]].tolist()).items():
            taints = set(untolerated_taints(nodes.taint_sets[code], tolerations))
            untolerated[tuple(sorted(taints, key=_by_text))] += count
        wanted = (
            taints
            for taints in untolerated
            if 0 < len(taints) <= MAX_AT_ONCE
            and not any(taint.key.startswith(LIFECYCLE_TAINTS) for taint in taints)
        )
        return sorted(wanted, key=lambda one: (len(one), -untolerated[one], [*map(_by_text, one)]))


def _by_text(taint: Taint) -> tuple[str, str, str]:
    return taint.key, taint.value, taint.effect


# ---- requirements on nodes -----------------------------------------------------------------------


class NodeRequirement(NamedTuple):
    """One thing that a pod requires of nodes: a key of nodeSelector (``term`` None), or a
    requirement of a term of its required node affinity, by its place among labels, then fields.
    """

    term: int | None
    place: int
    text: str


class RequirementChange(NamedTuple):
    """Without these requirements. A term of node affinity without any would match no node: then the
    pod requires none of the terms.
    """

    dropped: tuple[NodeRequirement, ...]

    def apply(self, pod: Pod) -> Pod:
        spec = pod.spec
        keys = {one.text for one in self.dropped if one.term is None}
        selector = {
            key: value for key, value in (spec.node_selector or {}).items() if key not in keys
        }
        changed = _REPLACE(pod, spec=_REPLACE(spec, node_selector=selector or None))
        return _with_terms(changed, {one[:2] for one in self.dropped})


class RequirementFamily:
    """Without some of what a pod requires of nodes."""

    def most(self, pod: Pod) -> Pod:
        return RequirementChange(tuple(node_requirements(pod))).apply(pod)

    def smallest(self, pod: Pod, fits: Fits) -> Search[PodChange]:
        """One requirement less, or two, or three."""

        def attempt(dropped: tuple[NodeRequirement, ...]) -> RequirementChange | None:
            helps = _is_minimal(dropped, lambda some: fits(RequirementChange(some).apply(pod)))
            return RequirementChange(dropped) if helps else None

        every = list(node_requirements(pod))
        sets = itertools.chain.from_iterable(
            itertools.combinations(every, size) for size in range(1, MAX_AT_ONCE + 1)
        )
        some = list(itertools.islice(sets, MAX_TRIED))
        return Search(some, attempt, most=MAX_FOUND, expected=len(some))


def node_requirements(pod: Pod) -> Iterator[NodeRequirement]:
    """All that a pod requires of nodes by labels and names."""
    for key in pod.spec.node_selector or ():
        yield NodeRequirement(None, 0, key)
    required = required_node_selector(pod)
    for i, term in enumerate((required.node_selector_terms if required else None) or ()):
        both = (*(term.match_expressions or ()), *(term.match_fields or ()))
        for j, one in enumerate(both):
            values = f" {','.join(one.values)}" if one.values else ""
            yield NodeRequirement(i, j, f"{one.key} {one.operator}{values}")


def _with_terms(pod: Pod, dropped: set[tuple[int | None, int]]) -> Pod:
    """The pod without these requirements of terms, each (term, place)."""
    affinity, required = pod.spec.affinity, required_node_selector(pod)
    touched = {term for term, _ in dropped if term is not None}
    if not touched or affinity is None or affinity.node_affinity is None or required is None:
        return pod
    terms = tuple(
        _kept(i, term, dropped) for i, term in enumerate(required.node_selector_terms or ())
    )
    emptied = any(terms[i] == NodeSelectorTerm() for i in touched)
    node_affinity = _REPLACE(
        affinity.node_affinity,
        required_during_scheduling_ignored_during_execution=None
        if emptied
        else NodeSelector(terms),
    )
    changed = _REPLACE(affinity, node_affinity=node_affinity)
    return _REPLACE(pod, spec=_REPLACE(pod.spec, affinity=changed))


def _kept(i: int, term: NodeSelectorTerm, dropped: set[tuple[int | None, int]]) -> NodeSelectorTerm:
    labels, fields = term.match_expressions or (), term.match_fields or ()

    def left(requirements: tuple[Requirement, ...], first: int) -> tuple[Requirement, ...] | None:
        return (
            tuple(one for j, one in enumerate(requirements, first) if (i, j) not in dropped) or None
        )

    return NodeSelectorTerm(left(labels, 0), left(fields, len(labels)))


def _is_minimal(some: Collection[T], fits: Callable[[tuple[T, ...]], bool]) -> bool:
    """Whether the pod fits with all of these, and with no part of them."""
    if not fits(tuple(some)):
        return False
    parts = (itertools.combinations(some, size) for size in range(1, len(some)))
    return not any(map(fits, itertools.chain.from_iterable(parts)))


# ---- all of them ---------------------------------------------------------------------------------

PodChange: TypeAlias = RequestChange | TolerationChange | RequirementChange


class PodChangeFamily(Protocol):
    """All changes of a kind to one pod."""

    def most(self, pod: Pod) -> Pod:
        """The pod without anything that changes of this kind can take from it."""

    def smallest(self, pod: Pod, fits: Fits) -> Search[PodChange]:
        """The smallest changes with which the pod fits, of which no part would do."""


def families_of(pod: Pod, snapshot: Snapshot) -> tuple[PodChangeFamily, ...]:
    """All that is tried for a pod."""
    return (*_request_families(pod), TolerationFamily(snapshot), RequirementFamily())
