"""Resources, naively: one pod, one node, fractions and plain loops. What NodeResourcesFit and
BalancedAllocation must agree with.
"""

from __future__ import annotations

import itertools
import math
import re
from collections.abc import Iterable
from fractions import Fraction

from moorage.core.framework.utilization_shape import UtilizationShapePoint
from moorage.core.objects.meta import ResourceList
from moorage.core.objects.nodes import Node
from moorage.core.objects.pods import Container, Pod
from moorage.core.plugins.node_resources.fit_arguments import (
    NodeResourcesFitArgs,
)

SUFFIXES = {
    "n": Fraction(1, 10**9),
    "u": Fraction(1, 10**6),
    "m": Fraction(1, 1000),
    "": Fraction(1),
    "k": Fraction(10**3),
    "M": Fraction(10**6),
    "G": Fraction(10**9),
    "T": Fraction(10**12),
    **{letter + "i": Fraction(1024 ** (i + 1)) for i, letter in enumerate("KMGTPE")},
}
DEFAULTS = {"cpu": Fraction(1, 10), "memory": Fraction(200 * 1024 * 1024)}
Sums = dict[str, Fraction]


def amount(quantity: str | int) -> Fraction:
    """A quantity with a suffix as a fraction, rounded up to a billionth."""
    number, suffix = re.fullmatch(r"([0-9.]*)([A-Za-z]*)", str(quantity)).groups()  # type: ignore[union-attr]
    return Fraction(math.ceil(Fraction(number) * SUFFIXES[suffix] * 10**9), 10**9)


def whole(resource: str, value: Fraction) -> int:
    """Millicores, or whole units."""
    return math.ceil(value * 1000 if resource == "cpu" else value)


def amounts(resources: ResourceList | None) -> Sums:
    """A list of requests."""
    return {name: amount(quantity) for name, quantity in (resources or {}).items()}


def infeasible(pod: Pod) -> bool:
    """Whether the pod's resize can't be done."""
    pending = [
        condition.reason
        for condition in pod.status.conditions or ()
        if condition.type == "PodResizePending"
    ]
    return pending[:1] == ["Infeasible"]


def container_asks(pod: Pod, container: Container, what: str, *, defaults: bool) -> Sums:
    """What a container counts for: "asked", "allocated" or "actuated"."""
    lists = [container.resources.requests if container.resources else None]
    if what != "asked" and infeasible(pod):
        lists = []
    everyone = (*(pod.status.container_statuses or ()), *(pod.status.init_container_statuses or ()))
    for given in [one for one in everyone if one.name == container.name][:1]:
        if what != "asked":
            lists.insert(0, given.allocated_resources)
        if what == "actuated" and given.resources is not None:
            lists.insert(0, given.resources.requests)
    found = amounts(next((one for one in lists if one is not None), None))
    return {**DEFAULTS, **found} if defaults else found


def largest(lists: Iterable[Sums]) -> Sums:
    """The largest of each."""
    lists = list(lists)
    return {name: max(one[name] for one in lists if name in one) for one in lists for name in one}


def added(lists: Iterable[Sums]) -> Sums:
    """The sum of each."""
    lists = list(lists)
    return {
        name: sum((one.get(name, Fraction(0)) for one in lists), Fraction(0))
        for one in lists
        for name in one
    }


def asks(
    pod: Pod, *, status: bool = False, pod_level: bool = True, defaults: bool = False
) -> dict[str, int]:
    """What a pod counts for: by what is asked for, or the most of that and of what it has."""
    totals = [_at_most(pod, "asked", defaults=defaults)]
    said = pod.status
    running = said.resources.requests if said.resources else None
    if status:
        if infeasible(pod):
            totals = []
        if said.allocated_resources is not None and running is not None:
            totals += [amounts(said.allocated_resources), amounts(running)]
        else:
            totals += [_at_most(pod, what, defaults=defaults) for what in ("allocated", "actuated")]
    total = largest(totals)
    level = amounts(pod.spec.resources.requests if pod.spec.resources and pod_level else None)
    if any(map(_for_pods, level)) and status and said.resources is not None:
        given = [amounts(running), amounts(said.allocated_resources)]
        level = largest(given if infeasible(pod) else [level, *given])
    elif not any(map(_for_pods, level)):
        level = {}
    total |= {name: value for name, value in level.items() if _for_pods(name)}
    total = added([total, amounts(pod.spec.overhead)])
    return {name: whole(name, value) for name, value in total.items()}


def _for_pods(name: str) -> bool:
    return name in DEFAULTS or name.startswith("hugepages-")


def _at_most(pod: Pod, what: str, *, defaults: bool) -> Sums:
    """The most that runs at any moment of its life."""
    running = [
        container_asks(pod, one, what, defaults=defaults) for one in pod.spec.containers or ()
    ]
    moments: list[Sums] = []
    sidecars: list[Sums] = []
    for container in pod.spec.init_containers or ():
        one = container_asks(pod, container, what, defaults=defaults)
        moments.append(added([*sidecars, one]))
        if container.restart_policy == "Always":
            sidecars.append(one)
    return largest([added([*running, *sidecars]), *moments])


def asks_with_defaults(pod: Pod) -> dict[str, int]:
    """What a pod on a node counts for in scores."""
    plain = asks(pod, status=True)
    full = asks(pod, status=True, defaults=True)
    has_level = any(map(_for_pods, pod.spec.resources.requests or {} if pod.spec.resources else {}))
    # then only what nobody named gets a default, which is what all containers together then make of
    # it
    if has_level:
        named = {name for name in DEFAULTS if name in plain}
        return {**full, **{name: plain[name] for name in named}}
    return full


def allocatable(node: Node) -> dict[str, int]:
    """What a node has."""
    return {name: whole(name, value) for name, value in amounts(node.status.allocatable).items()}


def refusals(
    pod: Pod, node: Node, there: list[Pod], args: NodeResourcesFitArgs
) -> list[tuple[str, bool]]:
    """(text, hopeless) of everything that the node lacks."""
    has = allocatable(node)
    found = [("Too many pods", False)] if len(there) + 1 > has.get("pods", 0) else []
    wanted = asks(pod)
    standard = [name for name in ("cpu", "memory", "ephemeral-storage") if name in wanted]
    for name in standard + sorted(set(wanted) - set(standard)):
        ignored = name in (args.ignored_resources or ()) or name.split("/")[0] in (
            args.ignored_resource_groups or ()
        )
        if ignored and "/" in name and "kubernetes.io/" not in name:
            continue
        taken = sum(asks(other, status=True).get(name, 0) for other in there)
        if wanted[name] and wanted[name] > has.get(name, 0) - taken:
            found.append((f"Insufficient {name}", wanted[name] > has.get(name, 0)))
    return found


def height(shape: tuple[UtilizationShapePoint, ...], percent: int) -> int:
    """The shape's score, 0..100, at a utilization."""
    if percent <= shape[0].utilization:
        return shape[0].score * 10
    for left, right in itertools.pairwise(shape):
        if percent <= right.utilization:
            rise = (right.score - left.score) * 10 * (percent - left.utilization)
            return left.score * 10 + math.trunc(
                Fraction(rise, right.utilization - left.utilization)
            )
    return shape[-1].score * 10


def fit_score(pod: Pod, node: Node, there: list[Pod], args: NodeResourcesFitArgs) -> int:
    """NodeResourcesFit's score."""
    strategy = args.scoring_strategy
    assert strategy is not None
    has, wanted = allocatable(node), asks(pod, pod_level=False, defaults=True)
    parts: list[tuple[int, int]] = []
    for spec in strategy.resources or ():
        scalar = spec.name not in ("cpu", "memory", "ephemeral-storage")
        capacity = has.get(spec.name, 0)
        if capacity == 0 or (scalar and not wanted.get(spec.name)):
            continue
        on_node = sum(
            (asks_with_defaults(p) if spec.name in DEFAULTS else asks(p, status=True)).get(
                spec.name, 0
            )
            for p in there
        )
        requested = on_node + wanted.get(spec.name, 0)
        weight = spec.weight or 1
        if strategy.type == "LeastAllocated":
            parts.append(
                (0 if requested > capacity else (capacity - requested) * 100 // capacity, weight)
            )
            continue
        used = 100 if requested > capacity else requested * 100 // capacity
        if strategy.type == "MostAllocated":
            parts.append((used, weight))
            continue
        assert strategy.requested_to_capacity_ratio is not None
        score = height(strategy.requested_to_capacity_ratio.shape or (), used)
        if score > 0:
            parts.append((score, weight))
    if not parts:
        return 0
    mean = Fraction(
        sum(score * weight for score, weight in parts), sum(weight for _, weight in parts)
    )
    return (
        math.floor(mean + Fraction(1, 2))
        if strategy.type == "RequestedToCapacityRatio"
        else math.floor(mean)
    )


def balance(fractions: list[float]) -> int:
    """How balanced the use of resources is, 50..100."""
    deviation = 0.0
    if len(fractions) == 2:
        deviation = abs((fractions[0] - fractions[1]) / 2)
    elif len(fractions) > 2:
        mean = sum(fractions) / len(fractions)
        deviation = math.sqrt(
            sum((one - mean) * (one - mean) for one in fractions) / len(fractions)
        )
    return int((1 - deviation) * 100)


def balanced_score(pod: Pod, node: Node, there: list[Pod], names: list[str]) -> int | None:
    """BalancedAllocation's score; None when it has no say about the pod."""
    has, wanted = allocatable(node), asks(pod, status=True)
    if not any(wanted.get(name) for name in names):
        return None
    before, after = [], []
    for name in names:
        scalar = name not in ("cpu", "memory", "ephemeral-storage")
        if not has.get(name) or (scalar and not wanted.get(name)):
            continue
        taken = sum(asks(other, status=True).get(name, 0) for other in there)
        before.append(min(1.0, taken / has[name]))
        after.append(min(1.0, (taken + wanted.get(name, 0)) / has[name]))
    return 50 + (50 + balance(after) - balance(before)) // 2
