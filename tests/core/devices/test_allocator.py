"""The search finds the first way to give all claims their devices, as trying every way does."""

from __future__ import annotations

import itertools
from collections.abc import Sequence

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kubefacts.quantities import nanos
from moorage.core.devices.allocator import Allocator
from moorage.core.devices.capacity import consumed, total
from moorage.core.devices.pools import (
    AllocationError,
    AlternativesFailed,
    DeviceId,
    Pool,
    PoolId,
    PoolState,
    gather_pools,
    pool_of,
)
from moorage.core.devices.uses import AvailableDevices, DevicesInUse, DeviceUse
from moorage.core.objects.meta import ObjectMeta
from moorage.core.objects.nodes import Taint
from moorage.core.objects.resource_claims import (
    CapacityRequirements,
    CELSelector,
    ClaimMeta,
    Counter,
    CounterConsumption,
    CounterSet,
    Device,
    DeviceAttribute,
    DeviceCapacity,
    DeviceClaim,
    DeviceClass,
    DeviceClassSpec,
    DeviceConstraint,
    DeviceRequest,
    DeviceSelector,
    DeviceSubRequest,
    DeviceToleration,
    ExactDeviceRequest,
    ResourceClaim,
    ResourceClaimSpec,
    ResourcePool,
    ResourceSlice,
    ResourceSliceSpec,
)
from tests.builders import make_node
from tests.core.devices.searching import search
from tests.oracle.devices import There, allocate

DRIVERS = ("a.test", "b.test")
CLASSES = {
    "any": DeviceClass(ObjectMeta("any")),
    **{
        driver: DeviceClass(
            ObjectMeta(driver),
            DeviceClassSpec(
                selectors=(DeviceSelector(CELSelector(f'device.driver == "{driver}"')),)
            ),
        )
        for driver in DRIVERS
    },
}
NODE = make_node("n")


# ---- small worlds --------------------------------------------------------------------------------


@st.composite
def devices(draw: st.DrawFn, name: str) -> Device:
    """A device with some of everything."""
    capacity = draw(st.sampled_from([None, "2", "4"]))
    shared = draw(st.booleans()) if capacity else False
    takes = draw(st.sampled_from([None, None, "1", "2"]))
    return Device(
        name=name,
        attributes={
            "slot": DeviceAttribute(integer=draw(st.integers(0, 1))),
            **(
                {"bus.test/numa": DeviceAttribute(string=draw(st.sampled_from("xy")))}
                if draw(st.booleans())
                else {}
            ),
        },
        capacity={"memory": DeviceCapacity(capacity)} if capacity else None,
        consumes_counters=(CounterConsumption("set", {"mem": Counter(takes)}),) if takes else None,
        taints=(Taint("broken", "", "NoSchedule"),)
        if draw(st.sampled_from([False, False, True]))
        else None,
        allow_multiple_allocations=shared or None,
    )


@st.composite
def wishes(draw: st.DrawFn, everything: bool) -> ExactDeviceRequest:
    """What one request, or alternative, asks for."""
    mode = (
        draw(st.sampled_from(["ExactCount", "ExactCount", "All"])) if everything else "ExactCount"
    )
    asked = draw(st.sampled_from([None, None, "1", "3"]))
    return ExactDeviceRequest(
        device_class_name=draw(st.sampled_from(["any", *DRIVERS])),
        allocation_mode=mode,
        count=draw(st.integers(1, 2)),
        tolerations=(DeviceToleration("broken", "Exists"),) if draw(st.booleans()) else None,
        capacity=CapacityRequirements({"memory": asked}) if asked else None,
    )


@st.composite
def claims(draw: st.DrawFn, name: str, sizes: tuple[int, int]) -> ResourceClaim:
    """A claim with up to two requests. All devices are asked for without an alternative only where
    no constraint makes that an error.
    """
    constrained = draw(st.booleans())
    requests = []
    for i in range(draw(st.integers(*sizes))):
        if draw(st.booleans()):
            exactly = draw(wishes(not constrained))
            admin = True if draw(st.sampled_from([False, False, True])) else None
            requests.append(DeviceRequest(f"r{i}", looking(exactly, admin)))
        else:
            options = [draw(wishes(True)) for _ in range(draw(st.integers(1, 2)))]
            subs = tuple(
                DeviceSubRequest(
                    f"s{j}",
                    one.device_class_name,
                    None,
                    one.allocation_mode,
                    one.count,
                    one.tolerations,
                    one.capacity,
                )
                for j, one in enumerate(options)
            )
            requests.append(DeviceRequest(f"r{i}", first_available=subs))
    constraints: tuple[DeviceConstraint, ...] = ()
    if constrained:
        attribute = draw(st.sampled_from(["a.test/slot", "bus.test/numa"]))
        names = draw(st.sampled_from([None, ("r0",), ("r0/s0", "r1")]))
        constraints = (
            DeviceConstraint(names, attribute)
            if draw(st.booleans())
            else DeviceConstraint(names, None, attribute),
        )
    return ResourceClaim(
        ClaimMeta(name, "ns", f"uid-{name}"),
        ResourceClaimSpec(DeviceClaim(tuple(requests), constraints)),
    )


def looking(wish: ExactDeviceRequest, admin: bool | None) -> ExactDeviceRequest:
    """The query, to look on only."""
    return ExactDeviceRequest(
        "",
        wish.device_class_name,
        None,
        wish.allocation_mode,
        wish.count,
        wish.tolerations,
        wish.capacity,
        admin,
    )


def offer_of(found: Sequence[There], taken: Sequence[There], counters: str) -> AvailableDevices:
    """One pool for each driver; the first has the counters."""
    pieces = []
    for driver in DRIVERS:
        mine = tuple(one.device for one in found if one.driver == driver)
        spec = ResourceSliceSpec(
            driver=driver, all_nodes=True, pool=ResourcePool("p", 1, 2), devices=mine
        )
        sets = (CounterSet("set", {"mem": Counter(counters)}),)
        shared = ResourceSliceSpec(
            driver=driver, all_nodes=True, pool=ResourcePool("p", 1, 2), shared_counters=sets
        )
        pieces += [
            ResourceSlice(ObjectMeta(f"{driver}-1"), spec),
            ResourceSlice(ObjectMeta(f"{driver}-2"), shared),
        ]
    pools = gather_pools(
        {
            pool_of(piece): [one for one in pieces if pool_of(one) == pool_of(piece)]
            for piece in pieces
        },
        NODE,
    )
    uses = DevicesInUse()
    for one in taken:
        amounts = (
            total(consumed(one.device, None), {}) if one.device.allow_multiple_allocations else None
        )
        uses.count(DeviceUse(DeviceId(one.driver, one.pool, one.device.name), amounts), 1)
    return AvailableDevices(pools, CLASSES, uses)


@st.composite
def worlds(draw: st.DrawFn) -> tuple[list[ResourceClaim], list[There], list[There]]:
    """Claims, devices in order, and those that somebody has; only the first driver's take from
    counters.
    """
    found = [There("a.test", "p", draw(devices(f"d{i}"))) for i in range(draw(st.integers(0, 3)))]
    for i in range(draw(st.integers(0, 2))):
        plain = draw(devices(f"d{i}"))
        found.append(
            There(
                "b.test",
                "p",
                Device(name=plain.name, attributes=plain.attributes, taints=plain.taints),
            )
        )
    taken = draw(st.lists(st.sampled_from(found), max_size=2, unique_by=id)) if found else []
    both = [draw(claims("c0", (1, 2)))] + (
        [draw(claims("c1", (1, 1)))] if draw(st.booleans()) else []
    )
    return both, found, taken


@settings(max_examples=200, deadline=None)
@given(worlds(), st.sampled_from(["1", "3", "9"]))
def test_search_agrees_with_trying_everything(
    world: tuple[list[ResourceClaim], list[There], list[There]], counters: str
) -> None:
    """Same devices for the same requests, or the same "no"."""
    asked, found, taken = world
    wanted = allocate(asked, found, taken, {"mem": nanos(counters)})
    answers = search(asked, offer_of(found, taken, counters))
    if wanted is None:
        assert answers is None
        return
    assert answers is not None
    got = [
        (i, one.query.reference, one.candidate.id)
        for i, answer in enumerate(answers)
        for one in answer.devices
    ]
    names = [
        (
            gift.claim,
            f"{gift.request}/{gift.alternative}".rstrip("/"),
            DeviceId(gift.what.driver, gift.what.pool, gift.what.device.name),
        )
        for gift in wanted
    ]
    assert got == names


# ---- by hand -------------------------------------------------------------------------------------


def plain(count: int) -> list[There]:
    """Devices that are all alike."""
    return [There("a.test", "p", Device(name=f"d{i}")) for i in range(count)]


def claim(
    *requests: DeviceRequest, constraints: tuple[DeviceConstraint, ...] = ()
) -> ResourceClaim:
    """A claim."""
    return ResourceClaim(
        ClaimMeta("c", "ns", "uid-c"), ResourceClaimSpec(DeviceClaim(requests, constraints))
    )


def exactly(count: int, name: str = "r", **fields: object) -> DeviceRequest:
    """A request for devices of any kind."""
    wish = ExactDeviceRequest(device_class_name="any", allocation_mode="ExactCount", count=count)
    values = {field: getattr(wish, field) for field in wish.__struct_fields__} | fields
    return DeviceRequest(name, ExactDeviceRequest(**values))


@settings(max_examples=100, deadline=None)
@given(worlds(), st.sampled_from(["1", "9"]), st.lists(st.booleans(), min_size=1, max_size=7))
def test_slices_come_to_the_same(
    world: tuple[list[ResourceClaim], list[There], list[There]], counters: str, pauses: list[bool]
) -> None:
    """Whenever it is set down."""
    asked, found, taken = world
    offer = offer_of(found, taken, counters)
    whole, sliced = Allocator(asked, offer), Allocator(asked, offer)
    assert whole.run(lambda: False)
    turns = itertools.cycle([*pauses, True])
    while not sliced.run(lambda: next(turns)):
        assert sliced.assignments is None
    assert _named(sliced) == _named(whole)


def _named(search: Allocator) -> list[list[tuple[str, DeviceId]]] | None:
    if search.assignments is None:
        return None
    return [
        [(one.query.reference, one.candidate.id) for one in claim.devices]
        for claim in search.assignments
    ]


def test_many_claims_are_no_deep_recursion() -> None:
    """Two thousand requests are a long list, not a deep stack."""
    found = plain(2000)
    answers = search([claim(exactly(1)) for _ in found], offer_of(found, [], "1"))
    assert answers is not None
    assert [answer.devices[0].candidate.id.device for answer in answers] == [
        one.device.name for one in found
    ]


@pytest.mark.parametrize(
    ("asked", "message"),
    [
        (
            claim(exactly(33)),
            (
                "claim ns/c, request r: adding 33 devices exceeds the claim limit of 32, with 0 "
                "already accounted for"
            ),
        ),
        (
            claim(exactly(1, allocation_mode="Some")),
            "claim ns/c, request r: unsupported count mode Some",
        ),
        (
            claim(exactly(1, device_class_name="")),
            "claim ns/c, request r: missing device class name (unsupported request type?)",
        ),
        (
            claim(exactly(1, device_class_name="nope")),
            "claim ns/c, request r: could not retrieve device class nope",
        ),
        (
            claim(exactly(1, selectors=(DeviceSelector(),))),
            "claim ns/c, request r, selector #0: CEL expression empty (unsupported selector type?)",
        ),
        (
            claim(
                exactly(
                    1,
                    selectors=(
                        DeviceSelector(CELSelector("true")),
                        DeviceSelector(CELSelector("1")),
                    ),
                )
            ),
            "claim ns/c: selector #1: CEL compile error: must evaluate to bool",
        ),
        (
            claim(exactly(1), constraints=(DeviceConstraint(),)),
            "claim ns/c, constraint #0: empty constraint",
        ),
        (
            claim(
                exactly(0, allocation_mode="All"),
                constraints=(DeviceConstraint(match_attribute="a.test/x"),),
            ),
            (
                "claim ns/c, request r: cannot add device a.test/p/d0 because a claim constraint "
                "would not be satisfied"
            ),
        ),
    ],
    ids=[
        "too many",
        "mode",
        "no class",
        "no such class",
        "no expression",
        "bad expression",
        "no constraint",
        "all of them",
    ],
)
def test_faults(asked: ResourceClaim, message: str) -> None:
    """What can't be decided is said with claim, request and what is wrong."""
    with pytest.raises(AllocationError) as raised:
        search([asked], offer_of(plain(2), [], "1"))
    assert str(raised.value).startswith(message)


def test_no_more_devices_than_a_claim_can_have() -> None:
    """An alternative that would be too large is passed over for a smaller one, whatever the request
    before it got.
    """
    options = tuple(DeviceSubRequest(f"s{n}", "any", None, "ExactCount", n) for n in (10, 2))
    answers = search(
        [claim(exactly(30, "r0"), DeviceRequest("r1", first_available=options))],
        offer_of(plain(50), [], "1"),
    )
    assert answers is not None
    assert [wish.reference for wish in answers[0].chosen] == ["r0", "r1/s2"]


def test_counters_are_given_back() -> None:
    """The first request tries the device that takes all of the counter, which leaves none for the
    second, and then another one.
    """

    def taking(name: str, amount: str, slot: int) -> There:
        takes = (CounterConsumption("set", {"mem": Counter(amount)}),)
        return There(
            "a.test",
            "p",
            Device(
                name=name,
                attributes={"slot": DeviceAttribute(integer=slot)},
                consumes_counters=takes,
            ),
        )

    found = [taking("d0", "3", 0), taking("d1", "1", 0), taking("d2", "2", 0)]
    answers = search([claim(exactly(1, "r0"), exactly(1, "r1"))], offer_of(found, [], "3"))
    assert answers is not None
    assert [one.candidate.id.device for one in answers[0].devices] == ["d1", "d2"]


def test_looking_on_twice() -> None:
    """Two requests of a claim that only look on share no device with each other, though with
    anybody else.
    """
    found = plain(2)
    answers = search(
        [claim(exactly(1, "r0", admin_access=True), exactly(1, "r1", admin_access=True))],
        offer_of(found, found, "1"),
    )
    assert answers is not None
    assert [one.candidate.id.device for one in answers[0].devices] == ["d0", "d1"]


def test_three_distinct_devices() -> None:
    """All of them differ, not only neighbours."""

    def at(name: str, slot: int) -> There:
        return There(
            "a.test", "p", Device(name=name, attributes={"slot": DeviceAttribute(integer=slot)})
        )

    asked = claim(exactly(3), constraints=(DeviceConstraint(distinct_attribute="a.test/slot"),))
    assert search([asked], offer_of([at("d0", 0), at("d1", 1), at("d2", 0)], [], "1")) is None
    assert (
        search([asked], offer_of([at("d0", 0), at("d1", 1), at("d2", 0), at("d3", 2)], [], "1"))
        is not None
    )


def either(*options: DeviceSubRequest) -> DeviceRequest:
    """A request with alternatives."""
    return DeviceRequest("r", first_available=options)


def option(
    name: str, expression: str = "true", mode: str = "ExactCount", class_: str = "any"
) -> DeviceSubRequest:
    """An alternative for one device of these, or for all."""
    return DeviceSubRequest(name, class_, (DeviceSelector(CELSelector(expression)),), mode, 1)


FAULTY = {
    "expression": option("x", 'device.attributes["a.test"].nope == "x"'),
    "no expression": DeviceSubRequest("x", "any", (DeviceSelector(),), "ExactCount", 1),
    "class": option("x", class_="nope"),
    "mode": option("x", mode="Some"),
}


@pytest.mark.parametrize("fault", FAULTY)
def test_a_fault_excludes_its_alternative_only(fault: str) -> None:
    """The next one is given; where there is none that can be, the fault is told, and no node's
    device in it.
    """
    found = plain(2)
    answers = search([claim(either(FAULTY[fault], option("y")))], offer_of(found, [], "1"))
    assert answers is not None
    assert [wish.reference for wish in answers[0].chosen] == ["r/y"]
    with pytest.raises(AlternativesFailed) as told:
        search([claim(either(FAULTY[fault], option("y", "false")))], offer_of(found, [], "1"))
    assert "d0" not in str(told.value)
    with pytest.raises(AllocationError):
        search([claim(either(FAULTY[fault]))], offer_of(found, [], "1"))


def test_a_fault_after_some_devices_takes_them_back() -> None:
    """The first alternative gets a device before its expression fails at the second one."""
    found = [
        There(
            "a.test",
            "p",
            Device(name=f"d{i}", attributes={"n": DeviceAttribute(integer=1)} if i == 0 else {}),
        )
        for i in range(2)
    ]
    two = DeviceSubRequest(
        "x",
        "any",
        (DeviceSelector(CELSelector('device.attributes["a.test"].n == 1')),),
        "ExactCount",
        2,
    )
    answers = search([claim(either(two, option("y")))], offer_of(found, [], "1"))
    assert answers is not None
    assert [(one.query.reference, one.candidate.id.device) for one in answers[0].devices] == [
        ("r/y", "d0")
    ]


def test_all_of_them_or_the_next_best() -> None:
    """A constraint that keeps an alternative from all devices of its kind leads to the next one; so
    does a pool that is being updated.
    """
    at = [
        There(
            "a.test", "p", Device(name=f"d{i}", attributes={"rack": DeviceAttribute(integer=i % 2)})
        )
        for i in range(3)
    ]
    rack = (DeviceConstraint(match_attribute="a.test/rack"),)
    asked = claim(either(option("all", mode="All"), option("one")), constraints=rack)
    answers = search([asked], offer_of(at, [], "1"))
    assert answers is not None
    assert [one.query.reference for one in answers[0].devices] == ["r/one"]
    offer = offer_of(at, [], "1")
    updated = offer._replace(
        pools=(*offer.pools, Pool(PoolId("c.test", "p"), PoolState.INCOMPLETE))
    )
    assert [
        one.query.reference for answer in search([asked], updated) or () for one in answer.devices
    ] == ["r/one"]
    assert search([claim(either(option("all", mode="All")))], updated) is None
