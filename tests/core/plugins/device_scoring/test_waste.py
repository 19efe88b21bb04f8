"""Expected waste is what the naive reading of its definition comes to; orders leave nothing out."""

from __future__ import annotations

import itertools
import math
from collections import Counter
from fractions import Fraction

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from moorage.core.devices.claim_requests import DeviceQuery
from moorage.core.devices.pools import PoolId, gather_pools
from moorage.core.devices.uses import AvailableDevices, DevicesInUse, DeviceUse
from moorage.core.objects.meta import ObjectMeta
from moorage.core.objects.resource_claims import (
    CapacityRequirements,
    DeviceAttribute,
    DeviceClass,
    DeviceSubRequest,
)
from moorage.core.plugins.device_scoring.arguments import (
    DeviceScoringArgs,
    ExpectedCapacity,
    ExpectedRequest,
)
from moorage.core.plugins.device_scoring.demand import told_demand
from moorage.core.plugins.device_scoring.device_order import DeviceOrder
from moorage.core.plugins.device_scoring.device_units import units_of
from moorage.core.plugins.device_scoring.waste import WasteTable
from tests.builders import make_node, make_slice, shared_device

CLASSES = {"gpu": DeviceClass(ObjectMeta("gpu"))}
LINK = "a.test/link"
used_devices = st.lists(st.integers(0, 10).map(lambda tenth: 100 * tenth), max_size=6)
kinds = st.tuples(
    st.integers(1, 3), st.integers(1, 10), st.integers(0, 4), st.integers(0, 4), st.integers(1, 9)
)


def offer_of(used: list[int]) -> AvailableDevices:
    """Shared devices, of which so many thousandths are used, each two with a link."""
    devices = [
        shared_device(f"d{i}", **{LINK: DeviceAttribute(integer=i // 2)}) for i in range(len(used))
    ]
    piece = make_slice("n", devices)
    pools = gather_pools({PoolId("a.test", "n"): [piece]}, make_node("n"))
    uses = DevicesInUse()
    for one, milli in zip(pools[0].devices, used, strict=True):
        if milli:
            uses.count(DeviceUse(one.id, {"milli": milli * 10**9}), 1)
    return AvailableDevices(pools, CLASSES, uses)


def args_of(asked: list[tuple[int, int, int, int, int]]) -> DeviceScoringArgs:
    """Count, tenths of a device, cpu, memory and weight of each kind."""
    return DeviceScoringArgs(
        demand=tuple(
            ExpectedRequest(
                "gpu",
                count,
                (ExpectedCapacity("milli", str(100 * tenths)),),
                str(cpu),
                str(memory),
                weight,
            )
            for count, tenths, cpu, memory, weight in asked
        )
    )


def naive_waste(
    used: list[int], cpu: int, memory: int, asked: list[tuple[int, int, int, int, int]]
) -> int:
    """Kind by kind and device by device."""
    left = [1000 - milli for milli in used]
    waste = 0
    for count, tenths, its_cpu, its_memory, weight in asked:
        useful = [one for one in left if one >= 100 * tenths]
        runs = len(useful) >= count and cpu >= its_cpu and memory >= its_memory
        once = sum(useful) if runs else 0
        taken = Fraction(100 * tenths * count)
        asks = [(cpu, its_cpu), (memory, its_memory)]
        ever = math.floor(min([Fraction(once), *(taken * has / of for has, of in asks if of)]))
        waste += weight * (sum(left) - (once + ever) // 2)
    return waste


@given(
    st.lists(st.tuples(used_devices, st.integers(0, 4), st.integers(0, 4)), min_size=1, max_size=5),
    st.lists(kinds, min_size=1, max_size=6),
)
def test_expected_waste(
    nodes: list[tuple[list[int], int, int]], asked: list[tuple[int, int, int, int, int]]
) -> None:
    """Of all nodes at once, as of one after another; what was forgotten plays no part."""
    demand = told_demand(args_of(asked))
    table = WasteTable(CLASSES)
    table.rows(demand.requests)
    table.stock(units_of(offer_of([0, 950])))
    table.clear()
    stocks = [table.stock(units_of(offer_of(used))) for used, _, _ in nodes]
    cpu = np.array([cpu * 1000 for _, cpu, _ in nodes], np.int64)
    memory = np.array([memory for _, _, memory in nodes], np.int64)
    found = table.expected(np.array(stocks, np.intp), demand, cpu, memory)
    assert found.tolist() == [naive_waste(*node, asked) for node in nodes]


@given(
    st.lists(used_devices, max_size=5),
    st.lists(kinds, min_size=1, max_size=6),
    st.lists(st.sampled_from(("request", "stock")), max_size=11),
)
def test_a_table_that_grew(
    nodes: list[list[int]], asked: list[tuple[int, int, int, int, int]], coming: list[str]
) -> None:
    """It is the one that is made anew with all requests, whatever came first."""
    requests = [*told_demand(args_of(asked)).requests]
    offers = [units_of(offer_of(used)) for used in nodes]
    grown, remade = WasteTable(CLASSES), WasteTable(CLASSES)
    remade.rows(requests)
    new_requests, new_offers = iter(requests), iter(offers)
    for what in coming:
        if what == "request":
            grown.rows([*itertools.islice(new_requests, 1)])
        else:
            for units in itertools.islice(new_offers, 1):
                grown.stock(units)
    rows = grown.rows(requests)
    weights = np.arange(1, len(requests) + 1)
    own_weights = np.zeros(len(requests), np.int64)
    own_weights[rows] = weights
    for units in offers:
        mine, other = grown.stock(units), remade.stock(units)
        assert grown.total[mine] == remade.total[other]
        assert grown.useful[rows, mine].tolist() == remade.useful[: len(rows), other].tolist()
        assert grown.taken[rows, mine].tolist() == remade.taken[: len(rows), other].tolist()
        numbers, others = ([*map(table.number, units)] for table in (grown, remade))
        assert (
            grown.wasted(np.array(numbers, np.intp), own_weights).tolist()
            == remade.wasted(np.array(others, np.intp), weights).tolist()
        )


@given(used_devices, st.lists(kinds, min_size=1, max_size=4), st.integers(1, 3), st.booleans())
def test_orders_leave_nothing_out(
    used: list[int], asked: list[tuple[int, int, int, int, int]], count: int, near: bool
) -> None:
    """Each device is tried once, whoever is preferred."""
    demand = told_demand(args_of(asked))
    table = WasteTable(CLASSES)
    table.rows(demand.requests)
    weights = tuple(demand.by_request.tolist())
    order = DeviceOrder((LINK,) * near, weights, table)
    offer = offer_of(used)
    capacity = CapacityRequirements({"milli": "300"})
    request = DeviceSubRequest("r", "gpu", None, "ExactCount", count, None, capacity)
    wish = DeviceQuery("r", "r", request, CLASSES["gpu"], (), None, count)
    candidates = offer.pools[0].devices
    found = order.in_order(wish, candidates, offer)
    assert Counter(one.id for one in found) == Counter(one.id for one in candidates)


def test_a_class_that_is_not_there_serves_nothing() -> None:
    """All that is left is waste to who asks for it."""
    demand = told_demand(DeviceScoringArgs(demand=(ExpectedRequest("tpu", weight=2),)))
    table = WasteTable(CLASSES)
    stock = np.array([table.stock(units_of(offer_of([0, 300])))], np.intp)
    room = np.array([8000], np.int64)
    assert table.expected(stock, demand, room, room).tolist() == [2 * 1700]
