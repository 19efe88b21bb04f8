"""What `moorage convert` finds in files, prints and says."""

from __future__ import annotations

import json
from typing import Any

import pytest
import yaml

from moorage.api import documents
from moorage.apps.converting import Report, convert

V1 = "kubescheduler.config.k8s.io/v1"
CONFIG: dict[str, Any] = {"apiVersion": V1, "kind": "KubeSchedulerConfiguration", "profiles": [{"schedulerName": "a"}]}
POLICY: dict[str, Any] = {"apiVersion": "v1", "kind": "Policy", "predicates": [], "priorities": []}
POD: dict[str, Any] = {"apiVersion": "v1", "kind": "Pod"}


def of(*bodies: Any, **options: Any) -> Report:
    """The report on a file with these documents."""
    return convert([("file", "---\n".join(map(documents.dump, bodies)))], **options)


def names(report: Report) -> list[str]:
    """The objects that were printed."""
    return [f"{body['kind']} {body['metadata']['name']}" for body in yaml.safe_load_all(report.output)]


def config_map(**data: str) -> dict[str, Any]:
    """A ConfigMap."""
    return {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "x"}, "data": data}


def test_a_configuration() -> None:
    """Objects to apply, and nothing to say."""
    assert of(CONFIG) == Report("apiVersion: moorage.dev/v1alpha1\nkind: SchedulerProfile\nmetadata:\n  name: a\nspec: {}\n", (), 0)


def test_json_is_read_too() -> None:
    """As old Policies are written."""
    report = convert([("policy.cfg", json.dumps(POLICY))])
    assert names(report) == ["SchedulerProfile default-scheduler"]
    assert report.lines[0] == (
        "policy.cfg: document 1: warning: a Policy knows no device claims: enable DynamicResources at multiPoint if pods have some"
    )


FOUND: dict[str, tuple[list[Any], dict[str, Any], list[str]]] = {
    "other kinds are passed over": ([POD, CONFIG, 3], {}, ["SchedulerProfile a"]),
    "an older version": ([{**CONFIG, "apiVersion": "kubescheduler.config.k8s.io/v1beta3"}], {}, ["SchedulerProfile a"]),
    "a ConfigMap": ([config_map(other="x: y", config=json.dumps(CONFIG))], {}, ["SchedulerProfile a"]),
    "a ConfigMap with something else in it": ([config_map(text="{", config=json.dumps(CONFIG))], {}, ["SchedulerProfile a"]),
    "one key of a ConfigMap": (
        [config_map(config=json.dumps(CONFIG), policy=json.dumps(POLICY))],
        {"key": "policy"},
        ["SchedulerProfile default-scheduler"],
    ),
    "a List": ([{"kind": "List", "items": [POD, config_map(config=json.dumps(CONFIG))]}], {}, ["SchedulerProfile a"]),
    "equal names": ([CONFIG, CONFIG], {}, ["SchedulerProfile a", "SchedulerProfile a-2"]),
    "a provider": ([CONFIG], {"provider": "DefaultProvider"}, ["SchedulerProfile a", "SchedulerProfile default-scheduler"]),
    "all arguments shared": (
        [
            {
                **CONFIG,
                "profiles": [{"schedulerName": "a", "pluginConfig": [{"name": "InterPodAffinity", "args": {"hardPodAffinityWeight": 2}}]}],
            }
        ],
        {"share_all": True},
        ["PluginConfig inter-pod-affinity", "SchedulerProfile a"],
    ),
}


@pytest.mark.parametrize("case", FOUND)
def test_where_configurations_are_found(case: str) -> None:
    """In documents, Lists and ConfigMaps."""
    bodies, options, want = FOUND[case]
    report = of(*bodies, **options)
    assert (report.status, names(report)) == (0, want)


def test_equal_names_for_pods_are_told() -> None:
    """Of two profiles with the same one only one is served."""
    assert of(CONFIG, CONFIG).lines == ("warning: SchedulerProfile a-2: a has the schedulerName a too: only one is served",)


REFUSED: dict[str, tuple[list[Any], str]] = {
    "what kube-scheduler refuses": ([{**CONFIG, "parallelism": 0}], "file: document 1: error: parallelism: 0: should be an integer value"),
    "a version that nobody reads": (
        [{**CONFIG, "apiVersion": "kubescheduler.config.k8s.io/v1alpha1"}],
        "file: document 1: error: apiVersion: 'kubescheduler.config.k8s.io/v1alpha1': only these versions can be converted: ",
    ),
    "a bad policy": ([{**POLICY, "predicates": [{"name": "X"}]}], "file: document 1: error: predicates[0].name: 'X': unknown predicate"),
    "in a ConfigMap": (
        [POD, config_map(config=json.dumps({**CONFIG, "parallelism": 0}))],
        "file: document 2, data[config]: document 1: error: parallelism: 0: ",
    ),
}


@pytest.mark.parametrize("case", REFUSED)
def test_what_cannot_be_converted_is_told(case: str) -> None:
    """With its place; and nothing is printed, not even what could be converted beside it."""
    bodies, text = REFUSED[case]
    report = of(*bodies, CONFIG)
    assert (report.status, report.output) == (1, "")
    assert report.lines[-1].startswith(text)


def test_text_that_is_no_yaml() -> None:
    """The file and the place in it; in a ConfigMap when its key was asked for."""
    assert convert([("file", "a: [")]).status == 1
    report = of(config_map(config="a: ["), key="config")
    assert report.status == 1
    assert report.lines[0].startswith("file: error: file: document 1, data[config]: not readable as YAML: line 1")


def test_nothing_to_convert() -> None:
    """Wrong use."""
    assert of(POD) == Report("", ("there is no KubeSchedulerConfiguration and no Policy in file",), 2)
    assert of(config_map(config=json.dumps(CONFIG)), key="other").status == 2
    report = convert([], provider="Default")
    assert report == Report("", ("unknown algorithm provider 'Default': there were DefaultProvider and ClusterAutoscalerProvider",), 2)
