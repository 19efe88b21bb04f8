"""Resource sums: what a pod comes to, resource by resource, by the shape of its containers.

All of it is exact, in nano-units. Source: component-helpers ``PodRequests`` (v1.36).
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


class RequestShape(NamedTuple):
    """All of a pod that its amounts depend on, hashable. Of several lists for one thing, the larger
    amounts count.
    """

    containers: tuple[tuple[ContainerKind, tuple[Items, ...]], ...]
    pod_level: tuple[Items, ...]
    replaced: tuple[str, ...]
    overhead: Items

    @property
    def words(self) -> int:
        """About how many names and quantities stand in it."""
        lists = (items for _, lists in self.containers for items in lists)
        return 2 * (
            len(self.containers)
            + len(self.overhead)
            + sum(map(len, lists))
            + sum(map(len, self.pod_level))
        )


def total_of(shape: RequestShape, defaults: Defaults) -> dict[str, int]:
    """A pod's amounts in nano-units, added up as the docstring of ``requests`` says."""
    total: dict[str, int] = {}
    sidecars: dict[str, int] = {}
    peak: dict[str, int] = {}
    for kind, lists in shape.containers:
        amounts = _largest(lists)
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
    if shape.replaced:
        level = _largest(shape.pod_level)
        total.update((name, level.get(name, 0)) for name in shape.replaced)
    _add(total, _largest((shape.overhead,)))
    return total


def _largest(lists: tuple[Items, ...]) -> dict[str, int]:
    """Per resource, the largest amount in any of the lists."""
    result = {name: nanos(quantity) for name, quantity in lists[0]}
    for items in lists[1:]:
        _raise_to(result, {name: nanos(quantity) for name, quantity in items})
    return result


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
