"""DeviceScoring: which devices and which nodes are taken, and what is learnt of demand."""

from __future__ import annotations

from collections import Counter
from typing import Any, NamedTuple

import msgspec
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from moorage.core.columns.cache import Cache
from moorage.core.cycle.context import CycleContext, ScheduleResult
from moorage.core.cycle.cycle import assume_and_reserve, decide
from moorage.core.framework.companions import DeviceOrderingPlugin
from moorage.core.framework.interfaces import PreScorePlugin, ScoreExtensions, ScorePlugin
from moorage.core.framework.registry import build_registry
from moorage.core.framework.revisions import (
    EnabledPlugins,
    PluginRef,
    RequestedProfile,
    Revision,
    resolve,
)
from moorage.core.objects import resource_claims
from moorage.core.objects.meta import ObjectMeta
from moorage.core.objects.pods import Pod, PodResourceClaim
from moorage.core.objects.resource_claims import (
    CounterConsumption,
    CounterSet,
    Device,
    DeviceAttribute,
    DeviceClass,
    ResourcePool,
    ResourceSlice,
    ResourceSliceSpec,
)
from moorage.core.plugins.device_scoring.arguments import (
    DeviceScoringArgs,
    ExpectedCapacity,
    ExpectedRequest,
)
from moorage.core.plugins.device_scoring.demand import LearntDemand, kinds_of
from moorage.core.plugins.device_scoring.plugin import DeviceScoring
from moorage.core.plugins.intree import INTREE, PRESETS
from moorage.core.pods.requests import pod_requests
from tests.builders import make_claim, make_node, make_pod, make_slice, shared_device

PLUGIN = DeviceScoring()
_protocols: tuple[PreScorePlugin, ScorePlugin, ScoreExtensions, DeviceOrderingPlugin] = (
    PLUGIN,
) * 4
LINK, ROOT = "a.test/link", "a.test/root"
WHOLE = ExpectedRequest("gpu", 1, (ExpectedCapacity("milli", "1000"),), cpu="1")
HALF = ExpectedRequest("gpu", 1, (ExpectedCapacity("milli", "500"),), cpu="1")


def revision(on: bool = True, **args: Any) -> Revision:
    """A profile in which nothing else scores."""
    names = ["PrioritySort", "NodeResourcesFit", "DynamicResources", "DefaultBinder"]
    names += ["DeviceScoring"] * on
    plugins = {"multiPoint": EnabledPlugins(tuple(map(PluginRef, names)), ("*",))}
    weights = {"NodeResourcesFit": 0, "DynamicResources": 0}
    own = {"DeviceScoring": DeviceScoringArgs(**args)} if on else {}
    profile = RequestedProfile("test", "Default", plugins, weights=weights, args=own)
    return resolve(profile, build_registry(INTREE), PRESETS)


def whole(name: str, **islands: str) -> Device:
    """A device that is given as a whole."""
    attributes = {f"a.test/{key}": DeviceAttribute(string=value) for key, value in islands.items()}
    return Device(name=name, attributes=attributes)


def half(name: str, gpu: str) -> Device:
    """One of two partitions of a GPU."""
    taken = CounterConsumption(gpu, {"memory": resource_claims.Counter("40")})
    return Device(name=name, consumes_counters=(taken,))


def slices_of(node: str, devices: tuple[Device, ...]) -> list[ResourceSlice]:
    """The devices of a node, and the GPUs that partitions are of."""
    devices_alone = make_slice(node, devices)
    gpus = dict.fromkeys(
        taken.counter_set for one in devices for taken in one.consumes_counters or ()
    )
    if not gpus:
        return [devices_alone]
    pool = ResourcePool(node, 1, 2)
    sets = tuple(CounterSet(gpu, {"memory": resource_claims.Counter("80")}) for gpu in gpus)
    counters = ResourceSliceSpec(node, driver="a.test", pool=pool, shared_counters=sets)
    return [
        msgspec.structs.replace(
            devices_alone, spec=msgspec.structs.replace(devices_alone.spec, pool=pool)
        ),
        ResourceSlice(ObjectMeta(f"{node}-counters"), counters),
    ]


def world(**nodes: tuple[Device, ...]) -> CycleContext:
    """Nodes with these devices."""
    cache = Cache()
    cache.store.put(DeviceClass(ObjectMeta("gpu")))
    for name, devices in nodes.items():
        for piece in slices_of(name, devices) if devices else ():
            cache.store.put(piece)
        cache.put_node(make_node(name, cpu="8"))
    return CycleContext(cache)


def user(context: CycleContext, name: str, count: int = 1, milli: int = 0, **spec: Any) -> Pod:
    """A pod with a claim, which is put into the store."""
    context.cache.store.put(make_claim(name, count=count, milli=milli))
    claims = (PodResourceClaim("gpu", resource_claim_name=name),)
    return make_pod(name, resource_claims=claims, **spec)


def placed(pod: Pod, context: CycleContext, by: Revision) -> tuple[str, list[str]]:
    """The node that a pod was placed on, and its devices there."""
    outcome = decide(pod, by, context)
    assert isinstance(outcome, ScheduleResult), outcome.message
    outcome = assume_and_reserve(outcome, context)
    assert isinstance(outcome, ScheduleResult), outcome.message
    reserved = outcome.reservations.get("DynamicResources")
    claims = reserved.value.claims if reserved is not None else ()
    given = [one for each in claims for one in each.allocation.devices.results or ()]
    return outcome.node, sorted(one.device for one in given)


# ---- which devices -------------------------------------------------------------------------------


FOUR_AND_TWO = tuple(whole(f"d{i}", link="x" if i < 4 else "y") for i in range(6))
PAIRS = tuple(whole(f"d{i}", link=str(i // 2)) for i in range(6))
SIX_AND_TWO = tuple(whole(f"d{i}", link="x" if i < 6 else "y") for i in range(8))
NESTED = tuple(whole(f"d{i}", link=str(i // 4), root=str(i // 2)) for i in range(8))


class Taken(NamedTuple):
    """Devices of one node; how many pods before asked for (count, milli); what is asked for now,
    and which devices that comes to.
    """

    devices: tuple[Device, ...]
    islands: tuple[str, ...]
    before: tuple[tuple[int, int], ...]
    asked: tuple[int, int]
    want: list[str]


@pytest.mark.parametrize(
    "case",
    [
        Taken(FOUR_AND_TWO, (LINK,), (), (2, 0), ["d4", "d5"]),
        Taken(FOUR_AND_TWO, (LINK,), (), (3, 0), ["d0", "d1", "d2"]),
        Taken(FOUR_AND_TWO, (LINK,), ((1, 0),), (1, 0), ["d5"]),
        Taken(SIX_AND_TWO, (LINK,), ((3, 0),), (1, 0), ["d3"]),
        Taken(FOUR_AND_TWO, (), (), (2, 0), ["d0", "d1"]),
        Taken(PAIRS, (LINK,), ((1, 0),), (1, 0), ["d1"]),
        Taken(PAIRS, (LINK,), ((1, 0),), (2, 0), ["d2", "d3"]),
        Taken(NESTED, (ROOT, LINK), ((2, 0),), (2, 0), ["d2", "d3"]),
        Taken(NESTED, (ROOT, LINK), ((2, 0),), (4, 0), ["d4", "d5", "d6", "d7"]),
        Taken(tuple(shared_device(f"d{i}") for i in range(2)), (), ((1, 600),), (1, 300), ["d0"]),
        Taken(tuple(shared_device(f"d{i}") for i in range(2)), (), ((1, 600),), (1, 500), ["d1"]),
        Taken(
            tuple(half(f"{gpu}{i}", gpu) for i in (0, 1) for gpu in "xy"),
            (),
            ((1, 0),),
            (1, 0),
            ["x1"],
        ),
    ],
    ids=[
        "the smallest island that has enough",
        "the island that has enough",
        "one of an island that is broken, not of a whole one",
        "one of a broken island, though it has more to spare",
        "first fit without islands",
        "the other one of a broken island",
        "an island that has enough",
        "the tightest island that has enough, in the larger one that is broken",
        "a larger island where no tight one has enough",
        "the device that is shared already",
        "another device where that one is too full",
        "the other half of a GPU",
    ],
)
def test_devices_that_are_taken(case: Taken) -> None:
    """Whole islands and whole devices stay free where others do."""
    context = world(n=case.devices)
    by = revision(islands=case.islands, demand=(WHOLE, HALF))
    for i, (count, milli) in enumerate(case.before):
        placed(user(context, f"before-{i}", count, milli), context, by)
    assert placed(user(context, "now", *case.asked), context, by)[1] == case.want


def test_first_fit_where_it_is_off() -> None:
    """Allocation is kube-scheduler's."""
    context, by = world(n=FOUR_AND_TWO), revision(on=False)
    assert placed(user(context, "one", 1), context, by)[1] == ["d0"]
    assert placed(user(context, "two", 2), context, by)[1] == ["d1", "d2"]


# ---- which nodes ---------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("nodes", "islands", "before", "asked", "want"),
    [
        ({"a": FOUR_AND_TWO[:4], "b": PAIRS[:2]}, (LINK,), [], (2, 0), "b"),
        ({"a": PAIRS[:4], "b": FOUR_AND_TWO[:4]}, (LINK,), [], (3, 0), "b"),
        ({"a": (shared_device("d0"),), "b": (shared_device("d0"),)}, (), [(1, 500)], (1, 500), ""),
        ({"a": (shared_device("d0"),), "b": ()}, (), [], None, "b"),
    ],
    ids=[
        "the smallest island that has enough",
        "devices that are near each other",
        "where a device is shared already",
        "a pod without claims strands no devices",
    ],
)
def test_nodes_that_are_taken(
    nodes: dict[str, tuple[Device, ...]],
    islands: tuple[str, ...],
    before: list[tuple[int, int]],
    asked: tuple[int, int] | None,
    want: str,
) -> None:
    """By islands, then by waste; "": where the pod before is."""
    context, by = world(**nodes), revision(islands=islands, demand=(WHOLE, HALF))
    there = [
        placed(user(context, f"before-{i}", *one), context, by)[0] for i, one in enumerate(before)
    ]
    pod = user(context, "now", *asked) if asked else make_pod("now", cpu="8")
    assert placed(pod, context, by)[0] == (want or there[0])


@pytest.mark.parametrize(
    ("expected", "asked", "want"), [("300", 200, "a"), ("100", 200, "b"), ("500", 300, "b")]
)
def test_what_is_left_serves_the_demand(expected: str, asked: int, want: str) -> None:
    """Of a device 500 are left on node a, 300 on node b. A share goes where the rest is of use to
    what is expected; where it is of use on both, to the fuller one.
    """
    context = world(a=(shared_device("d0"),), b=(shared_device("d0"),))
    demand = (ExpectedRequest("gpu", 1, (ExpectedCapacity("milli", expected),)),)
    by = revision(demand=demand)
    for node, milli in (("a", 500), ("b", 700)):
        context.cache.put_node(make_node(node, cpu="8", labels={"at": node}))
        pod = user(context, f"at-{node}", 1, milli, node_selector={"at": node})
        placed(pod, context, _pinned(demand))
    assert placed(user(context, "now", 1, asked), context, by)[0] == want


def _pinned(demand: tuple[ExpectedRequest, ...]) -> Revision:
    """A profile that heeds node selectors, too."""
    names = ["PrioritySort", "NodeResourcesFit", "NodeAffinity", "DynamicResources"]
    names += ["DefaultBinder", "DeviceScoring"]
    plugins = {"multiPoint": EnabledPlugins(tuple(map(PluginRef, names)), ("*",))}
    own = {"DeviceScoring": DeviceScoringArgs(demand=demand)}
    profile = RequestedProfile("test", "Default", plugins, args=own)
    return resolve(profile, build_registry(INTREE), PRESETS)


def test_demand_beyond_all_nodes() -> None:
    """What no node could ever have is expected like any other, and serves nobody."""
    context = world(a=(shared_device("d0"),))
    demand = (ExpectedRequest("gpu", cpu="9E", memory="1000E", weight=1_000_000), WHOLE)
    assert placed(make_pod("now", cpu="8"), context, revision(demand=demand))[0] == "a"


def test_scores_are_places() -> None:
    """100 for the best, one less for each better score, never below 0."""
    raw = np.array([-3, -1, -1, -2], np.int64)
    assert PLUGIN.normalize_score(None, raw).tolist() == [98, 100, 100, 99]
    many = -np.arange(200, dtype=np.int64)
    assert PLUGIN.normalize_score(None, many).tolist() == [*range(100, 0, -1), *[0] * 100]


# ---- what is learnt ------------------------------------------------------------------------------


@given(st.lists(st.tuples(st.sampled_from("abc"), st.integers(1, 2), st.booleans()), max_size=12))
def test_demand_is_what_pods_on_nodes_ask_for(steps: list[tuple[str, int, bool]]) -> None:
    """However it came about; what is gone is forgotten. Counts are powers of two."""
    context = world(n=())
    learnt = context.cache.store.index(LearntDemand)
    there: dict[str, Pod] = {}
    for name, count, comes in steps:
        if name in there:
            context.cache.remove(there.pop(name).metadata.uid)
        if comes:
            pod = there[name] = user(context, name, count, node="n")
            context.cache.observe(pod, pod_requests(pod))
        learnt.catch_up(context.snapshot)
    want = Counter(kind for pod in there.values() for kind in kinds_of(pod, context.cache.store))
    found = learnt.demand()
    kinds = zip(found.cpu, found.memory, found.request_of, found.weights, strict=True)
    assert {(cpu, memory, found.requests[of]): weight for cpu, memory, of, weight in kinds} == {
        kind: 1 << count.bit_length() >> 1 for kind, count in want.items()
    }


def test_learnt_demand_is_used() -> None:
    """Halves are packed as if they had been told."""
    context, by = world(a=(shared_device("d0"),), b=(shared_device("d0"),)), revision()
    first = placed(user(context, "one", 1, 500), context, by)
    assert placed(user(context, "two", 1, 500), context, by) == first


# ---- arguments -----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("args", "path"),
    [
        (DeviceScoringArgs(islands=("numa",)), "islands[0]"),
        (DeviceScoringArgs(islands=(LINK, ROOT, LINK)), "islands[2]"),
        (DeviceScoringArgs(demand=(ExpectedRequest("gpu", cpu="-1"),)), "demand[0].cpu"),
        (DeviceScoringArgs(demand=(WHOLE, ExpectedRequest("g", memory="x"))), "demand[1].memory"),
        (
            DeviceScoringArgs(demand=(ExpectedRequest("g", 1, (ExpectedCapacity("m", "?"),)),)),
            "demand[0].capacity[0].amount",
        ),
    ],
)
def test_arguments_that_are_refused(args: DeviceScoringArgs, path: str) -> None:
    """With the field that is wrong."""
    assert [one.path for one in args.validate()] == [path]


def test_arguments_that_are_alike() -> None:
    """They have the same hash, and are told apart by all of them."""
    one, other = DeviceScoringArgs(demand=(WHOLE, HALF)), DeviceScoringArgs(demand=(WHOLE, WHOLE))
    assert not one.validate()
    assert hash(one) == hash(DeviceScoringArgs(demand=(WHOLE, HALF)))
    assert one != other
