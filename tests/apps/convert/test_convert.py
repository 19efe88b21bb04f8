"""What `moorage convert` finds in files, prints and says."""

from __future__ import annotations

import json
from typing import Any

import pytest
import yaml

from moorage.api import yaml_documents
from moorage.apps.convert.convert import ConversionOptions, ConversionReport, convert
from moorage.apps.convert.kube_plugins import KUBE_PLUGINS, REMOVED
from moorage.core.framework.replaced_plugins import REPLACEMENTS
from moorage.core.structures.likeness import suggest

V1 = "kubescheduler.config.k8s.io/v1"
CONFIG: dict[str, Any] = {
    "apiVersion": V1,
    "kind": "KubeSchedulerConfiguration",
    "profiles": [{"schedulerName": "a"}],
}
POLICY: dict[str, Any] = {"apiVersion": "v1", "kind": "Policy", "predicates": [], "priorities": []}
POD: dict[str, Any] = {"apiVersion": "v1", "kind": "Pod"}


def of(*bodies: Any, **options: Any) -> ConversionReport:
    """The report on a file with these documents."""
    text = "---\n".join(map(yaml_documents.dump, bodies))
    return convert([("file", text)], ConversionOptions(**options))


def names(report: ConversionReport) -> list[str]:
    """The objects that were printed."""
    return [
        f"{body['kind']} {body['metadata']['name']}" for body in yaml.safe_load_all(report.output)
    ]


def config_map(**data: str) -> dict[str, Any]:
    """A ConfigMap."""
    return {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "x"}, "data": data}


def test_a_configuration() -> None:
    """Objects to apply, and nothing to say."""
    assert of(CONFIG) == ConversionReport(
        (
            "apiVersion: moorage.dev/v1alpha1\nkind: SchedulerProfile\nmetadata:\n  name: "
            "a\nspec: {}\n"
        ),
        (),
        0,
    )


def test_json_is_read_too() -> None:
    """As old Policies are written."""
    report = convert([("policy.cfg", json.dumps(POLICY))])
    assert names(report) == ["SchedulerProfile default-scheduler"]
    assert report.lines[0] == (
        "policy.cfg: document 1: warning: a Policy knows no device claims: enable "
        "DynamicResources at multiPoint if pods have some"
    )


FOUND: dict[str, tuple[list[Any], dict[str, Any], list[str]]] = {
    "other kinds are passed over": ([POD, CONFIG, 3], {}, ["SchedulerProfile a"]),
    "an older version": (
        [{**CONFIG, "apiVersion": "kubescheduler.config.k8s.io/v1beta3"}],
        {},
        ["SchedulerProfile a"],
    ),
    "a ConfigMap": (
        [config_map(other="x: y", config=json.dumps(CONFIG))],
        {},
        ["SchedulerProfile a"],
    ),
    "a ConfigMap with something else in it": (
        [config_map(text="{", config=json.dumps(CONFIG))],
        {},
        ["SchedulerProfile a"],
    ),
    "one key of a ConfigMap": (
        [config_map(config=json.dumps(CONFIG), policy=json.dumps(POLICY))],
        {"key": "policy"},
        ["SchedulerProfile default-scheduler"],
    ),
    "a List": (
        [{"kind": "List", "items": [POD, config_map(config=json.dumps(CONFIG))]}],
        {},
        ["SchedulerProfile a"],
    ),
    "equal names": ([CONFIG, CONFIG], {}, ["SchedulerProfile a", "SchedulerProfile a-2"]),
    "a provider": (
        [CONFIG],
        {"algorithm_provider": "DefaultProvider"},
        ["SchedulerProfile a", "SchedulerProfile default-scheduler"],
    ),
    "all arguments shared": (
        [
            {
                **CONFIG,
                "profiles": [
                    {
                        "schedulerName": "a",
                        "pluginConfig": [
                            {"name": "InterPodAffinity", "args": {"hardPodAffinityWeight": 2}}
                        ],
                    }
                ],
            }
        ],
        {"plugin_configs": True},
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
    assert of(CONFIG, CONFIG).lines == (
        "warning: SchedulerProfile a-2: a has the schedulerName a too: only one is served",
    )


REFUSED: dict[str, tuple[list[Any], str]] = {
    "what kube-scheduler refuses": (
        [{**CONFIG, "parallelism": 0}],
        "file: document 1: error: parallelism: 0: should be an integer value",
    ),
    "a version that nobody reads": (
        [{**CONFIG, "apiVersion": "kubescheduler.config.k8s.io/v1alpha1"}],
        (
            "file: document 1: error: apiVersion: 'kubescheduler.config.k8s.io/v1alpha1': only "
            "these versions can be converted: "
        ),
    ),
    "a bad policy": (
        [{**POLICY, "predicates": [{"name": "X"}]}],
        "file: document 1: error: predicates[0].name: 'X': unknown predicate",
    ),
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
    assert report.lines[0].startswith(
        "file: error: file: document 1, data[config]: not readable as YAML: line 1"
    )


def test_nothing_to_convert() -> None:
    """Wrong use."""
    assert of(POD) == ConversionReport(
        "", ("there is no KubeSchedulerConfiguration and no Policy in file",), 2
    )
    assert of(config_map(config=json.dumps(CONFIG)), key="other").status == 2
    report = convert([], ConversionOptions(algorithm_provider="Default"))
    assert report == ConversionReport(
        "",
        (
            (
                "unknown algorithm provider 'Default': there were DefaultProvider and "
                "ClusterAutoscalerProvider"
            ),
        ),
        2,
    )


# ---- as people have them -------------------------------------------------------------------------

ALPHA: dict[str, Any] = {
    "apiVersion": "kubescheduler.config.k8s.io/v1alpha1",
    "kind": "KubeSchedulerConfiguration",
    "schedulerName": "old",
    "algorithmSource": {"policy": {"file": {"path": "/etc/policy.yaml"}}},
    "leaderElection": {"leaderElect": True},
}
MANAGED = {
    "apiVersion": "managed.test/v1alpha1",
    "kind": "SchedulerConfiguration",
    "spec": {"rawConfig": json.dumps(CONFIG)},
}
MACHINE = {
    "version": "v1alpha1",
    "machine": {"type": "controlplane"},
    "cluster": {"scheduler": {"config": CONFIG}},
}


@pytest.mark.parametrize(
    "wrapped",
    [MANAGED, MACHINE, {"kind": "List", "items": [MACHINE]}],
    ids=["a text", "a field", "in a list"],
)
def test_what_wraps_a_configuration_is_looked_into(wrapped: dict[str, Any]) -> None:
    """Whatever kind of object it is, as providers of clusters have their own."""
    assert names(of(POD, wrapped)) == ["SchedulerProfile a"]


def test_errors_name_the_place_within() -> None:
    """The object's document, the fields on the way, the text's document."""
    (line,) = of({**MANAGED, "spec": {"rawConfig": json.dumps({**CONFIG, "parallelism": 0})}}).lines
    assert line.startswith("file: document 1, spec, rawConfig: document 1: error: parallelism: 0: ")


def test_a_text_that_only_speaks_of_it_is_passed_over() -> None:
    """As a note may."""
    noted = {**POD, "metadata": {"annotations": {"note": "see the KubeSchedulerConfiguration: {"}}}
    assert names(of(noted, CONFIG)) == ["SchedulerProfile a"]


def test_an_alpha_configuration_that_points_to_its_policy() -> None:
    """The Policy is what counts; what else it says is told."""
    report = of(config_map(config=json.dumps(ALPHA), policy=json.dumps(POLICY)))
    assert names(report) == ["SchedulerProfile default-scheduler"]
    assert (
        "file: document 1, data[config]: document 1: warning: schedulerName: write it into "
        "the SchedulerProfile: schedulerName: old"
    ) in report.lines
    report = of(ALPHA, CONFIG)
    assert (report.status, report.output) == (1, "")
    assert report.lines[-1].endswith(
        "the Policy that it points to is not among the files: name it too"
    )


@pytest.mark.parametrize(
    ("source", "status"),
    [({"provider": "ClusterAutoscalerProvider"}, 0), ({}, 0), ({"provider": "Other"}, 1)],
)
def test_an_alpha_configuration_that_names_a_provider(source: dict[str, str], status: int) -> None:
    """It stands for what the provider stood for."""
    report = of({**ALPHA, "algorithmSource": source})
    assert (report.status, names(report)) == (
        status,
        [] if status else ["SchedulerProfile default-scheduler"],
    )


def test_an_alpha_configuration_with_more_in_it_is_refused() -> None:
    """Nobody reads its plugins any more."""
    assert of({**ALPHA, "plugins": {}}).status == 1


@pytest.mark.parametrize("limits", ["EBSLimits", "GCEPDLimits", "AzureDiskLimits", "CinderLimits"])
def test_limits_that_kube_scheduler_wrote_itself(limits: str) -> None:
    """Files of v1 have them, written by kube-scheduler up to 1.31; twice they are one, and their
    arguments are none.
    """
    plugins = {
        "filter": {
            "enabled": [{"name": "NodeVolumeLimits"}, {"name": limits}],
            "disabled": [{"name": "*"}],
        }
    }
    profile = {
        "schedulerName": "a",
        "plugins": plugins,
        "pluginConfig": [{"name": limits, "args": {}}],
    }
    report = of({**CONFIG, "profiles": [profile]})
    (made,) = yaml.safe_load_all(report.output)
    assert made["spec"]["plugins"]["filter"]["enabled"] == [{"name": "NodeVolumeLimits"}]
    assert (
        f"file: document 1: warning: profiles[0].plugins.filter: {limits} is gone: "
        f"NodeVolumeLimits does that now"
    ) in report.lines


def test_a_policy_as_old_decoding_took_it() -> None:
    """A key that comes twice, in other cases too; an extender's version. In a configuration of
    today a key twice is an error.
    """
    extender = (
        '{"apiVersion": "v1beta1", "urlPrefix": "http://x.test/a", "filterVerb": "one", '
        '"FilterVerb": "two", "weight": 1, "weight": 2}'
    )
    report = convert(
        [("policy.json", f'{{"apiVersion": "v1", "kind": "Policy", "extenders": [{extender}]}}')]
    )
    (made,) = yaml.safe_load_all(report.output)
    assert made["spec"]["extenders"][0]["filterVerb"] == "two"
    assert "apiVersion" not in made["spec"]["extenders"][0]
    assert any("the key 'weight' comes twice: the last one counts" in line for line in report.lines)
    twice = convert(
        [
            (
                "f",
                (
                    "apiVersion: kubescheduler.config.k8s.io/v1\nkind: "
                    "KubeSchedulerConfiguration\nparallelism: 1\nparallelism: 2\n"
                ),
            )
        ]
    )
    assert twice.lines == (
        (
            "f: document 1: error: not readable as YAML: line 4, column 1: the key 'parallelism' "
            "comes twice"
        ),
    )


@pytest.mark.parametrize("name", sorted(REPLACEMENTS))
def test_plugins_from_elsewhere_are_told_what_there_is_instead(name: str) -> None:
    """Not which other plugin is spelt a little like them."""
    report = of(
        {
            **CONFIG,
            "profiles": [
                {"schedulerName": "a", "plugins": {"multiPoint": {"enabled": [{"name": name}]}}}
            ],
        }
    )
    assert not any("did you mean" in line for line in report.lines)
    if name not in KUBE_PLUGINS and name not in REMOVED:
        assert REPLACEMENTS[name] in report.lines[0]


@pytest.mark.parametrize("name", ["Coscheduling", "LoadAwareScheduling", "SomethingElse"])
def test_no_name_is_suggested_that_is_hardly_alike(name: str) -> None:
    """A wrong hint is worse than none."""
    assert suggest(name, KUBE_PLUGINS) == ""
