"""Reading a KubeSchedulerConfiguration: what the vectors don't tell. These have verdicts, paths and
types; here are values and words.
"""

from __future__ import annotations

from typing import Any

import pytest

from moorage.apps.convert.assembling import overflows
from moorage.apps.convert.effective import effective
from moorage.apps.convert.kube_configuration import API_VERSION, KIND, without_nulls
from moorage.apps.convert.kube_plugins import KUBE_PLUGINS
from moorage.apps.convert.loading import ConfigurationRefused, read
from moorage.core.plugins.intree import OURS
from tests.api.profiles import RESOLVER

REGISTRY = RESOLVER.registry


def config(**fields: Any) -> dict[str, Any]:
    """A configuration with these fields."""
    return {"apiVersion": API_VERSION, "kind": KIND, **fields}


def with_args(plugin: str, args: Any, **profile: Any) -> dict[str, Any]:
    """A configuration with arguments of one plugin."""
    return config(profiles=[{"pluginConfig": [{"name": plugin, "args": args}], **profile}])


def with_plugins(**points: Any) -> dict[str, Any]:
    """A configuration with these plugin sets."""
    return config(profiles=[{"plugins": points}])


def enabled(*names: str) -> dict[str, Any]:
    """A plugin set that enables these."""
    return {"enabled": [{"name": name} for name in names]}


ADDED = {"DynamicResources": ("preScore",)}
"""Points that our plugin has and kube-scheduler's does not: it finds out at score itself whether
there is anything to prefer.
"""
FIT = "NodeResourcesFit"
LATE = "profiles[0].pluginConfig[0].args.scoringStrategy"
# document -> (stage, path, value and words of the first fault)
REFUSED: dict[str, tuple[Any, str, str]] = {
    "no object": ([], "decodeError", ": '[…]': must be an object"),
    "another version": (
        {**config(), "apiVersion": "kubescheduler.config.k8s.io/v1beta3"},
        "decodeError",
        (
            "apiVersion: 'kubescheduler.config.k8s.io/v1beta3': must be "
            '"kubescheduler.config.k8s.io/v1"'
        ),
    ),
    "a misspelt field": (
        config(paralelism=1),
        "decodeError",
        'paralelism: 1: unknown field; did you mean "parallelism"?',
    ),
    "a duration": (
        config(leaderElection={"leaseDuration": "15"}),
        "decodeError",
        (
            'leaderElection.leaseDuration: \'15\': must be a duration such as "15s", "1m30s" or '
            '"200ms"'
        ),
    ),
    "a weight out of its type": (
        with_plugins(score={"enabled": [{"name": "ImageLocality", "weight": 2**31}]}),
        "decodeError",
        "profiles[0].plugins.score.enabled[0].weight: 2147483648: ",
    ),
    "a misspelt argument": (
        with_args("InterPodAffinity", {"hardPodAffinityWeigth": 5}),
        "decodeError",
        (
            "profiles[0].pluginConfig[0].args.hardPodAffinityWeigth: 5: unknown field; did you "
            'mean "hardPodAffinityWeight"?'
        ),
    ),
    "arguments of another kind": (
        with_args("InterPodAffinity", {"kind": "NodeAffinityArgs"}),
        "decodeError",
        (
            "profiles[0].pluginConfig[0].args.kind: 'NodeAffinityArgs': must be "
            '"InterPodAffinityArgs" or left out'
        ),
    ),
    "no arguments": (
        with_args("InterPodAffinity", "x"),
        "decodeError",
        "profiles[0].pluginConfig[0].args: 'x': must be an object",
    ),
    "an argument of ours": (
        with_args("InterPodAffinity", {"termsMetBy": "AnyPod"}),
        "decodeError",
        "profiles[0].pluginConfig[0].args.termsMetBy: 'AnyPod': kube-scheduler has no such field",
    ),
    "a range": (
        config(percentageOfNodesToScore=101),
        "invalid",
        "percentageOfNodesToScore: 101: not in valid range [0-100]",
    ),
    "an argument's range": (
        with_args("InterPodAffinity", {"hardPodAffinityWeight": 101}),
        "invalid",
        "profiles[0].pluginConfig[0].args.hardPodAffinityWeight: 101: not in valid range [0, 100]",
    ),
    "equal names": (
        config(profiles=[{"schedulerName": "a"}, {"schedulerName": "a"}]),
        "invalid",
        "profiles[1].schedulerName: 'profiles[0]': another profile has this name",
    ),
    "bad arguments that come out late": (
        with_args(FIT, {"scoringStrategy": {"type": "leastAllocated"}}),
        "buildError",
        f"{LATE}.type: 'leastAllocated': supported values: ",
    ),
    "a plugin that is none": (
        with_plugins(filter=enabled("NodeNam")),
        "buildError",
        (
            "profiles[0].plugins.filter.enabled: 'NodeNam': kube-scheduler has no such plugin; "
            'did you mean "NodeName"?'
        ),
    ),
    "a plugin of the past everywhere": (
        with_plugins(multiPoint=enabled("EBSLimits")),
        "buildError",
        "profiles[0].plugins.multiPoint.enabled: 'EBSLimits': kube-scheduler has no such plugin",
    ),
    "a plugin in the wrong place": (
        with_plugins(filter=enabled("ImageLocality")),
        "buildError",
        (
            "profiles[0].plugins.filter.enabled: 'ImageLocality': this plugin does not take part "
            "at filter"
        ),
    ),
    "a plugin twice": (
        with_plugins(multiPoint=enabled("NodeName", "NodeName")),
        "buildError",
        "profiles[0].plugins.preFilter.enabled: 'NodeName': is enabled twice",
    ),
    "nobody to bind": (
        with_plugins(bind={"disabled": [{"name": "*"}]}),
        "buildError",
        "profiles[0].plugins.bind: []: at least one bind plugin has to be enabled",
    ),
    "a negative weight": (
        with_plugins(score={"enabled": [{"name": "ImageLocality", "weight": -1}]}),
        "buildError",
        (
            "profiles[0].plugins.score: '{…}': the weights are too high, or a negative one makes "
            "their sum so"
        ),
    ),
    "nobody to ignore a resource": (
        config(
            profiles=[{"plugins": {"multiPoint": {"disabled": [{"name": FIT}]}}}],
            extenders=[{"managedResources": [{"name": "a.b/c", "ignoredByScheduler": True}]}],
        ),
        "buildError",
        (
            f"profiles[0]: '{FIT}': has to be enabled, or have arguments, for an extender's "
            f"ignoredByScheduler"
        ),
    ),
}


@pytest.mark.parametrize("case", REFUSED)
def test_refusals(case: str) -> None:
    """How far kube-scheduler comes, and where, what and why."""
    document, stage, text = REFUSED[case]
    with pytest.raises(ConfigurationRefused) as caught:
        read(document, REGISTRY)
    assert caught.value.stage == stage
    assert str(caught.value).startswith(text)


def test_all_faults_are_told() -> None:
    """Of the configuration and of all arguments, except where decoding failed already."""
    both = with_args("InterPodAffinity", {"hardPodAffinityWeight": 101}) | {"parallelism": 0}
    with pytest.raises(ConfigurationRefused) as caught:
        read(both, REGISTRY)
    assert len(caught.value.violations) == 2
    with pytest.raises(ConfigurationRefused) as caught:
        read({**both, "surprise": 1}, REGISTRY)
    assert [one.path for one in caught.value.violations] == ["surprise"]


def test_null_is_absence() -> None:
    """As Go decodes: a field that is null has its default, an item that is null is an empty one."""
    assert without_nulls({"a": None, "b": [None, 1, {"c": None}]}) == {"b": [{}, 1, {}]}
    empty = effective(read(config(), REGISTRY), REGISTRY)
    assert effective(read(config(parallelism=None, profiles=[None]), REGISTRY), REGISTRY) == empty


def test_no_arguments_are_no_fault_in_a_profile_without_the_plugin() -> None:
    """kube-scheduler looks at NodeResourcesFit's when it makes it; and what it ignores is not in
    the effective document.
    """
    off = {"multiPoint": {"disabled": [{"name": FIT}]}}
    loaded = read(with_args(FIT, {"scoringStrategy": {"type": "x"}}, plugins=off), REGISTRY)
    (profile,) = effective(loaded, REGISTRY)["profiles"]
    assert FIT not in [entry["name"] for entry in profile["pluginConfig"]]


def test_what_extenders_want_ignored_replaces_even_names_that_are_none() -> None:
    """The other arguments count; without such extenders kube-scheduler would not start."""
    args = {"ignoredResources": ["a/b/c"], "scoringStrategy": {"type": "MostAllocated"}}
    managed = {"name": "a.b/c", "ignoredByScheduler": True}
    asked = {"urlPrefix": "http://x", "filterVerb": "f", "managedResources": [managed]}
    loaded = read(with_args(FIT, args) | {"extenders": [asked]}, REGISTRY)
    (profile,) = effective(loaded, REGISTRY)["profiles"]
    (found,) = [entry["args"] for entry in profile["pluginConfig"] if entry["name"] == FIT]
    assert found["ignoredResources"] == ["a.b/c"]
    assert found["scoringStrategy"]["type"] == "MostAllocated"
    with pytest.raises(ConfigurationRefused):
        read(with_args(FIT, args), REGISTRY)


@pytest.mark.parametrize(
    ("weights", "too_much"),
    [
        ([], False),
        ([2, -1], False),
        ([1, -2, 1], True),
        ([-1, 1], True),
        ([2**31 - 1] * 20, False),
        ([2**55, 2**56], True),
    ],
    ids=str,
)
def test_overflow(weights: list[int], too_much: bool) -> None:
    """A sum that falls below 0 makes the next comparison wrap around: a negative weight is a fault
    only then.
    """
    assert overflows(weights) is too_much


def test_our_plugins_are_kube_schedulers() -> None:
    """The same names in the same order, with the same weights, at no other points, where they score
    at all.
    """
    theirs = {name: plugin for name, plugin in REGISTRY.items() if name not in OURS}
    assert list(theirs) == [name for name in KUBE_PLUGINS if name in theirs]
    for name, plugin in theirs.items():
        known = KUBE_PLUGINS[name]
        assert {point.value for point in plugin.points} <= {*known.points, *ADDED.get(name, ())}, (
            name
        )
        assert plugin.weight == (known.weight or 1), name


STRICTER: dict[str, tuple[str, dict[str, Any], str, str]] = {
    "an unknown policy": (
        "PodTopologySpread",
        {"nodeTaintsPolicy": "Honour"},
        "nodeTaintsPolicy",
        "supported values",
    ),
    "no domains": ("PodTopologySpread", {"minDomains": 0}, "minDomains", "not in valid range"),
}


@pytest.mark.parametrize("case", STRICTER)
def test_arguments_that_only_we_refuse(case: str) -> None:
    """kube-scheduler takes default constraints that no pod could have, and goes wrong later."""
    plugin, more, field, text = STRICTER[case]
    constraint = {"maxSkew": 1, "topologyKey": "zone", "whenUnsatisfiable": "DoNotSchedule", **more}
    with pytest.raises(ConfigurationRefused) as caught:
        read(
            with_args(plugin, {"defaultingType": "List", "defaultConstraints": [constraint]}),
            REGISTRY,
        )
    (violation,) = caught.value.violations
    assert violation.path == f"profiles[0].pluginConfig[0].args.defaultConstraints[0].{field}"
    assert text in violation.message


def test_a_strategy_without_a_type_is_the_default_one() -> None:
    """kube-scheduler does not start with it."""
    read(with_args(FIT, {"scoringStrategy": {}}), REGISTRY)
