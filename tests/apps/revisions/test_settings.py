"""Settings: what is in effect, and who says it."""

from __future__ import annotations

from typing import Any

import pytest

from moorage.apps.revisions.settings import Settings, differences, settings
from tests.api.profiles import RESOLVER, a_config, a_profile

FIT = "NodeResourcesFit"
CPU = "scoringStrategy.resources[cpu]"


def of(spec: dict[str, Any], *configs: dict[str, Any]) -> Settings:
    """The settings of a profile with this spec."""
    resolution = RESOLVER(a_profile(spec), {one["metadata"]["name"]: one for one in configs})
    assert resolution.errors == ()
    return settings(resolution, RESOLVER)


def strategy(cpu: int) -> dict[str, Any]:
    """NodeResourcesFit's arguments with this weight of cpu."""
    resources = [{"name": "cpu", "weight": cpu}, {"name": "memory", "weight": 1}]
    return {"scoringStrategy": {"type": "LeastAllocated", "resources": resources}}


def inline(args: dict[str, Any]) -> dict[str, Any]:
    """A spec with NodeResourcesFit's arguments."""
    return {"pluginConfig": [{"name": FIT, "args": args}]}


REFERENCE = {"pluginConfig": [{"name": FIT, "configRef": {"name": "c"}}]}

SAID: dict[str, tuple[dict[str, Any], str, str, str]] = {
    "the preset's weight": ({}, f"weight of {FIT}", "1", "preset Default"),
    "weights": ({"weights": {FIT: 7}}, f"weight of {FIT}", "7", "spec.weights"),
    "a list's weight": (
        {"plugins": {"score": {"enabled": [{"name": FIT, "weight": 6}]}}},
        f"weight of {FIT}",
        "6",
        "spec.plugins.score",
    ),
    "weights before lists": (
        {
            "plugins": {"multiPoint": {"enabled": [{"name": FIT, "weight": 6}]}},
            "weights": {FIT: 7},
        },
        f"weight of {FIT}",
        "7",
        "spec.weights",
    ),
    "inline": (inline(strategy(3)), f"{FIT} {CPU}", "3", "spec.pluginConfig"),
    "by reference": (REFERENCE, f"{FIT} {CPU}", "5", "PluginConfig c"),
    "by nobody": ({}, f"{FIT} {CPU}", "1", "the plugin's default"),
    "beside what is said": (
        inline({"ignoredResources": ["example.com/a"]}),
        f"{FIT} {CPU}",
        "1",
        "the plugin's default",
    ),
    "the preset's arguments": (
        {"preset": "BinPack"},
        f"{FIT} scoringStrategy.type",
        "MostAllocated",
        "preset BinPack",
    ),
    "the operator": ({}, "podMaxBackoffSeconds", "10", "the operator"),
    "a number": (
        {"podMaxBackoffSeconds": 20},
        "podMaxBackoffSeconds",
        "20",
        "spec.podMaxBackoffSeconds",
    ),
    "a plugin": (
        {"plugins": {"filter": {"disabled": [{"name": "NodePorts"}]}}},
        "plugin NodePorts",
        "preFilter",
        "spec.plugins.filter",
    ),
}


@pytest.mark.parametrize("case", SAID)
def test_each_has_a_value_and_somebody_who_says_it(case: str) -> None:
    """Whatever stands above the others counts."""
    spec, name, value, said_by = SAID[case]
    assert of(spec, a_config("c", FIT, strategy(5)))[name] == (value, said_by)


def test_what_differs() -> None:
    """Values, told with both who say them; what is said elsewhere and is the same is not told."""
    a = of(REFERENCE, a_config("c", FIT, strategy(3)))
    b = of({**inline(strategy(2)), "weights": {FIT: 1}})
    (one,) = differences(a, b)
    assert one.sentence == f"{FIT} {CPU} 3 -> 2"
    assert one.said_by == "PluginConfig c -> spec.pluginConfig"
    assert differences(a, a) == []


def test_a_plugin_that_only_one_has() -> None:
    """Is told by its weight and its points, not by arguments that nobody says."""
    disabled = {"plugins": {"multiPoint": {"disabled": [{"name": "NodeAffinity"}]}}}
    found = differences(of({}), of(disabled))
    assert {one.setting for one in found} == {"weight of NodeAffinity", "plugin NodeAffinity"}
    assert {one.values[1] for one in found} == {"-"}


def test_an_order_is_told_where_the_plugins_are_the_same() -> None:
    """As they are asked in another order."""
    first = {"plugins": {"filter": {"enabled": [{"name": "TaintToleration"}]}}}
    (one,) = differences(of({}), of(first))
    assert one.setting == "order at filter"
    then, now = (value.split(", ") for value in one.values)
    assert sorted(then) == sorted(now) and now[0] == then[-2] == "TaintToleration"
    assert then[-1] == now[-1] == "..."  # the others are asked as before


def test_the_order_of_scores_is_none() -> None:
    """They are added up."""
    names = list(RESOLVER({"metadata": {"name": "p"}}, {}).revision.weights)
    in_order = {"disabled": [{"name": "*"}], "enabled": [{"name": name} for name in names]}
    back = {**in_order, "enabled": in_order["enabled"][::-1]}
    a, b = (of({"plugins": {"score": order}}) for order in (in_order, back))
    assert differences(a, b) == []
