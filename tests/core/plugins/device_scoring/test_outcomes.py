"""What came of a search is used again, and is what a new search would come to."""

from __future__ import annotations

from collections.abc import Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st

from moorage.core.columns.cache import Cache
from moorage.core.devices.device_demand import demand_of
from moorage.core.devices.ledger import DeviceLedger
from moorage.core.objects.meta import ObjectMeta
from moorage.core.objects.pods import PodResourceClaim
from moorage.core.objects.resource_claims import (
    AllocatedDevice,
    Allocation,
    CapacityRequirements,
    CELSelector,
    ClaimMeta,
    Device,
    DeviceAllocation,
    DeviceAttribute,
    DeviceClaim,
    DeviceClass,
    DeviceConstraint,
    DeviceRequest,
    DeviceSelector,
    DeviceSubRequest,
    ExactDeviceRequest,
    ResourceClaim,
    ResourceClaimSpec,
    ResourceClaimStatus,
)
from moorage.core.plugins.device_scoring.arguments import (
    DeviceScoringArgs,
    ExpectedCapacity,
    ExpectedRequest,
)
from moorage.core.plugins.device_scoring.demand import told_demand
from moorage.core.plugins.device_scoring.device_order import DeviceOrder
from moorage.core.plugins.device_scoring.device_outcomes import (
    DeviceOutcome,
    DeviceOutcomes,
    NodeStocks,
    OutcomeSearch,
)
from moorage.core.plugins.device_scoring.waste import WasteTable
from moorage.core.structures.budget import TimeBudget
from tests.builders import make_node, make_pod, make_slice, shared_device

LINK = "a.test/link"
NODE = make_node("n")
CLASSES = {"gpu": DeviceClass(ObjectMeta("gpu"))}


def requests_for(*shares: str) -> tuple[bytes, ...]:
    """One request for each of these shares of a device, in thousandths."""
    each = (
        DeviceScoringArgs(demand=(ExpectedRequest("gpu", 1, (ExpectedCapacity("milli", one),)),))
        for one in shares
    )
    return tuple(request for args in each for request in told_demand(args).requests)


EXPECTED = requests_for("200", "300", "500", "1000")
every_weight = st.tuples(*(st.sampled_from((0, 1, 2, 64, 1024)) for _ in EXPECTED))
asked_requests = st.lists(
    st.tuples(st.integers(1, 2), st.sampled_from((100, 200, 500))), min_size=1, max_size=2
)


class Bench:
    """A node with shared devices, of which so many thousandths are used, each two with a link; one
    that says nothing of itself; and a pod's claim.
    """

    def __init__(self, used: Sequence[int], wanted: DeviceClaim) -> None:
        self.cache = Cache()
        store = self.cache.store
        store.put(CLASSES["gpu"])
        links = [{LINK: DeviceAttribute(integer=i // 2)} for i in range(len(used))]
        devices = [shared_device(f"d{i}", **link) for i, link in enumerate(links)]
        store.put(make_slice("n", [*devices, Device(name="silent")]))
        self.cache.put_node(NODE)
        for i, milli in enumerate(used):
            if milli:
                store.put(_given(f"d{i}", milli))
        store.put(ResourceClaim(ClaimMeta("mine", "default", "uid"), ResourceClaimSpec(wanted)))
        claims = (PodResourceClaim("gpu", resource_claim_name="mine"),)
        self.pod = make_pod("mine", resource_claims=claims)
        self.table = WasteTable(CLASSES)
        self.table.rows(EXPECTED)

    def new_stocks(self) -> NodeStocks:
        """Nothing is known; stocks have the same numbers in all."""
        return NodeStocks(self.cache.store.index(DeviceLedger), self.table)

    def outcome(
        self, stocks: NodeStocks, weights: tuple[int, ...], *islands: str
    ) -> DeviceOutcome | None:
        """What comes of a search by these weights."""
        wanted = demand_of(self.pod, self.cache.store)
        assert wanted is not None
        order = DeviceOrder(islands, weights, self.table)
        search = OutcomeSearch(wanted, order, stocks, TimeBudget())
        return search.outcome(NODE, 0, search.known())


def _given(device: str, milli: int) -> ResourceClaim:
    taken = AllocatedDevice(
        "r", "a.test", "n", device, share_id="s", consumed_capacity={"milli": str(milli)}
    )
    status = ResourceClaimStatus(Allocation(DeviceAllocation((taken,))))
    return ResourceClaim(ClaimMeta(device, "default", f"uid-{device}"), status=status)


def _shares(asked: Sequence[tuple[int, int]], linked: bool = False) -> DeviceClaim:
    requests = tuple(
        DeviceRequest(
            f"r{i}",
            ExactDeviceRequest(
                "", "gpu", None, "ExactCount", count, None, CapacityRequirements({"milli": str(of)})
            ),
        )
        for i, (count, of) in enumerate(asked)
    )
    constraints = (DeviceConstraint(match_attribute=LINK),) if linked else None
    return DeviceClaim(requests, constraints)


@given(
    st.lists(st.sampled_from((0, 100, 300, 500, 600, 800, 1000)), min_size=1, max_size=5),
    asked_requests,
    st.lists(st.tuples(every_weight, st.sampled_from(((), (LINK,)))), min_size=2, max_size=5),
    st.booleans(),
)
def test_what_is_used_again_is_what_a_new_search_comes_to(
    used: list[int],
    asked: list[tuple[int, int]],
    orders: list[tuple[tuple[int, ...], tuple[str, ...]]],
    linked: bool,
) -> None:
    """Whatever was expected, and which islands counted, when it was searched."""
    bench = Bench(used, _shares(asked, linked))
    stocks = bench.new_stocks()
    for weights, islands in orders:
        fresh = bench.outcome(bench.new_stocks(), weights, *islands)
        assert bench.outcome(stocks, weights, *islands) == fresh


def test_other_weights_are_no_reason_to_search_again() -> None:
    """As long as waste ranks devices alike."""
    bench = Bench((500, 700), _shares([(1, 100)]))
    stocks = bench.new_stocks()
    alike = [bench.outcome(stocks, weights) for weights in ((0, 0, 64, 64), (0, 0, 128, 1024))]
    assert alike[0] is alike[1]
    assert alike[0] != bench.outcome(stocks, (0, 1024, 0, 0))


@pytest.mark.parametrize("alternatives", [False, True])
def test_a_fault_may_be_due_to_the_weights(alternatives: bool) -> None:
    """It ends the search, or an alternative: two devices that match are found before the one that
    says nothing of itself is looked at, or not.
    """
    links, none = (
        (DeviceSelector(CELSelector(text)),)
        for text in (
            'device.attributes["a.test"].link >= 0',
            "!device.allowMultipleAllocations",
        )
    )
    share = CapacityRequirements({"milli": "100"})
    two = DeviceSubRequest("two", "gpu", links, "ExactCount", 2, capacity=share)
    one = DeviceSubRequest("one", "gpu", none, "ExactCount", 1)
    request = (
        DeviceRequest("r", first_available=(two, one))
        if alternatives
        else DeviceRequest("r", ExactDeviceRequest("", "gpu", links, "ExactCount", 2, None, share))
    )
    same_link = DeviceConstraint(("r/two" if alternatives else "r",), LINK)
    bench = Bench((0, 0, 700), DeviceClaim((request,), (same_link,)))
    stocks = bench.new_stocks()
    found = []
    for weights in ((0, 0, 1024, 0), (0, 1024, 0, 0)):
        found.append(bench.outcome(stocks, weights))
        assert found[-1] == bench.outcome(bench.new_stocks(), weights)
    assert found[0] != found[1]


def test_stocks_are_kept_for_new_requests() -> None:
    """Until there are many, or a class changes."""
    store = Cache().store
    outcomes = store.index(DeviceOutcomes)
    first = outcomes.stocks(EXPECTED[:2])
    assert outcomes.stocks(EXPECTED) is first
    assert {*first.table.requests} == {*EXPECTED}
    outcomes.stocks(requests_for(*map(str, range(1, 600))))
    second = outcomes.stocks(EXPECTED)
    assert {*second.table.requests} == {*EXPECTED}
    store.put(CLASSES["gpu"])
    assert outcomes.stocks(EXPECTED) is not second
