"""Searches in slices: no piece of work is long, whatever is asked for; what came of a search counts
for all that are alike; one that took too long is told, and a replay says the same.
"""

from __future__ import annotations

import itertools
import sys
from collections.abc import Iterator
from types import FrameType
from typing import Any

import msgspec
import pytest

from moorage.core.columns.cache import Cache
from moorage.core.columns.changes import DeviceSearchGivenUp, Entry, NodePut, ObjectPut
from moorage.core.columns.store import Store
from moorage.core.cycle.context import CycleContext
from moorage.core.devices.allocator import Allocator
from moorage.core.devices.device_searches import AllocationTimeout, SoughtDevices
from moorage.core.devices.ledger import DeviceLedger
from moorage.core.devices.uses import DeviceUse, device_uses_of
from moorage.core.objects.meta import ObjectMeta
from moorage.core.objects.resource_claims import (
    AllocatedDevice,
    Allocation,
    CELSelector,
    ClaimMeta,
    Device,
    DeviceAllocation,
    DeviceAttribute,
    DeviceClaim,
    DeviceClass,
    DeviceClassSpec,
    DeviceConstraint,
    DeviceRequest,
    DeviceSelector,
    DeviceSubRequest,
    ExactDeviceRequest,
    ResourceClaim,
    ResourceClaimSpec,
    ResourceClaimStatus,
    ResourcePool,
    ResourceSlice,
    ResourceSliceSpec,
)
from moorage.core.plugins.intree import INDEXES
from moorage.core.recording.key_frames import key_frame
from moorage.core.recording.replay import Replay
from moorage.core.structures.budget import OutOfTime, TimeBudget
from tests.builders import make_node

ANY = DeviceClass(ObjectMeta("any"), DeviceClassSpec())
PATIENCE = 2000
"""Slices of an adversarial search that are looked at; what comes after them is like it."""
MOST_CALLS = 3000
"""Of functions in one slice: about a millisecond."""


def slice_of(node: str, count: int, pool: str = "") -> ResourceSlice:
    """Devices of a node, each with an index and a value that half of them share."""
    devices = tuple(
        Device(
            name=f"d{i}",
            attributes={"index": DeviceAttribute(i), "half": DeviceAttribute(i % 2)},
        )
        for i in range(count)
    )
    spec = ResourceSliceSpec(
        driver="a", pool=ResourcePool(pool or node, 1, 1), devices=devices, node_name=node
    )
    return ResourceSlice(ObjectMeta(pool or node), spec)


def claim(
    *requests: DeviceRequest, name: str = "c", constraints: tuple[DeviceConstraint, ...] = ()
) -> ResourceClaim:
    """A claim for this."""
    return ResourceClaim(
        ClaimMeta(name, "ns", f"uid-{name}"), ResourceClaimSpec(DeviceClaim(requests, constraints))
    )


def asks(name: str, count: int, *expressions: str, mode: str = "ExactCount") -> DeviceRequest:
    """A request without alternatives."""
    selectors = tuple(DeviceSelector(CELSelector(text)) for text in expressions) or None
    return DeviceRequest(name, ExactDeviceRequest("", "any", selectors, mode, count))


def prefers(name: str, *expressions: str, mode: str = "ExactCount") -> DeviceRequest:
    """A request with an alternative for each expression."""
    return DeviceRequest(
        name,
        first_available=tuple(
            DeviceSubRequest(f"s{i}", "any", (DeviceSelector(CELSelector(text)),), mode, 1)
            for i, text in enumerate(expressions)
        ),
    )


def a_context(*objects: Any, nodes: int = 1, journal: list[Entry] | None = None) -> CycleContext:
    """Nodes n0, n1, ... and these objects; no time passes."""
    context = CycleContext(Cache(Store(INDEXES, [] if journal is None else journal)))
    context.cache.store.put(ANY)
    for obj in objects:
        context.cache.store.put(obj)
    for i in range(nodes):
        context.cache.put_node(make_node(f"n{i}"))
    return context


def ledger_of(context: CycleContext) -> DeviceLedger:
    """Its ledger."""
    return context.cache.store.index(DeviceLedger)


# ---- how long a slice is -------------------------------------------------------------------------

NEVER = "device.attributes['a'].index == {}"
HOPELESS = {
    "countless subsets": claim(asks("r0", 16), asks("r1", 1, "false")),
    "match attribute": claim(
        asks("r0", 31), asks("last", 1, "false"), constraints=(DeviceConstraint(None, "a/half"),)
    ),
    "distinct attribute": claim(
        *(asks(f"r{i}", 1) for i in range(32)),
        constraints=(DeviceConstraint(None, None, "a/half"),),
    ),
    "many constraints": claim(
        *(asks(f"r{i}", 1) for i in range(32)),
        constraints=(DeviceConstraint(None, "a/half"),) * 31
        + (DeviceConstraint(None, None, "a/half"),),
    ),
    "prioritized lists": claim(
        *(
            prefers(f"r{i}", *(NEVER.format(f"{i} || {j} > 7") for j in range(8)))
            for i in range(31)
        ),
        asks("last", 1, "false"),
    ),
    "all, in prioritized lists": claim(
        *(
            prefers(f"r{i}", *(NEVER.format(1000 * i + j + 500) for j in range(8)), mode="All")
            for i in range(32)
        ),
    ),
    "many expressions": claim(
        *(asks(f"r{i}", 1, *(f"{i} + {j} >= 0" for j in range(32))) for i in range(31)),
        asks("last", 1, "false"),
    ),
}


class _Calls:
    """Counts the calls of functions, and those of expressions, while it is entered."""

    def __init__(self) -> None:
        self.functions = 0
        self.expressions = 0

    def __enter__(self) -> _Calls:
        sys.setprofile(self._called)
        return self

    def __exit__(self, *_: object) -> None:
        sys.setprofile(None)

    def _called(self, frame: FrameType, event: str, _: object) -> None:
        if event in ("call", "c_call"):
            self.functions += 1
        if event == "call" and frame.f_code.co_name == "_evaluate":
            self.expressions += 1


@pytest.mark.parametrize("kind", HOPELESS)
def test_no_slice_is_long(kind: str) -> None:
    """Work is counted: so many calls of functions, and two expressions at most, whatever the claim
    asks for.
    """
    context = a_context(*(slice_of("n0", 128, f"p{i}") for i in range(3)))
    node = context.snapshot.nodes.nodes[0]
    assert node is not None
    search = Allocator([HOPELESS[kind]], ledger_of(context).available(node))
    for _ in range(PATIENCE):
        with _Calls() as calls:
            ended = search.run(lambda: True)
        assert calls.functions <= MOST_CALLS and calls.expressions <= 2
        if ended:
            break
    assert search.assignments is None


# ---- what came of a search -----------------------------------------------------------------------


class _Looks(TimeBudget):
    """A budget whose clock goes on by so many seconds whenever it is looked at."""

    def __init__(self, tick: float) -> None:
        looks = itertools.count()
        super().__init__(lambda: next(looks) * tick)


def sought(*claims: ResourceClaim, what: str = "x", seconds: float = 0.0) -> SoughtDevices:
    """These, known by this."""
    return SoughtDevices(what, claims, seconds)


def find(
    context: CycleContext, node: str, wanted: SoughtDevices, budget: TimeBudget | None = None
) -> list[str] | None:
    """The names of the devices found on a node."""
    ledger, found = ledger_of(context), context.snapshot.nodes.row_of[node]
    there = context.snapshot.nodes.nodes[found]
    assert there is not None
    answers = ledger.searches.find(wanted, there, ledger, budget or TimeBudget())
    if answers is None:
        return None
    return [
        f"{one.candidate.id.pool}/{one.candidate.id.device}"
        for answer in answers
        for one in answer.devices
    ]


def test_one_answer_for_all_that_are_alike() -> None:
    """Of another claim that wants the same, on another node of the shape, with its own devices; no
    second search is made, as what is asked for now could not be found.
    """
    context = a_context(slice_of("n0", 3), slice_of("n1", 3), nodes=2)
    assert find(context, "n0", sought(claim(asks("r", 2)))) == ["n0/d0", "n0/d1"]
    hopeless = claim(asks("r", 9), name="other")
    assert find(context, "n1", sought(hopeless)) == ["n1/d0", "n1/d1"]
    assert find(context, "n1", sought(hopeless, what="y")) is None


def taken(device: str) -> ResourceClaim:
    """A claim that has a device of n0."""
    given = Allocation(DeviceAllocation((AllocatedDevice("r", "a", "n0", device),)))
    had = claim(asks("r", 1), name="taken")
    return msgspec.structs.replace(had, status=ResourceClaimStatus(given))


@pytest.mark.parametrize(
    ("change", "found"),
    [
        (taken("d0"), ["n0/d1", "n0/d2"]),
        (slice_of("n0", 2), ["n0/d0", "n0/d1"]),
        (slice_of("n0", 1), None),
    ],
    ids=["a device is taken", "fewer devices", "too few"],
)
@pytest.mark.parametrize("slices", [False, True])
def test_what_a_search_read_changes(
    change: ResourceClaim | ResourceSlice, found: list[str] | None, slices: bool
) -> None:
    """It is made anew, also one that was set down."""
    context, wanted = a_context(slice_of("n0", 3)), sought(claim(asks("r", 2)))
    if slices:
        budget = _Looks(1.0)
        budget.slice = 4.5  # by then the first device is given
        with pytest.raises(OutOfTime), budget:
            find(context, "n0", wanted, budget)
    else:
        assert find(context, "n0", wanted) == ["n0/d0", "n0/d1"]
    context.cache.store.put(change)
    assert find(context, "n0", wanted) == found


def test_a_class_changes() -> None:
    """What is of its kind is another thing then."""
    context, wanted = a_context(slice_of("n0", 3)), sought(claim(asks("r", 1)))
    assert find(context, "n0", wanted) == ["n0/d0"]
    last = DeviceSelector(CELSelector("device.attributes['a'].index == 2"))
    context.cache.store.put(msgspec.structs.replace(ANY, spec=DeviceClassSpec((last,))))
    assert find(context, "n0", wanted) == ["n0/d2"]


# ---- what took too long --------------------------------------------------------------------------

SLOW = claim(asks("r0", 7), asks("r1", 7))


def test_a_search_that_goes_on_from_slice_to_slice_is_given_up() -> None:
    """It had its seconds, all slices together."""
    journal: list[Entry] = []
    context = a_context(slice_of("n0", 12), journal=journal)
    wanted, budget = sought(SLOW, seconds=0.5), _Looks(0.004)
    budget.slice = 0.05
    slices = 0
    while True:
        try:
            with budget:
                find(context, "n0", wanted, budget)
        except OutOfTime:
            slices += 1
        except AllocationTimeout:
            break
    assert slices >= 5
    assert len([one for one in journal if isinstance(one, DeviceSearchGivenUp)]) == 1


def test_a_process_that_stood_still_gives_nothing_up() -> None:
    """A device counts for 50 ms at most, however long the clock says that it took."""
    context = a_context(slice_of("n0", 3))
    budget = _Looks(3600.0)
    with pytest.raises(OutOfTime), budget:
        find(context, "n0", sought(claim(asks("r", 2)), seconds=1.0), budget)
    assert find(context, "n0", sought(claim(asks("r", 2)), seconds=1.0)) == ["n0/d0", "n0/d1"]


def replayed(entries: Iterator[Entry] | list[Entry]) -> CycleContext:
    """What a replay without a clock has of them."""
    replay = Replay(CycleContext(Cache(Store(INDEXES))))
    for entry in entries:
        if not isinstance(entry, ObjectPut | NodePut | DeviceSearchGivenUp):
            continue
        replay.apply(entry)
    return replay.context


@pytest.mark.parametrize("framed", [False, True], ids=["from the begin", "from a key frame"])
def test_a_replay_gives_up_the_same(framed: bool) -> None:
    """On that node and on those that offer the same, for whoever seeks the same; another node, or
    what was found on this one in other days, is searched.
    """
    journal: list[Entry] = []
    context = a_context(
        slice_of("n0", 12), slice_of("n1", 12), slice_of("n2", 14), nodes=3, journal=journal
    )
    wanted = sought(SLOW, seconds=0.5)
    with pytest.raises(AllocationTimeout):
        find(context, "n0", wanted, _Looks(0.01))
    again = replayed(key_frame(context.cache, {}) if framed else journal)
    for node in ("n0", "n1"):
        with pytest.raises(AllocationTimeout):
            find(again, node, wanted)
    assert find(again, "n2", wanted) is not None
    again.cache.store.put(ANY)
    assert find(again, "n0", sought(claim(asks("r", 1)), seconds=0.5)) == ["n0/d0"]


def test_offers_that_differ_are_told_apart() -> None:
    """What was given up while a device was in use is searched when it is free."""
    assert device_uses_of(taken("d0")) == (DeviceUse(("a", "n0", "d0"), None),)  # type: ignore[arg-type]
    context = a_context(slice_of("n0", 14), taken("d0"))
    with pytest.raises(AllocationTimeout):
        find(context, "n0", sought(SLOW, seconds=0.5), _Looks(0.01))
    context.cache.store.remove(ResourceClaim, "ns/taken")
    assert find(context, "n0", sought(SLOW, seconds=0.5)) is not None
