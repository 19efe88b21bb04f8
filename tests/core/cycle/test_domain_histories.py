"""Where groups go in random histories, against a plain model: groups come, grow and leave, nodes
come and are cordoned.

All members of a group ask for the same, so that it can be counted by hand who fits where.
"""

from __future__ import annotations

import dataclasses
from typing import Final, NamedTuple

from hypothesis import given, settings
from hypothesis import strategies as st

from moorage.core.columns.cache import Cache
from moorage.core.cycle.context import CycleContext, Decision
from moorage.core.cycle.group_attempt import GroupAttempt
from moorage.core.cycle.group_cycle import GroupResult, place_member, schedule_group
from moorage.core.framework.placement_contract import Placement
from moorage.core.groups.group_spec import GroupSpec
from moorage.core.objects.pod_groups import API, GroupKey
from moorage.core.objects.pods import Pod
from moorage.core.simulation.simulated_groups import finished
from tests.builders import make_node, make_pod
from tests.core.cycle.test_group_domains import profile
from tests.core.placement_strategies import mostly

KEYS: Final = ("example.com/rack", "example.com/block", "topology.kubernetes.io/zone")
WIDTH: Final = dict(zip(KEYS, (1, 2, 4), strict=True))
"""How many racks have the same value."""


class Come(NamedTuple):
    """A group of members of this size; it has to lie in a domain of ``KEYS[required]``, if any."""

    members: int
    size: int
    least: int
    required: int | None


class Grow(NamedTuple):
    """Members come to a group that runs."""

    group: int
    members: int


class Leave(NamedTuple):
    """A group ends."""

    group: int


class Add(NamedTuple):
    """A node of so many cores comes to a rack."""

    rack: int
    cores: int


class Cordon(NamedTuple):
    """A node takes nobody any more, or again."""

    node: int


@dataclasses.dataclass
class Running:
    """A group, and the nodes of its members."""

    spec: GroupSpec
    size: int
    placed: list[tuple[Pod, str]]


class History:
    """The cluster, and beside it the model: of each node its rack, what is free, and whether it is
    cordoned.
    """

    def __init__(self, keys: tuple[str, ...]) -> None:
        self.keys, self.by = keys, profile(*keys)
        self.context = CycleContext(Cache(), 7)
        self.rack: dict[str, int] = {}
        self.cores: dict[str, int] = {}
        self.free: dict[str, int] = {}
        self.cordoned: set[str] = set()
        self.groups: list[Running] = []
        self.pods = 0

    def step(self, event: Come | Grow | Leave | Add | Cordon) -> None:
        """Do it, and compare."""
        match event:
            case Come(members, size, least, required):
                name = f"g{self.pods}"
                key = "" if required is None else KEYS[required]
                spec = GroupSpec(
                    GroupKey(API, "default", name), min(least, members), 0, name, topology_key=key
                )
                self._attempt(Running(spec, size, []), members)
            case Grow(group, members) if self.groups:
                one = self.groups[group % len(self.groups)]
                one.spec = dataclasses.replace(one.spec, min_count=1)
                self._attempt(one, members)
            case Leave(group) if self.groups:
                gone = self.groups.pop(group % len(self.groups))
                for pod, node in gone.placed:
                    self.context.cache.forget(pod.metadata.uid)
                    self.free[node] += gone.size
            case Add(rack, cores):
                name = f"n{len(self.rack)}"
                self.rack[name], self.cores[name], self.free[name] = rack, cores, cores
                self._put(name)
            case Cordon(node) if self.rack:
                name = f"n{node % len(self.rack)}"
                self.cordoned ^= {name}
                self._put(name)

    def _put(self, name: str) -> None:
        labels = {key: str(self.rack[name] // width) for key, width in WIDTH.items()}
        cores, cordoned = str(self.cores[name]), name in self.cordoned
        self.context.cache.put_node(
            make_node(name, cpu=cores, labels=labels, unschedulable=cordoned)
        )

    def _attempt(self, group: Running, members: int) -> None:
        running = {node for _, node in group.placed}
        domains = self._domains(group, members, running)
        result = self._result(group, members)
        nodes, needed = (
            {one.node for one in result.placed},
            group.spec.min_count - len(group.placed),
        )
        counts = [min(members, self._takes(one, group.size)) for one in domains]
        fit = [
            (count, one)
            for count, one in zip(counts, domains, strict=True)
            if count >= max(1, needed)
        ]
        assert bool(nodes) is bool(fit)
        assert not fit or any(nodes <= one and len(result.placed) == count for count, one in fit)
        for one in result.placed:
            self.free[one.node] -= group.size
            group.placed.append((one.pod, one.node))
        if group.placed and group not in self.groups:
            self.groups.append(group)

    def _result(self, group: Running, members: int) -> GroupResult:
        pods = [make_pod(f"m{self.pods + i}", cpu=str(group.size)) for i in range(members)]
        self.pods += members

        def place(pod: Pod, placement: Placement) -> Decision:
            return place_member(pod, self.by, self.context, placement)

        attempt = GroupAttempt(group.spec, pods, list(group.placed))
        return finished(schedule_group(attempt, place, self.context, self.by))

    # ---- the model -------------------------------------------------------------------------------

    def _domains(self, group: Running, members: int, running: set[str]) -> list[set[str]]:
        """The sets of nodes that it may go to: of a constraint all, else the smallest that do."""
        if key := group.spec.topology_key:
            return self._divided(key, running)
        for key in self.keys:
            whole = [
                one
                for one in self._divided(key, running)
                if self._takes(one, group.size) >= members
            ]
            if whole:
                least = min(self._room(one, group.size) for one in whole)
                return [one for one in whole if self._room(one, group.size) == least]
        return [{*self.rack}]

    def _divided(self, key: str, running: set[str]) -> list[set[str]]:
        """The nodes by a label; only those where members run. None where these are in several."""
        domains: dict[int, set[str]] = {}
        for node, rack in self.rack.items():
            domains.setdefault(rack // WIDTH[key], set()).add(node)
        theirs = [one for one in domains.values() if one & running]
        if len(theirs) > 1:
            return []
        return theirs or [*domains.values()]

    def _room(self, nodes: set[str], size: int) -> int:
        return sum(self.free[node] // size for node in nodes)

    def _takes(self, nodes: set[str], size: int) -> int:
        return self._room(nodes - self.cordoned, size)


added = st.builds(Add, st.integers(0, 7), st.integers(1, 4))
comes = st.builds(
    Come,
    st.integers(1, 5),
    st.integers(1, 2),
    st.integers(1, 5),
    mostly(None, st.integers(0, 2)),
)
events = st.one_of(
    comes,
    comes,
    st.builds(Grow, st.integers(0, 9), st.integers(1, 2)),
    st.builds(Leave, st.integers(0, 9)),
    st.builds(Cordon, st.integers(0, 9)),
    added,
)


@settings(max_examples=100, deadline=None)
@given(
    st.permutations(KEYS),
    st.sampled_from([3, 3, 2, 1, 0]),
    st.lists(added, min_size=6, max_size=12),
    st.lists(events, min_size=8, max_size=16),
)
def test_where_groups_go(
    keys: list[str],
    number: int,
    nodes: list[Add],
    later: list[Come | Grow | Leave | Add | Cordon],
) -> None:
    """Labels in the order in which they are given; the smallest domain that takes all members,
    where others of the group run if some do.
    """
    history = History(tuple(keys[:number]))
    for event in (*nodes, *later):
        history.step(event)
