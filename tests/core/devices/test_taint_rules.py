"""Taints that rules give to devices."""

from __future__ import annotations

import pytest

from moorage.core.columns.store import Store
from moorage.core.devices.taint_rules import TaintedSlices, tainted
from moorage.core.objects.meta import ObjectMeta
from moorage.core.objects.nodes import Taint
from moorage.core.objects.resource_claims import (
    Device,
    DeviceTaintRule,
    DeviceTaintRuleSpec,
    DeviceTaintSelector,
    ResourcePool,
    ResourceSlice,
    ResourceSliceSpec,
)

OWN, HOT, OLD = (Taint(key, effect="NoSchedule") for key in ("own", "hot", "old"))
ALL = DeviceTaintSelector()


def piece(name: str = "s", driver: str = "a", pool: str = "p") -> ResourceSlice:
    """A slice of two devices, one of which the driver itself taints."""
    devices = (Device(name="d0", taints=(OWN,)), Device(name="d1"))
    spec = ResourceSliceSpec(driver=driver, pool=ResourcePool(pool), devices=devices)
    return ResourceSlice(ObjectMeta(name), spec)


def rule(name: str, selector: DeviceTaintSelector | None, taint: Taint = HOT) -> DeviceTaintRule:
    """A rule."""
    return DeviceTaintRule(ObjectMeta(name), DeviceTaintRuleSpec(selector, taint))


def borne(shown: ResourceSlice) -> list[list[str]]:
    """The keys of each device's taints."""
    return [[taint.key for taint in device.taints or ()] for device in shown.spec.devices or ()]


@pytest.mark.parametrize(
    ("selector", "expected"),
    [
        (None, [["own"], []]),
        (ALL, [["own", "hot"], ["hot"]]),
        (DeviceTaintSelector(driver="a"), [["own", "hot"], ["hot"]]),
        (DeviceTaintSelector(driver="b"), [["own"], []]),
        (DeviceTaintSelector(pool="p", device="d1"), [["own"], ["hot"]]),
        (DeviceTaintSelector(pool="q", device="d1"), [["own"], []]),
        (DeviceTaintSelector(driver="a", device="d2"), [["own"], []]),
    ],
)
def test_a_rule_selects_by_all_that_it_says(
    selector: DeviceTaintSelector | None, expected: list[list[str]]
) -> None:
    """Without a selector it selects nothing, and an empty one everything."""
    assert borne(tainted(piece(), [rule("r", selector)])) == expected


def test_taints_of_rules_stand_behind_the_drivers_in_the_order_of_the_rules_names() -> None:
    """However the rules came."""
    assert borne(tainted(piece(), [rule("z", ALL, OLD), rule("b", ALL)])) == [
        ["own", "hot", "old"],
        ["hot", "old"],
    ]


def test_a_slice_is_handed_on_anew_when_its_taints_change_and_only_then() -> None:
    """Each time with what it was before."""
    store, told = Store(), list[tuple[str, str]]()

    def put(old: ResourceSlice | None, new: ResourceSlice | None) -> None:
        told.append(tuple(str(borne(one)) if one else "" for one in (old, new)))  # type: ignore[arg-type]

    store.put(rule("early", DeviceTaintSelector(driver="b")))
    store.put(piece())
    TaintedSlices(store, put)
    plain, hot = "[['own'], []]", "[['own', 'hot'], ['hot']]"
    assert told == [("", plain)]
    store.put(rule("r", ALL))
    store.put(rule("r", DeviceTaintSelector(driver="a")))
    store.put(rule("other", DeviceTaintSelector(driver="b")))
    assert told[1:] == [(plain, hot)]
    store.put(piece())
    store.remove(DeviceTaintRule, "r")
    store.remove(ResourceSlice, "s")
    assert told[2:] == [(hot, hot), (hot, plain), (plain, "")]


def test_a_rule_is_all_or_none() -> None:
    """Where one slice cannot be taken, none has changed."""
    store, now = Store(), dict[str, ResourceSlice]()

    def put(old: ResourceSlice | None, new: ResourceSlice | None) -> None:
        shown = new or old
        assert shown is not None
        assert now.get(shown.metadata.name) is old or now[shown.metadata.name] == old
        if new is not None and new.metadata.name == "s2" and len(borne(new)[0]) > 1:
            raise ValueError("no")
        now.pop(shown.metadata.name, None) if new is None else now.update({new.metadata.name: new})

    TaintedSlices(store, put)
    for name in ("s1", "s2"):
        store.put(piece(name))
    with pytest.raises(ValueError, match="no"):
        store.put(rule("r", ALL))
    assert {name: borne(one) for name, one in now.items()} == {
        name: [["own"], []] for name in ("s1", "s2")
    }
    assert not store.objects(DeviceTaintRule)
    store.put(rule("r", DeviceTaintSelector(device="d1")))
    assert borne(now["s1"]) == [["own"], ["hot"]]
