"""YuniKorn's configuration: what becomes of each field of partitions and queues."""

from __future__ import annotations

from typing import Any

import pytest
import yaml

from moorage.apps.convert.origins import yunikorn_tables as tables
from tests.apps.convert.origins.cases import Converted, converted


def of(**partition: Any) -> Converted:
    """The report on a file with this partition; what is always said is left out."""
    return quiet(
        converted("yunikorn", yaml.safe_dump({"partitions": [partition]}, sort_keys=False))
    )


def quiet(made: Converted) -> Converted:
    """Without what is always said."""
    always = [f"warning: {text}" for text in tables.ALWAYS]
    return made._replace(lines=[line for line in made.lines if line not in always])


def queue(**fields: Any) -> list[Any]:
    """The root queue with these fields."""
    return [{"name": "root", **fields}]


@pytest.mark.parametrize(
    ("policy", "kind", "resources"),
    [
        (None, "LeastAllocated", {"cpu": 1, "memory": 1}),
        ({"type": "fair"}, "LeastAllocated", {"cpu": 1, "memory": 1}),
        (
            {"type": "binpacking", "resourceweights": {"vcore": 4.0, "memory": 1.0, "a.test/b": 2}},
            "MostAllocated",
            {"cpu": 4, "memory": 1, "a.test/b": 2},
        ),
    ],
)
def test_how_nodes_are_sorted(policy: Any, kind: str, resources: dict[str, int]) -> None:
    """By nothing else, so the preset scores nothing."""
    made = of(name="default", **({"nodesortpolicy": policy} if policy else {}))
    listed = [{"name": name, "weight": weight} for name, weight in resources.items()]
    strategy = {"type": kind, "resources": listed}
    assert made.lines == []
    assert made.specs == {
        "yunikorn": {
            "preset": "NoScoring",
            "plugins": {"score": {"enabled": [{"name": "NodeResourcesFit"}]}},
            "pluginConfig": [{"name": "NodeResourcesFit", "args": {"scoringStrategy": strategy}}],
        }
    }


def test_no_weights_sort_nothing() -> None:
    """Then any node will do."""
    made = of(name="default", nodesortpolicy={"type": "fair", "resourceweights": {"vcore": 0}})
    assert made.specs["yunikorn"] == {"preset": "NoScoring"}


def test_a_partition_that_does_not_preempt() -> None:
    """Nor does the profile."""
    made = of(name="default", preemption={"enabled": False})
    plugins = made.specs["yunikorn"]["plugins"]
    assert plugins["multiPoint"] == {"disabled": [{"name": "DefaultPreemption"}]}


P = "partitions[0]"
TOLD: dict[str, tuple[Converted, list[str]]] = {
    "everybody may submit": (of(queues=queue(submitacl="*", parent=True)), []),
    "first come, first served": (
        of(queues=queue(properties={"application.sort.policy": "fifo"})),
        [],
    ),
    "a child's quota": (
        of(
            queues=queue(
                queues=[
                    {"name": "a", "resources": {"guaranteed": {"vcore": 1}, "max": {"vcore": 2}}}
                ]
            )
        ),
        [
            f"{P}.queues[0].queues[0].resources.guaranteed: is left out: there are no",
            f"{P}.queues[0].queues[0].resources.max: is left out: there are no",
        ],
    ),
    "a template's": (
        of(queues=queue(childtemplate={"maxapplications": 3, "resources": {"max": {"vcore": 2}}})),
        [
            f"{P}.queues[0].childtemplate.maxapplications: is left out: ",
            f"{P}.queues[0].childtemplate.resources.max: is left out: ",
        ],
    ),
    "properties": (
        of(
            queues=queue(
                properties={"application.sort.policy": "fair", "priority.offset": "10", "own": "x"}
            )
        ),
        [
            f"{P}.queues[0].properties.application.sort.policy: is left out: the queue is sorted",
            f"{P}.queues[0].properties.priority.offset: is left out: write it into",
            f"{P}.queues[0].properties.own: is left out: nothing here",
        ],
    ),
    "who may": (
        of(queues=queue(submitacl="a b", adminacl="c"), limits=[{"users": ["a"]}]),
        [
            f"{P}.queues[0].submitacl: is left out: who may create",
            f"{P}.queues[0].adminacl: is left out: who may create",
            f"{P}.limits: is left out: users have no quotas",
        ],
    ),
    "how pods find their queue": (
        of(placementrules=[{"name": "tag", "value": "namespace"}]),
        [f"{P}.placementrules: is left out: which queue a pod is of is said by the label "],
    ),
    "what is empty": (of(placementrules=[], limits=None, usergroupresolver={}), []),
    "a policy that nobody knows": (
        of(nodesortpolicy={"type": "random"}),
        [f"{P}.nodesortpolicy.type: 'random' is left out: should be fair or binpacking"],
    ),
    "a weight that is none": (
        of(
            nodesortpolicy={
                "resourceweights": {"b": 1, "x": "x", "y": float("inf"), "z": float("nan"), "a": -1}
            }
        ),
        [f"{P}.nodesortpolicy.resourceweights[{name}]: " for name in "xyza"],
    ),
}


@pytest.mark.parametrize("case", TOLD)
def test_what_is_told(case: str) -> None:
    """With the field's path."""
    made, want = TOLD[case]
    assert made.status == 0
    assert len(made.lines) == len(want), made.lines
    for line, beginning in zip(made.lines, want, strict=True):
        assert line.startswith(f"warning: {beginning}")


def config_map(name: str = "yunikorn-configs", **data: str) -> str:
    """A ConfigMap of YuniKorn."""
    return yaml.safe_dump({"kind": "ConfigMap", "metadata": {"name": name}, "data": data})


def test_a_config_map() -> None:
    """Its queues, and the settings beside them."""
    settings = {"admissionController.filtering.bypassNamespaces": "x", "log.level": "INFO"}
    queues = {"queues.yaml": "partitions: [{name: default, limits: [{}]}]"}
    made = quiet(converted("yunikorn", config_map(**settings, **queues)))
    assert list(made.specs) == ["yunikorn"]
    assert [line.split(": ")[1] for line in made.lines] == [
        "data[admissionController.filtering.bypassNamespaces]",
        "data[log.level]",
        "data[queues.yaml].partitions[0].limits",
    ]


def test_a_config_map_that_is_no_yaml() -> None:
    """What is not readable is told, and nothing printed."""
    made = converted("yunikorn", config_map(**{"queues.yaml": "a: ["}))
    assert (made.status, made.specs) == (1, {})
    assert "not readable as YAML: line 1" in made.lines[0]


def test_partitions_are_profiles() -> None:
    """Which cannot all be served under one name."""
    made = converted("yunikorn", "partitions: [{name: default}, {name: gpu}]")
    assert list(made.specs) == ["yunikorn", "yunikorn-2"]
    assert made.lines[-1].endswith(
        "yunikorn has the schedulerName yunikorn too: only one is served"
    )


ODD = [
    "partitions: [3, {queues: 3, nodesortpolicy: 3, preemption: 3}]",
    "partitions: [{queues: [3, {queues: {}, resources: 3, properties: [1]}]}]",
    "{kind: ConfigMap, metadata: {name: yunikorn-configs}, data: {a.yaml: 'partitions: [{}]'}}",
    "partitions: [{nodesortpolicy: {type: [], resourceweights: {vcore: true}}}]",
]


@pytest.mark.parametrize("text", ODD)
def test_odd_files_end_nothing(text: str) -> None:
    """Whatever stands where something else should."""
    assert converted("yunikorn", text).status == 0
