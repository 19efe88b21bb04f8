"""Volcano's configuration: what becomes of each action, plugin and argument."""

from __future__ import annotations

from typing import Any

import pytest
import yaml

from moorage.apps.convert.origins import volcano_tables as tables
from tests.apps.convert.origins.cases import Converted, converted

ALL = "enqueue, allocate, backfill, preempt"
QUIET: list[Any] = [{"name": "gang"}, {"name": "predicates"}]
"""Plugins without which there is something to say."""


def of(*plugins: Any, actions: str = ALL, **fields: Any) -> Converted:
    """The report on a file with these plugins in its second tier; what is always said is left
    out.
    """
    tiers = [{"plugins": QUIET}, {"plugins": list(plugins)}]
    made = converted("volcano", yaml.safe_dump({"actions": actions, "tiers": tiers, **fields}))
    return made._replace(lines=[line for line in made.lines if tables.STOP_FIRST not in line])


SHIPPED = """
actions: "enqueue, allocate, backfill"
tiers:
- plugins:
  - name: priority
  - name: gang
    enablePreemptable: false
  - name: conformance
- plugins:
  - name: overcommit
  - name: drf
    enablePreemptable: false
  - name: predicates
  - name: proportion
  - name: nodeorder
  - name: binpack
"""


def test_the_file_that_volcano_ships() -> None:
    """Its nodeorder and its binpack prefer opposites, which comes to nothing; it does not preempt.
    In a ConfigMap, too.
    """
    made = converted("volcano", SHIPPED)
    spec = made.specs["volcano"]
    assert spec["plugins"] == {"multiPoint": {"disabled": [{"name": "DefaultPreemption"}]}}
    assert spec["weights"] == {
        "NodeAffinity": 2,
        "InterPodAffinity": 2,
        "NodeResourcesBalancedAllocation": 1,
        "TaintToleration": 3,
        "ImageLocality": 1,
        "PodTopologySpread": 2,
        "NodeResourcesFit": 0,
    }
    told = [line.split(": ")[1] for line in made.lines[1:]]
    assert told == [
        "actions",
        "tiers[0].plugins[2]",
        *(f"tiers[1].plugins[{i}]" for i in (0, 1, 3)),
    ]
    data = {"volcano-scheduler.conf": SHIPPED}
    wrapped = converted("volcano", yaml.safe_dump({"kind": "ConfigMap", "data": data}))
    assert wrapped.specs == made.specs


WEIGHED: dict[str, tuple[list[Any], dict[str, int]]] = {
    "no plugin that scores": ([], {"NodeAffinity": 0, "NodeResourcesFit": 0}),
    "nodeorder": ([{"name": "nodeorder"}], {"NodeAffinity": 2, "NodeResourcesFit": 1}),
    "nodeorder with arguments": (
        [{"name": "nodeorder", "arguments": {"nodeaffinity.weight": 7, "mostrequested.weight": 5}}],
        {"NodeAffinity": 7, "NodeResourcesFit": 4},
    ),
    "nodeorder that does not order": (
        [{"name": "nodeorder", "enableNodeOrder": False}],
        {"NodeAffinity": 0, "NodeResourcesFit": 0},
    ),
    "binpack": (
        [{"name": "binpack", "arguments": {"binpack.weight": 10}}],
        {"NodeAffinity": 0, "NodeResourcesFit": 10},
    ),
    "resource-strategy-fit": ([{"name": "resource-strategy-fit"}], {"NodeResourcesFit": 10}),
}


@pytest.mark.parametrize("case", WEIGHED)
def test_weights(case: str) -> None:
    """A score that is not listed has none."""
    plugins, want = WEIGHED[case]
    weights = of(*plugins).specs["volcano"]["weights"]
    assert {name: weights[name] for name in want} == want


@pytest.mark.parametrize(
    ("plugin", "kind", "resources"),
    [
        ({"name": "nodeorder"}, "LeastAllocated", {"cpu": 1, "memory": 1}),
        (
            {
                "name": "binpack",
                "arguments": {
                    "binpack.cpu": 5,
                    "binpack.resources": "nvidia.com/gpu, a.test/b",
                    "binpack.resources.nvidia.com/gpu": 2,
                },
            },
            "MostAllocated",
            {"cpu": 5, "memory": 1, "nvidia.com/gpu": 2, "a.test/b": 1},
        ),
        (
            {
                "name": "resource-strategy-fit",
                "arguments": {
                    "resources": {
                        "nvidia.com/gpu": {"type": "MostAllocated", "weight": 2},
                        "cpu": {"type": "LeastAllocated", "weight": 1},
                    }
                },
            },
            "MostAllocated",
            {"nvidia.com/gpu": 1},
        ),
    ],
    ids=["nodeorder", "binpack", "resource-strategy-fit"],
)
def test_scoring_strategy(plugin: Any, kind: str, resources: dict[str, int]) -> None:
    """Of NodeResourcesFit."""
    config = of(plugin).specs["volcano"]["pluginConfig"]
    (strategy,) = [one["args"]["scoringStrategy"] for one in config if "Fit" in one["name"]]
    listed = {one["name"]: one["weight"] for one in strategy["resources"]}
    assert (strategy["type"], listed) == (kind, resources)


@pytest.mark.parametrize("switch", tables.PREDICATES)
@pytest.mark.parametrize("off", [False, "false", "0"])
def test_filters_that_are_switched_off(switch: str, off: Any) -> None:
    """Where the plugin scores too, that stays."""
    name = tables.PREDICATES[switch]
    made = of({"name": "predicates", "arguments": {switch: off}})
    scores = name in {plugin for plugin, _ in tables.SCORES.values()}
    points = ("preFilter", "filter") if scores else ("multiPoint",)
    assert made.specs["volcano"]["plugins"] == {
        point: {"disabled": [{"name": name}]} for point in points
    }
    assert made.lines == []


TOLD: dict[str, tuple[Converted, list[str]]] = {
    "all is well": (of({"name": "priority"}, {"name": "pdb"}), []),
    "no preemption": (of(actions="allocate"), ["actions: preempt is not among them: "]),
    "an action of queues": (of(actions=f"{ALL}, reclaim"), ["actions: reclaim is left out: "]),
    "an unknown action": (of(actions=f"{ALL}, dance"), ["actions: dance is left out: no action"]),
    "a plugin without an equal": (
        of({"name": "capacity"}),
        ["tiers[1].plugins[0]: capacity is left out: there are no queues with shares"],
    ),
    "a plugin that nobody knows": (
        of({"name": "own"}),
        ["tiers[1].plugins[0]: own is left out: no plugin of Volcano"],
    ),
    "an argument that nobody knows": (
        of({"name": "binpack", "arguments": {"x": 1}}),
        ["tiers[1].plugins[0].arguments[x]: is left out: nothing here"],
    ),
    "an argument without an equal": (
        of({"name": "resource-strategy-fit", "arguments": {"sra": {"enable": True}}}),
        ["tiers[1].plugins[0].arguments[sra]: is left out: keep pods that need"],
    ),
    "an argument that changes no decision": (
        of({"name": "predicates", "arguments": {"predicate.CacheEnable": True}}),
        [],
    ),
    "no number": (
        of({"name": "binpack", "arguments": {"binpack.weight": "ten"}}),
        ["tiers[1].plugins[0].arguments[binpack.weight]: 'ten' is left out: should be a whole"],
    ),
    "a kind of resources": (
        of({"name": "resource-strategy-fit", "arguments": {"resources": {"a.test/*": {}}}}),
        ["tiers[1].plugins[0].arguments[resources]: a.test/* is left out: name each"],
    ),
    "opposites": (
        of({"name": "nodeorder"}, {"name": "binpack", "arguments": {"binpack.cpu": 5}}),
        ["tiers: some scores prefer full nodes and others empty ones, which cancels out for "],
    ),
    "fields of the process": (
        of(configurations=[{"name": "enqueue"}], metrics={"type": "prometheus"}, other=1),
        ["configurations: is left out: ", "metrics: is left out: ", "other: is left out: "],
    ),
}


@pytest.mark.parametrize("case", TOLD)
def test_what_is_told(case: str) -> None:
    """With the field's path; the exit status is that of something converted."""
    made, want = TOLD[case]
    assert made.status == 0
    assert len(made.lines) == len(want)
    for line, beginning in zip(made.lines, want, strict=True):
        assert line.startswith(f"warning: {beginning}")


PLUGINS = """
binpack capacity cdp conformance deviceshare drf extender gang network-topology-aware nodegroup
nodeorder numa-aware overcommit pdb predicates priority proportion rescheduling
resource-strategy-fit resourcequota sla task-topology tdm usage
"""
"""All that Volcano registers, August 2026; its actions are in the table."""


@pytest.mark.parametrize("name", PLUGINS.split())
def test_every_plugin_of_volcano_is_known(name: str) -> None:
    """None of them is called unknown."""
    assert not [line for line in of({"name": name}).lines if tables.UNKNOWN_PLUGIN in line]


def test_a_file_without_gang_or_predicates() -> None:
    """What is not asked for there is so here all the same, which is told."""
    lines = converted("volcano", "{tiers: [], actions: preempt}").lines
    assert lines[1:] == [
        f"warning: tiers: {tables.GANG_ABSENT}",
        f"warning: tiers: {tables.PREDICATES_ABSENT}",
    ]


ODD = [
    "tiers: [3, {plugins: 3}, {plugins: [3, {}]}]",
    "{tiers: [], actions: 3}",
    "tiers: [{plugins: [{name: binpack, arguments: 3}]}]",
    "tiers: [{plugins: [{name: binpack, arguments: {binpack.resources: 3}}]}]",
    "tiers: [{plugins: [{name: resource-strategy-fit, arguments: {resources: {cpu: 3, a: {}}}}]}]",
    "tiers: [{plugins: [{name: nodeorder, arguments: {nodeaffinity.weight: 99999999999}}]}]",
]


@pytest.mark.parametrize("text", ODD)
def test_odd_files_end_nothing(text: str) -> None:
    """Whatever stands where something else should."""
    assert converted("volcano", text).status == 0


def test_a_key_that_comes_twice() -> None:
    """One of both would be lost."""
    made = converted("volcano", "tiers: []\ntiers: []\n")
    assert made.status == 1
    assert "the key 'tiers' comes twice" in made.lines[0]
