"""Resource sums: what a pod comes to, resource by resource, by the shape of its containers.

All of it is exact, in nano-units. Source: component-helpers ``PodRequests`` (v1.37).
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple, TypeAlias

from kubefacts.quantities import nanos

Defaults: TypeAlias = Mapping[str, tuple[str, int]]
"""Under which name a resource is counted in each container, and how much of it in one that does not
name it. (Resource, default).
"""
DEFAULTS = {"cpu": 100 * 10**6, "memory": 200 * 2**20 * 10**9}
INSTEAD: Defaults = {name: (name, amount) for name, amount in DEFAULTS.items()}
BESIDE: Defaults = {f"{name} or its default": (name, amount) for name, amount in DEFAULTS.items()}

Items: TypeAlias = tuple[tuple[str, str | int], ...]


class ContainerKind(NamedTuple):
    """How a container runs."""

    init: bool
    sidecar: bool


APP, INIT, SIDECAR = (
    ContainerKind(False, False),
    ContainerKind(True, False),
    ContainerKind(True, True),
)


Containers: TypeAlias = tuple[tuple[ContainerKind, Items], ...]


class RequestShape(NamedTuple):
    """All of a pod that its amounts depend on, hashable. Of several lists for one thing, the larger
    amounts count.
    """

    containers: tuple[Containers, ...]
    """The same containers, by what is asked for and what they have."""
    given: tuple[Items, ...]
    """What the kubelet says of all containers together."""
    pod_level: tuple[Items, ...]
    """Requests of the pod itself; empty where it has none."""
    overhead: Items

    @property
    def words(self) -> int:
        """About how many names and quantities stand in it."""
        of_containers = (items for listed in self.containers for _, items in listed)
        lists = *of_containers, *self.given, *self.pod_level, self.overhead
        return 2 * (sum(map(len, self.containers)) + sum(map(len, lists)))


def total_of(shape: RequestShape, defaults: Defaults) -> dict[str, int]:
    """A pod's amounts in nano-units, added up as the docstring of ``requests`` says."""
    total: dict[str, int] = {}
    for containers in shape.containers:
        _raise_to(total, _sum_of(containers, defaults))
    for items in shape.given:
        amounts = _amounts(items)
        named = {counted: amounts[n] for counted, (n, _) in defaults.items() if n in amounts}
        _raise_to(total, amounts | named)
    level: dict[str, int] = {}
    for items in shape.pod_level:
        _raise_to(level, _amounts(items))
    total.update((name, amount) for name, amount in level.items() if counts_for_pods(name))
    _add(total, _amounts(shape.overhead))
    return total


def counts_for_pods(resource: str) -> bool:
    """Whether a pod itself can ask for it, in the place of its containers."""
    return resource in DEFAULTS or resource.startswith("hugepages-")


def _sum_of(containers: Containers, defaults: Defaults) -> dict[str, int]:
    """The sum of those that run, or what the init containers need at a time, if that is more."""
    total: dict[str, int] = {}
    sidecars: dict[str, int] = {}
    peak: dict[str, int] = {}
    for kind, items in containers:
        amounts = _amounts(items)
        for counted_as, (name, default) in defaults.items():
            amounts[counted_as] = amounts.get(name, default)
        # of what it does not name, the sidecars take no more now than they all do together
        if kind is INIT:
            for name, amount in amounts.items():
                peak[name] = max(peak.get(name, 0), amount + sidecars.get(name, 0))
            continue
        _add(total, amounts)
        if kind is SIDECAR:
            _add(sidecars, amounts)
    _raise_to(total, peak)
    return total


def _amounts(items: Items) -> dict[str, int]:
    return {name: nanos(quantity) for name, quantity in items}


def _add(total: dict[str, int], amounts: Mapping[str, int]) -> None:
    if not total:
        total.update(amounts)
        return
    for name, amount in amounts.items():
        total[name] = total.get(name, 0) + amount


def _raise_to(target: dict[str, int], amounts: Mapping[str, int]) -> None:
    for name, amount in amounts.items():
        if name not in target or amount > target[name]:
            target[name] = amount
