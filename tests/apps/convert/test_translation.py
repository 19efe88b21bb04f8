"""What comes of kube-scheduler's configurations: the same plugins at the same places, or a remark
that says why not.
"""

from __future__ import annotations

from typing import Any

import pytest

from moorage.api.resolution import Resolver
from moorage.apps.convert.effective import effective
from moorage.apps.convert.kube_configuration import API_VERSION, KIND
from moorage.apps.convert.loading import read
from moorage.apps.convert.translation import Translation, translate
from moorage.core.framework.interfaces import ExtensionPoint
from moorage.core.framework.registry import Registry
from tests.api.profiles import RESOLVER
from tests.vectors.files import CASES, Case, read_cases

PROFILE, CONFIG = "SchedulerProfile", "PluginConfig"


def translated(
    profiles: list[Any] | None = None, *, share_all: bool = False, **fields: Any
) -> Translation:
    """The translation of a configuration with these fields."""
    document = {"apiVersion": API_VERSION, "kind": KIND, "profiles": profiles or [], **fields}
    return translate(read(document, RESOLVER.registry), RESOLVER, share_all=share_all)


def of_kind(made: Translation, kind: str) -> list[dict[str, Any]]:
    """The objects of a kind."""
    return [one for one in made.objects if one["kind"] == kind]


def spec_of(**profile: Any) -> dict[str, Any]:
    """The spec of a profile called p with these fields."""
    (made,) = of_kind(translated([{"schedulerName": "p", **profile}]), PROFILE)
    spec: dict[str, Any] = made["spec"]
    return spec


# ---- the same plugins ----------------------------------------------------------------------------


def _valid_cases() -> list[Case]:
    """Every second one, for the sake of time."""
    return [
        case
        for case in read_cases(CASES / "Config.jsonl.gz")
        if case["expect"]["verdict"] == "valid"
    ][::2]


def _ours(found: dict[str, Any], registry: Registry) -> dict[ExtensionPoint, list[tuple[str, int]]]:
    """What kube-scheduler runs at each point, as far as our plugins have that point; weights of
    scores alone.
    """
    have = {
        point: {name for name, plugin in registry.items() if point in plugin.points}
        for point in ExtensionPoint
    }
    points = {
        point: [
            (one["name"], one["weight"])
            for one in found.get(point.value, [])
            if one["name"] in names
        ]
        for point, names in have.items()
    }
    if not points[ExtensionPoint.SCORE]:
        points[ExtensionPoint.PRE_SCORE] = []
    return points


ADDED = {
    ExtensionPoint.PRE_SCORE: {"DynamicResources"},
    ExtensionPoint.PLACEMENT_GENERATE: {"TopologyPlacementGenerator"},
    ExtensionPoint.PLACEMENT_SCORE: {"PodGroupPodsCount"},
}


def _without_added(
    found: dict[ExtensionPoint, list[tuple[str, int]]],
) -> dict[ExtensionPoint, list[tuple[str, int]]]:
    """What runs, less what kube-scheduler has not: a point of one plugin, and plugins of groups
    that a gate keeps off there.
    """
    return {
        point: [one for one in plugins if one[0] not in ADDED.get(point, ())]
        for point, plugins in found.items()
    }


def _run(
    resolver: Resolver, profile: dict[str, Any], configs: dict[str, Any]
) -> dict[ExtensionPoint, list[tuple[str, int]]] | None:
    """What our profile runs; None when it is refused."""
    resolution = resolver(
        {
            **profile,
            "spec": {name: value for name, value in profile["spec"].items() if name != "extenders"},
        },
        configs,
    )
    if resolution.errors:
        return None
    revision = resolution.revision
    weights = {
        ExtensionPoint.SCORE: revision.weights,
        ExtensionPoint.PLACEMENT_SCORE: revision.placement_weights,
    }
    return {
        point: [(name, weights.get(point, {}).get(name, 0)) for name in names]
        for point, names in revision.points.items()
    }


def test_profiles_run_what_kube_scheduler_runs() -> None:
    """Valid configurations of the vectors: the same plugins in the same order with the same
    weights, or a remark on the refusal.
    """
    same = 0
    for case in _valid_cases():
        loaded = read(case["config"], RESOLVER.registry)
        made = translate(loaded, RESOLVER)
        configs = {one["metadata"]["name"]: one for one in of_kind(made, CONFIG)}
        expected = effective(loaded, RESOLVER.registry)["profiles"]
        for profile, upstream in zip(of_kind(made, PROFILE), expected, strict=True):
            found = _run(RESOLVER, profile, configs)
            name = profile["metadata"]["name"]
            refusals = [remark for remark in made.remarks if remark.path == f"{PROFILE} {name}"]
            if found is None:
                assert any("enable both or neither" in remark.text for remark in refusals), (
                    case["id"],
                    name,
                )
            else:
                same += 1
                assert _without_added(found) == _ours(upstream["plugins"], RESOLVER.registry), (
                    case["id"],
                    name,
                )
                assert not [remark for remark in refusals if "spec.extenders" not in remark.text], (
                    case["id"],
                    name,
                )
    assert same > 50


def test_arguments_are_those_that_kube_scheduler_runs() -> None:
    """Valid configurations of the vectors: what is given to our plugins is what kube-scheduler's
    get.
    """
    registry = RESOLVER.registry
    for case in _valid_cases():
        loaded = read(case["config"], registry)
        made = translate(loaded, RESOLVER, share_all=True)
        configs = {one["metadata"]["name"]: one["spec"] for one in of_kind(made, CONFIG)}
        for profile, upstream in zip(
            of_kind(made, PROFILE), effective(loaded, registry)["profiles"], strict=True
        ):
            effective_args = {one["name"]: one["args"] for one in upstream.get("pluginConfig", [])}
            for entry in profile["spec"].get("pluginConfig", []):
                spec = configs[entry["configRef"]["name"]]
                assert spec["plugin"] == entry["name"]
                if entry["name"] in effective_args:
                    again = read(
                        {
                            "apiVersion": API_VERSION,
                            "kind": KIND,
                            "profiles": [
                                {"pluginConfig": [{"name": entry["name"], "args": spec["args"]}]}
                            ],
                        },
                        registry,
                    )
                    (found,) = effective(again, registry)["profiles"]
                    args = {one["name"]: one["args"] for one in found["pluginConfig"]}[
                        entry["name"]
                    ]
                    assert args == effective_args[entry["name"]], (case["id"], entry["name"])


# ---- parts ---------------------------------------------------------------------------------------


def test_nothing_said_is_the_default_profile() -> None:
    """One profile under kube-scheduler's name, and a remark that there may be only one of that name
    at work.
    """
    made = translated()
    (profile,) = made.objects
    assert profile == {
        "apiVersion": "moorage.dev/v1alpha1",
        "kind": PROFILE,
        "metadata": {"name": "default-scheduler"},
        "spec": {},
    }
    assert [str(remark) for remark in made.remarks] == [
        (
            "profiles[0].schedulerName: this profile is not served while kube-scheduler runs, "
            "which has this name too"
        )
    ]


@pytest.mark.parametrize(
    ("scheduler_name", "name"),
    [
        ("a", "a"),
        ("Team_A", "team-a"),
        ("x.y/z", "x.y-z"),
        ("..", "profile"),
        ("é", "profile"),
        ("a.-b", "a.b"),
    ],
)
def test_object_names(scheduler_name: str, name: str) -> None:
    """As near to the name for pods as objects can be named; that name stands in the spec where they
    differ.
    """
    (profile,) = of_kind(translated([{"schedulerName": scheduler_name}]), PROFILE)
    assert profile["metadata"]["name"] == name
    assert profile["spec"].get("schedulerName", name) == scheduler_name


def test_object_names_are_unique() -> None:
    """Names that differ only where objects' names can't get numbers."""
    profiles = of_kind(translated([{"schedulerName": name} for name in ("a", "A", "a!")]), PROFILE)
    assert [profile["metadata"]["name"] for profile in profiles] == ["a", "a-2", "a-3"]


def test_plugins_are_pasted_in() -> None:
    """Weights where they mean something; the order of the queue is left out."""
    plugins = {
        "multiPoint": {
            "disabled": [{"name": "ImageLocality"}],
            "enabled": [{"name": "TaintToleration", "weight": 4}],
        },
        "filter": {"enabled": [{"name": "NodeName", "weight": 9}]},
        "score": {"enabled": [{"name": "NodeAffinity"}]},
        "queueSort": {"enabled": [{"name": "PrioritySort"}]},
        "placementScore": {
            "disabled": [{"name": "*"}],
            "enabled": [{"name": "NodeResourcesFit", "weight": 3}],
        },
        "podGroupPostFilter": {"disabled": [{"name": "DefaultPreemption"}]},
    }
    assert spec_of(plugins=plugins)["plugins"] == {
        "multiPoint": {
            "enabled": [{"name": "TaintToleration", "weight": 4}],
            "disabled": [{"name": "ImageLocality"}],
        },
        "filter": {"enabled": [{"name": "NodeName"}]},
        "score": {"enabled": [{"name": "NodeAffinity"}]},
        "placementScore": {
            "enabled": [{"name": "NodeResourcesFit", "weight": 3}],
            "disabled": [{"name": "*"}],
        },
        "podGroupPostFilter": {"disabled": [{"name": "DefaultPreemption"}]},
    }


LEFT_OUT: dict[str, tuple[dict[str, Any], str]] = {
    "a plugin that we lack": (
        {"plugins": {"multiPoint": {"enabled": [{"name": "DeferredPodScheduling"}]}}},
        (
            "profiles[0].plugins.multiPoint.enabled[0]: DeferredPodScheduling is left out: there "
            "is no such plugin here"
        ),
    ),
    "a misspelt one that is off": (
        {"plugins": {"score": {"disabled": [{"name": "ImageLocalty"}]}}},
        (
            "profiles[0].plugins.score.disabled[0]: 'ImageLocalty' is left out: no plugin has "
            "this name"
        ),
    ),
    "a negative weight": (
        {"plugins": {"multiPoint": {"enabled": [{"name": "ImageLocality", "weight": -1}]}}},
        (
            "profiles[0].plugins.multiPoint.enabled[0].weight: -1 is left out: a weight can't be "
            "negative"
        ),
    ),
    "arguments of a plugin without": (
        {"pluginConfig": [{"name": "NodeName", "args": {"a": 1}}]},
        "profiles[0].pluginConfig[0]: 'NodeName' is left out: this plugin takes no arguments",
    ),
    "arguments of nobody": (
        {"pluginConfig": [{"name": "Mine", "args": {"a": 1}}]},
        "profiles[0].pluginConfig[0]: 'Mine' is left out: there is no such plugin here",
    ),
    "bad arguments that nobody reads": (
        {
            "plugins": {"multiPoint": {"disabled": [{"name": "NodeResourcesFit"}]}},
            "pluginConfig": [
                {"name": "NodeResourcesFit", "args": {"scoringStrategy": {"type": "Most"}}}
            ],
        },
        (
            "profiles[0].pluginConfig[0]: NodeResourcesFit is left out: the profile does not use "
            "it, and its arguments are wrong"
        ),
    ),
}


@pytest.mark.parametrize("case", LEFT_OUT)
def test_what_is_left_out_is_told(case: str) -> None:
    """kube-scheduler takes it; with it, our resolver would refuse the profile."""
    profile, remark = LEFT_OUT[case]
    made = translated([{"schedulerName": "p", **profile}])
    assert [str(one) for one in made.remarks] == [remark]


def test_what_is_refused_is_told() -> None:
    """A score plugin without its preScore would fail on every pod in kube-scheduler; here the
    profile is refused, with the reason.
    """
    made = translated(
        [
            {
                "schedulerName": "p",
                "plugins": {"preScore": {"disabled": [{"name": "TaintToleration"}]}},
            }
        ]
    )
    (remark,) = made.remarks
    assert str(remark) == (
        "SchedulerProfile p: is refused: spec.plugins.preScore: 'TaintToleration': this plugin "
        "is enabled at score, "
        "which needs it at preScore too: enable both or neither"
    )


def test_arguments_in_common_become_a_plugin_config() -> None:
    """Equal ones are one object that both profiles reference; others stay where they are."""
    shared = {"name": "InterPodAffinity", "args": {"hardPodAffinityWeight": 3}}
    own = {
        "name": "NodeResourcesFit",
        "args": {"kind": "NodeResourcesFitArgs", "ignoredResourceGroups": ["a.b"]},
    }
    made = translated(
        [
            {"schedulerName": "a", "pluginConfig": [shared, own]},
            {"schedulerName": "b", "pluginConfig": [shared]},
        ]
    )
    config, first, second = made.objects
    assert (config["kind"], config["metadata"]["name"]) == (CONFIG, "inter-pod-affinity")
    assert config["spec"] == {"plugin": "InterPodAffinity", "args": {"hardPodAffinityWeight": 3}}
    reference = {"name": "InterPodAffinity", "configRef": {"name": "inter-pod-affinity"}}
    assert first["spec"]["pluginConfig"] == [
        reference,
        {"name": "NodeResourcesFit", "args": {"ignoredResourceGroups": ["a.b"]}},
    ]
    assert second["spec"]["pluginConfig"] == [reference]
    assert not made.remarks


def test_an_adaptive_percentage() -> None:
    """0 was said: kube-scheduler's rule, which is not the default here."""
    (made,) = of_kind(translated([{"schedulerName": "p"}], percentageOfNodesToScore=0), PROFILE)
    assert made["spec"] == {"percentageOfNodesToScore": 0}


def test_settings_of_the_whole() -> None:
    """Those that profiles have here go into each; the others are told, with what to write where."""
    made = translated(
        [{"schedulerName": "a", "percentageOfNodesToScore": 30}, {"schedulerName": "b"}],
        percentageOfNodesToScore=50,
        podInitialBackoffSeconds=2,
        podMaxBackoffSeconds=20,
        parallelism=4,
        leaderElection={"leaderElect": True, "leaseDuration": "30s", "resourceName": "other"},
        clientConnection={"kubeconfig": "/etc/kube.yaml", "qps": 7},
    )
    backoffs = {"podInitialBackoffSeconds": 2, "podMaxBackoffSeconds": 20}
    assert [one["spec"] for one in made.objects] == [
        {"percentageOfNodesToScore": 30, **backoffs},
        {"percentageOfNodesToScore": 50, **backoffs},
    ]
    assert [str(remark) for remark in made.remarks] == [
        "parallelism: is left out: a decision works on all nodes at once",
        (
            "leaderElection.resourceName: is left out: the operator has a Lease of its own, "
            "moorage in moorage-system"
        ),
        "clientConnection.qps: is left out: the API server's priority and fairness is the limit",
        (
            "leaderElection: is the operator's: write into its OperatorConfiguration: "
            "leaderElection: {leaderElect: true, leaseDuration: 30s}"
        ),
        "clientConnection.kubeconfig: is the operator's: moorage run --kubeconfig /etc/kube.yaml",
    ]


def test_extenders() -> None:
    """In every profile; keys have to go into a Secret, hosts to be allowed, and resources to be
    ignored stand in the arguments.
    """
    made = translated(
        [
            {
                "schedulerName": "a",
                "pluginConfig": [
                    {"name": "NodeResourcesFit", "args": {"ignoredResources": ["a.b/old"]}}
                ],
            }
        ],
        extenders=[
            {
                "urlPrefix": "https://x.test/v1",
                "filterVerb": "f",
                "httpTimeout": "1500ms",
                "tlsConfig": {"caFile": "/ca", "serverName": "x"},
                "enableHTTPS": True,
                "managedResources": [{"name": "a.b/c", "ignoredByScheduler": True}],
            },
            {"urlPrefix": "http://y.test"},
            {"urlPrefix": "https://z.test"},
        ],
    )
    (profile,) = made.objects
    assert profile["spec"]["extenders"] == [
        {
            "urlPrefix": "https://x.test/v1",
            "filterVerb": "f",
            "httpTimeout": "1.5s",
            "tlsConfig": {"serverName": "x", "secretRef": {"name": "extender-0"}},
            "enableHTTPS": True,
            "managedResources": [{"name": "a.b/c", "ignoredByScheduler": True}],
        },
        {"urlPrefix": "http://y.test", "tlsConfig": {"insecure": True}},
        {"urlPrefix": "https://z.test", "tlsConfig": {"insecure": True}},
    ]
    assert profile["spec"]["pluginConfig"] == [
        {"name": "NodeResourcesFit", "args": {"ignoredResources": ["a.b/c"]}}
    ]
    assert [remark.path for remark in made.remarks] == [
        "extenders[0].tlsConfig.caFile",
        "extenders[0].urlPrefix",
        "extenders[1].tlsConfig",
        "extenders[1].urlPrefix",
        "extenders[2].tlsConfig",
        "extenders[2].urlPrefix",
    ]
    assert made.remarks[0].text == (
        "is left out: make a Secret extender-0 in the operator's namespace with this as its ca.crt"
    )
