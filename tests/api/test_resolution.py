"""Resolution: good specs become revisions, bad ones every fault with path, text and reason, and
nothing raises.
"""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from moorage.api import bodies, revision_content
from moorage.api.conditions import ConditionReason
from moorage.api.operator_config import OperatorConfiguration
from moorage.api.resolution import PLUGINS_TO_COME, Resolver
from moorage.api.v1alpha1.scheduler_profile import Plugins, SchedulerProfileSpec
from moorage.core.framework.interfaces import ExtensionPoint
from moorage.core.framework.revisions import MULTI_POINT, ProfileErrors
from moorage.core.plugins.intree import PRESETS
from moorage.core.plugins.node_resources.fit_arguments import NodeResourcesFitArgs
from tests.api.profiles import RESOLVER, a_config, a_profile, resolve

FIT = "NodeResourcesFit"


def with_args(args: Any, name: str = FIT) -> dict[str, Any]:
    """A spec with inline arguments of one plugin."""
    return {"pluginConfig": [{"name": name, "args": args}]}


def by_reference(name: str, plugin: str = FIT) -> dict[str, Any]:
    """A spec that references a PluginConfig."""
    return {"pluginConfig": [{"name": plugin, "configRef": {"name": name}}]}


def enabled(point: str, *names: str) -> dict[str, Any]:
    """A spec that enables plugins at one extension point."""
    return {"plugins": {point: {"enabled": [{"name": name} for name in names]}}}


MANY = [
    a_config("good", FIT, {}),
    a_config("bad", FIT, {"scoringStrateg": {}}),
    a_config("strange", "NodeFit", {}),
]

# spec -> (reason, path and text of the first fault)
BAD: dict[str, tuple[Any, str, str]] = {
    "no-object": ([], "InvalidSpec", "spec: '[…]': must be an object"),
    "misspelt-field": (
        {"schedulrName": "x"},
        "InvalidSpec",
        "spec.schedulrName: 'x': unknown field; did you mean \"schedulerName\"?",
    ),
    "misspelt-point": (
        {"plugins": {"filtr": {}}},
        "InvalidSpec",
        "spec.plugins.filtr: '{…}': unknown field; did you mean \"filter\"?",
    ),
    "preset": (
        {"preset": "Binpack"},
        "InvalidSpec",
        'spec.preset: \'Binpack\': supported values: "Default", "BinPack", "Spread", ',
    ),
    "long-name": ({"schedulerName": "a" * 64}, "InvalidSpec", "should have at most 63 characters"),
    "bad-name": (
        {"schedulerName": "-a"},
        "InvalidSpec",
        "spec.schedulerName: '-a': should match '",
    ),
    "percentage": (
        {"percentageOfNodesToScore": 101},
        "InvalidSpec",
        "spec.percentageOfNodesToScore: 101: not in valid range [0, 100]",
    ),
    "negative-weight": (
        {"weights": {FIT: -1}},
        "InvalidSpec",
        f"spec.weights[{FIT}]: -1: not in valid range [0, 2147483647]",
    ),
    "weight-of-no-plugin": (
        {"weights": {"NodeAfinity": 1}},
        "UnknownPlugin",
        (
            "spec.weights[NodeAfinity]: 'NodeAfinity': no plugin has this name; did you mean "
            '"NodeAffinity"?'
        ),
    ),
    "weight-of-no-scorer": (
        {"weights": {"NodeName": 1}},
        "InvalidSpec",
        (
            "spec.weights[NodeName]: 1: this plugin is not enabled at score: enable it there, or "
            "leave its weight out"
        ),
    ),
    "unknown-plugin": (
        enabled("filter", "NodePorts", "NodeNam"),
        "UnknownPlugin",
        (
            "spec.plugins.filter.enabled[1].name: 'NodeNam': no plugin has this name; did you "
            'mean "NodeName"?'
        ),
    ),
    "plugin-of-a-package": (
        enabled("filter", "Quiet"),
        "UnknownPlugin",
        (
            "spec.plugins.filter.enabled[0].name: 'Quiet': no plugin has this name; "
            "if a package has it, name the package under the OperatorConfiguration's "
            "plugins.packages"
        ),
    ),
    "wrong-point": (
        enabled("score", "NodeName"),
        "InvalidSpec",
        "spec.plugins.score.enabled[0].name: 'NodeName': this plugin does not take part at score",
    ),
    "plugin-to-come": (
        enabled("multiPoint", "DeferredPodScheduling"),
        "NotYetSupported",
        (
            "spec.plugins.multiPoint.enabled[0].name: 'DeferredPodScheduling': this plugin of "
            "kube-scheduler is not supported yet"
        ),
    ),
    "args-of-plugin-to-come": (
        with_args({}, "DeferredPodScheduling"),
        "NotYetSupported",
        (
            "spec.pluginConfig[0].name: 'DeferredPodScheduling': this plugin of kube-scheduler is "
            "not supported yet"
        ),
    ),
    "queue-sort": (
        enabled("queueSort", "Coscheduling"),
        "QueueSortConflict",
        "spec.plugins.queueSort.enabled[0].name: 'Coscheduling': all profiles share one queue",
    ),
    "extenders": (
        {"extenders": [{"urlPrefix": "https://x.test/v1", "tlsConfig": {"insecure": True}}]},
        "InvalidSpec",
        (
            "spec.extenders[0].urlPrefix: 'https://x.test/v1': the host is not allowed: set "
            "extenders: {allowedHosts: [x.test]} in the Opera"
        ),
    ),
    "half-an-assign": (
        {"assign": {"podSelector": {}}},
        "InvalidSpec",
        "spec.assign.namespaceSelector: None: Required value",
    ),
    "no-label": (
        {"assign": {"namespaceSelector": {"matchLabels": {"a b": "c"}}, "podSelector": {}}},
        "InvalidSpec",
        "spec.assign.namespaceSelector.matchLabels: 'a b': name part must consist of",
    ),
    "rollout": (
        {"rollout": {"strategy": "Sometimes"}},
        "InvalidSpec",
        "spec.rollout.strategy: 'Sometimes'",
    ),
    "backoffs": (
        {"podInitialBackoffSeconds": 20, "podMaxBackoffSeconds": 10},
        "InvalidSpec",
        (
            "spec.podMaxBackoffSeconds: 10: must be greater than or equal to "
            "podInitialBackoffSeconds, which is 20"
        ),
    ),
    "backoff-above-the-operators": (
        {"podInitialBackoffSeconds": 20},
        "InvalidSpec",
        "spec.podMaxBackoffSeconds: 10: must be greater than",
    ),
    "args-field": (
        with_args({"scoringStrategy": {"typ": "MostAllocated"}}),
        "InvalidPluginArgs",
        (
            "spec.pluginConfig[0].args.scoringStrategy.typ: 'MostAllocated': unknown field; did "
            'you mean "type"?'
        ),
    ),
    "args-choice": (
        with_args({"scoringStrategy": {"type": "MostAlocated"}}),
        "InvalidPluginArgs",
        (
            "spec.pluginConfig[0].args.scoringStrategy.type: 'MostAlocated': supported values: "
            '"LeastAllocated", "MostAllocated", '
        ),
    ),
    "args-type": (
        with_args({"scoringStrategy": {"resources": [{"name": "cpu", "weight": "3"}]}}),
        "InvalidPluginArgs",
        "spec.pluginConfig[0].args.scoringStrategy.resources[0].weight: '3': must be an integer",
    ),
    "args-rule": (
        with_args({"scoringStrategy": {"type": "RequestedToCapacityRatio"}}),
        "InvalidPluginArgs",
        (
            "spec.pluginConfig[0].args.scoringStrategy.requestedToCapacityRatio: None: must be "
            "specified when type is RequestedToCapacityRatio"
        ),
    ),
    "args-kind": (
        with_args({"kind": "NodeAffinityArgs"}),
        "InvalidPluginArgs",
        (
            "spec.pluginConfig[0].args.kind: 'NodeAffinityArgs': must be "
            '"NodeResourcesFitArgs" or left out'
        ),
    ),
    "args-version": (
        with_args({"apiVersion": "kubescheduler.config.k8s.io/v1beta3"}),
        "InvalidPluginArgs",
        (
            "spec.pluginConfig[0].args.apiVersion: 'kubescheduler.config.k8s.io/v1beta3': must "
            'be "kubescheduler.config.k8s.io/v1" or '
        ),
    ),
    "args-for-none": (
        with_args({"a": 1}, "NodeName"),
        "InvalidPluginArgs",
        "spec.pluginConfig[0].args.a: 1: NodeName takes no arguments",
    ),
    "args-of-no-plugin": (
        with_args({}, "NodeResourceFit"),
        "UnknownPlugin",
        (
            "spec.pluginConfig[0].name: 'NodeResourceFit': no plugin has this name; did you mean "
            '"NodeResourcesFit"?'
        ),
    ),
    "args-twice": (
        {"pluginConfig": [{"name": FIT, "args": {}}, {"name": FIT, "args": {}}]},
        "InvalidSpec",
        "spec.pluginConfig[1].name: 'NodeResourcesFit': stands here twice",
    ),
    "args-and-reference": (
        {"pluginConfig": [{"name": FIT, "args": {}, "configRef": {"name": "x"}}]},
        "InvalidSpec",
        "spec.pluginConfig[0]: 'NodeResourcesFit': exactly one of args and configRef has to be set",
    ),
    "neither": (
        {"pluginConfig": [{"name": FIT}]},
        "InvalidSpec",
        "exactly one of args and configRef has to be set",
    ),
    "configs-no-list": ({"pluginConfig": 3}, "InvalidSpec", "spec.pluginConfig: 3: must be a list"),
    "config-no-object": (
        {"pluginConfig": [3]},
        "InvalidSpec",
        "spec.pluginConfig[0]: 3: must be an object",
    ),
    "reference-no-object": (
        {"pluginConfig": [{"name": FIT, "configRef": ["x"]}]},
        "InvalidSpec",
        "spec.pluginConfig[0].configRef: '[…]': must be an object",
    ),
    "reference-no-name": (
        {"pluginConfig": [{"name": FIT, "configRef": {"name": ["x"]}}]},
        "InvalidSpec",
        "spec.pluginConfig[0].configRef.name: '[…]': must be a string",
    ),
    "no-such-config": (
        by_reference("absent"),
        "PluginConfigNotFound",
        "spec.pluginConfig[0].configRef.name: 'absent': there is no PluginConfig of this name",
    ),
    "invalid-config": (
        by_reference("bad"),
        "PluginConfigInvalid",
        (
            "spec.pluginConfig[0].configRef.name: 'bad': this PluginConfig is not valid: "
            "spec.args.scoringStrateg: '{…}': unknown field"
        ),
    ),
    "config-of-no-plugin": (
        by_reference("strange"),
        "PluginConfigInvalid",
        "spec.plugin: 'NodeFit': no plugin has this name",
    ),
    "config-of-another": (
        by_reference("good", "NodeAffinity"),
        "PluginMismatch",
        (
            "spec.pluginConfig[0].configRef.name: 'good': this PluginConfig is for "
            "NodeResourcesFit, not for NodeAffinity"
        ),
    ),
    "no-binder": (
        {"plugins": {"bind": {"disabled": [{"name": "*"}]}}},
        "InvalidSpec",
        "spec.plugins.bind: []: at least one bind plugin has to be enabled",
    ),
}


@pytest.mark.parametrize("case", BAD)
def test_bad_specs_are_refused_with_path_text_and_reason(case: str) -> None:
    """The message is what users see in the condition and in the event."""
    spec, reason, text = BAD[case]
    resolution = resolve(spec, *MANY)
    assert text in str(resolution.errors[0])
    assert resolution.errors[0].reason == reason
    with pytest.raises(ProfileErrors):
        _ = resolution.revision


def test_all_faults_are_told_at_once() -> None:
    """Those of every part of the spec."""
    spec = {
        **enabled("filter", "NodeNam"),
        "pluginConfig": [
            {"name": FIT, "args": {"x": 1, "kind": "y"}},
            {"name": "NodeAffinity", "configRef": {"name": "absent"}},
        ],
        "podInitialBackoffSeconds": 20,
    }
    assert [error.path for error in resolve(spec).errors] == [
        "podMaxBackoffSeconds",
        "pluginConfig[0].args.kind",
        "pluginConfig[0].args.x",
        "pluginConfig[1].configRef.name",
        "plugins.filter.enabled[0].name",
    ]


# ---- good specs ----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("unreadable", "path"),
    [
        ({"wieghts": {}}, "wieghts"),
        ({"weights": {"NodeAffinity": "much"}}, "weights[NodeAffinity]"),
        ({"suspend": "yes"}, "suspend"),
        (
            {"plugins": {"score": {"enabled": [{"name": "NodeAffinityy", "weight": "x"}]}}},
            "plugins.score.enabled[0].weight",
        ),
        ({"extenders": ["http://x"]}, "extenders[0]"),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_names_are_told_beside_fields_that_cannot_be_read(
    unreadable: dict[str, Any], path: str
) -> None:
    """So that nobody has to correct a spec twice; what is wrong only as those fields are left out
    is not told.
    """
    spec = {
        "pluginConfig": [
            {"name": "Fitt", "args": {}},
            {"name": FIT, "args": {"x": 1}},
            {"name": "NodeAffinity", "args": 5},
        ],
        **unreadable,
    }
    paths = {error.path for error in resolve(spec).errors}
    assert paths - {"plugins.score.enabled[0].name"} == {
        path,
        "pluginConfig[2].args",
        "pluginConfig[0].name",
        "pluginConfig[1].args.x",
    }
    assert ("plugins.score.enabled[0].name" in paths) == ("plugins" in unreadable)


def test_an_empty_spec_is_the_default_preset_with_the_operators_values() -> None:
    """Named like the object; 1 s and 10 s of backoff, all nodes."""
    resolution = resolve({})
    assert resolution.errors == ()
    assert resolution.scheduler_name == resolution.revision.scheduler_name == "binpack"
    assert resolution.revision.id == resolution.id
    assert resolution.revision.percentage_of_nodes_to_score == 100
    assert (resolution.initial_backoff, resolution.queue_config.max_backoff) == (1, 10)
    assert [gate.name for gate in resolution.queue_config.pre_enqueue] == [
        "SchedulingGates",
        "DynamicResources",
    ]
    assert resolution.queue_config.hints.keys() == resolution.revision.deciders.keys()
    assert set(resolution.revision.deciders) | {"DefaultBinder"} == {
        name for name, _ in PRESETS["Default"].plugins
    }


def test_what_a_profile_leaves_out_is_the_operators() -> None:
    """And what it says is its own."""
    given = {
        "percentage_of_nodes_to_score": 40,
        "pod_initial_backoff_seconds": 3,
        "pod_max_backoff_seconds": 30,
    }
    resolver = Resolver(
        RESOLVER.registry, PRESETS, OperatorConfiguration().model_copy(update=given)
    )
    own = {"percentageOfNodesToScore": 0, "podInitialBackoffSeconds": 2, "podMaxBackoffSeconds": 4}
    left_out, said = (resolver(a_profile(spec), {}) for spec in ({}, own))
    assert (
        left_out.revision.percentage_of_nodes_to_score,
        left_out.initial_backoff,
        left_out.queue_config.max_backoff,
    ) == (40, 3, 30)
    assert (
        said.revision.percentage_of_nodes_to_score,
        said.initial_backoff,
        said.queue_config.max_backoff,
    ) == (0, 2, 4)


def test_a_pasted_kube_scheduler_profile_works() -> None:
    """With its headers, its queueSort and what it disables of plugins that are still to come."""
    spec = {
        "schedulerName": "pasted",
        "plugins": {
            "queueSort": {"enabled": [{"name": "PrioritySort"}], "disabled": [{"name": "*"}]},
            "postFilter": {"disabled": [{"name": "DefaultPreemption"}]},
            "score": {
                "enabled": [{"name": FIT, "weight": 7}, {"name": "NodeAffinity", "weight": 0}],
                "disabled": [{"name": "ImageLocality"}],
            },
        },
        **with_args(
            {
                "apiVersion": "kubescheduler.config.k8s.io/v1",
                "kind": "NodeResourcesFitArgs",
                "ignoredResources": ["example.com/a"],
            }
        ),
    }
    revision = resolve(spec).revision
    assert revision.scheduler_name == "pasted"
    assert revision.weights[FIT] == 7 and "ImageLocality" not in revision.weights
    assert revision.weights["NodeAffinity"] == 1  # as unset, as in kube-scheduler
    assert revision.points[ExtensionPoint.QUEUE_SORT] == ("PrioritySort",)
    assert fit_args(spec).ignored_resources == ("example.com/a",)


def test_the_queue_order_is_the_operators_even_when_all_is_disabled() -> None:
    """A profile need not, and can't, say how pods are ordered."""
    spec = {
        "plugins": {
            "multiPoint": {
                "disabled": [{"name": "*"}],
                "enabled": [{"name": "NodeName"}, {"name": "DefaultBinder"}],
            }
        }
    }
    assert resolve(spec).revision.points[ExtensionPoint.QUEUE_SORT] == ("PrioritySort",)


def fit_args(spec: Any, *configs: dict[str, Any]) -> NodeResourcesFitArgs:
    """The arguments that NodeResourcesFit gets."""
    plugin: Any = resolve(spec, *configs).revision.deciders[FIT]
    args: NodeResourcesFitArgs = plugin.args
    return args


@pytest.mark.parametrize(
    ("preset", "args", "strategy"),
    [
        ("BinPack", {}, "MostAllocated"),
        ("BinPack", {"ignoredResources": ["example.com/a"]}, "MostAllocated"),
        ("BinPack", {"scoringStrategy": {"resources": [{"name": "cpu"}]}}, "MostAllocated"),
        ("BinPack", {"scoringStrategy": {"type": "LeastAllocated"}}, "LeastAllocated"),
        ("Spread", {"scoringStrategy": {"resources": [{"name": "cpu"}]}}, "LeastAllocated"),
    ],
)
def test_arguments_are_laid_over_the_presets(
    preset: str, args: dict[str, Any], strategy: str
) -> None:
    """What they leave out stays as the preset has it, inline or by reference."""
    for spec, configs in (
        (with_args(args), []),
        (by_reference("shared"), [a_config("shared", FIT, args)]),
    ):
        scoring = fit_args({"preset": preset, **spec}, *configs).scoring_strategy
        assert scoring is not None and scoring.type == strategy
        if "scoringStrategy" in args and "resources" in args["scoringStrategy"]:
            assert [resource.name for resource in scoring.resources or ()] == ["cpu"]


# ---- identity ------------------------------------------------------------------------------------


def content_of(spec: dict[str, Any], *configs: dict[str, Any]) -> str:
    """The name of what a profile with this spec comes to."""
    resolution = resolve(spec, *configs)
    assert resolution.errors == ()
    return resolution.id


SAME_CONTENT: dict[str, tuple[dict[str, Any], ...]] = {
    "a preset, and what it means": (
        {"preset": "NoScoring"},
        {"plugins": {"score": {"disabled": [{"name": "*"}]}}},
    ),
    "a weight, wherever it is said": (
        {"weights": {"NodeAffinity": 7}},
        {"plugins": {"multiPoint": {"enabled": [{"name": "NodeAffinity", "weight": 7}]}}},
    ),
    "arguments that are the defaults": (
        {},
        {"pluginConfig": [{"name": "InterPodAffinity", "args": {"hardPodAffinityWeight": 1}}]},
        {"pluginConfig": [{"name": FIT, "args": {"ignoredResources": []}}]},
        {"weights": {}, "extenders": []},
    ),
    "the operator's values, and the same ones here": (
        {},
        {"percentageOfNodesToScore": 100, "podInitialBackoffSeconds": 1},
        {"podMaxBackoffSeconds": 10},
    ),
    "which pods, and whether": ({}, {"schedulerName": "x"}, {"suspend": True}, {"paused": True}),
    "inline and by reference": (
        {"pluginConfig": [{"name": FIT, "args": {"ignoredResources": ["example.com/a"]}}]},
        by_reference("shared"),
    ),
}


@pytest.mark.parametrize("said", SAME_CONTENT)
def test_the_same_content_has_the_same_name(said: str) -> None:
    """Wherever it is said."""
    shared = a_config("shared", FIT, {"ignoredResources": ["example.com/a"]})
    assert len({content_of(spec, shared) for spec in SAME_CONTENT[said]}) == 1


OTHER_CONTENT: tuple[dict[str, Any], ...] = (
    {},
    {"weights": {FIT: 7}},
    {"preset": "BinPack"},
    {"plugins": {"filter": {"disabled": [{"name": "NodeName"}]}}},
    {"plugins": {"filter": {"enabled": [{"name": "TaintToleration"}]}}},
    {"pluginConfig": [{"name": FIT, "args": {"ignoredResources": ["example.com/a"]}}]},
    {"pluginConfig": [{"name": FIT, "args": {"ignoredResources": ["example.com/b"]}}]},
    {"percentageOfNodesToScore": 50},
    {"podInitialBackoffSeconds": 2},
    {"podMaxBackoffSeconds": 11},
)


def test_other_content_has_another_name() -> None:
    """In plugins, their order, weights, arguments, percentage and backoffs."""
    assert len({content_of(spec) for spec in OTHER_CONTENT}) == len(OTHER_CONTENT)


def test_a_name_stays_what_it_is() -> None:
    """Eight hex digits; not of what others write into objects."""
    config = a_config("shared", FIT, {"ignoredResources": ["example.com/a"]}, generation=7)
    profile = a_profile(by_reference("shared"), generation=9)
    profile["metadata"] |= {"labels": {"a": "b"}, "uid": "another"}
    found = RESOLVER(profile, {"shared": config, "unused": a_config("unused", FIT, {})}).id
    assert found == content_of(by_reference("shared"), config)
    assert found == "2d5e4b44", (
        "stored revisions bear this name: another one for the same content swaps every profile at "
        "an upgrade"
    )


def test_order_where_there_is_none_is_no_content() -> None:
    """Of fields, and of sets, which come in another order in each process."""
    some = {"args": {"P": {"x": 1.0, "names": {"a", "b", "c", "d"}}}}
    assert revision_content.canonical(some) == (
        '{"args":{"P":{"names":["a","b","c","d"],"x":1.0}}}'
    )


def test_a_bad_spec_has_no_name() -> None:
    """There is nothing that it stands for."""
    assert resolve({"weights": {"NodeResourceFit": 1}}).id == ""


def test_the_stored_document_resolves_to_the_same() -> None:
    """It is plain JSON, holds nothing that others write into objects, and is enough after a
    restart.
    """
    base = resolve(
        {"preset": "BinPack", **by_reference("shared")},
        a_config("shared", FIT, {"ignoredResources": ["example.com/a"]}, generation=3),
    )
    stored = json.loads(json.dumps(base.document))
    again = RESOLVER(stored["profile"], stored["pluginConfigs"])
    assert (again.id, again.configs, again.errors) == (base.id, {"shared": 3}, ())
    assert again.revision.deciders == base.revision.deciders
    assert (
        "status" not in stored["profile"] and "managedFields" not in stored["profile"]["metadata"]
    )


def test_a_bad_spec_still_has_name_and_references() -> None:
    """Its pods are answered by name, its PluginConfigs say who uses them."""
    resolution = resolve(
        {"schedulerName": "batch", "preset": "x", **by_reference("shared")},
        a_config("shared", FIT, {}, generation=4),
    )
    assert (resolution.scheduler_name, resolution.configs) == ("batch", {"shared": 4})


# ---- PluginConfigs -------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("plugin", "args", "reason", "text"),
    [
        (
            FIT,
            {"scoringStrategy": {"type": "x"}},
            "InvalidPluginArgs",
            "spec.args.scoringStrategy.type: 'x': supported values: ",
        ),
        (
            FIT,
            {"ignoredResources": ["a b"]},
            "InvalidPluginArgs",
            "spec.args.ignoredResources[0]: 'a b': name part must consist of",
        ),
        ("NodeResourceFit", {}, "UnknownPlugin", 'did you mean "NodeResourcesFit"?'),
        (
            "DeferredPodScheduling",
            {},
            "NotYetSupported",
            (
                "spec.plugin: 'DeferredPodScheduling': this plugin of kube-scheduler is not "
                "supported yet"
            ),
        ),
        ("", {}, "InvalidSpec", "spec.plugin: '': should have at least 1 character"),
        (FIT, [], "InvalidSpec", "spec.args: '[…]': must be an object"),
    ],
)
def test_bad_plugin_configs_are_refused(plugin: str, args: Any, reason: str, text: str) -> None:
    """With the path below their own spec."""
    (error,) = RESOLVER.config_errors(a_config("x", plugin, args))
    assert error.reason == reason
    assert text in str(error)


def test_a_good_plugin_config_has_no_errors() -> None:
    """Its hash stands for what it says, not for how it is written."""
    assert (
        RESOLVER.config_errors(a_config("x", FIT, {"scoringStrategy": {"type": "MostAllocated"}}))
        == ()
    )
    one, other = (
        {"spec": {"plugin": "A", "args": {"a": 1, "b": 2}}},
        {"spec": {"args": {"b": 2, "a": 1}, "plugin": "A"}},
    )
    assert (
        bodies.config_hash(one)
        == bodies.config_hash(other)
        != bodies.config_hash({"spec": {"plugin": "A"}})
    )


# ---- whatever comes ------------------------------------------------------------------------------

SCALARS = (
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(max_size=12)
)
ANYTHING = st.recursive(
    SCALARS,
    lambda inner: (
        st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=6), inner, max_size=3)
    ),
    max_leaves=8,
)
FIELDS = [field.alias or name for name, field in SchedulerProfileSpec.model_fields.items()]
PLUGIN_NAMES = st.sampled_from([*RESOLVER.registry, *PLUGINS_TO_COME, "*", "NodeNam", ""])
SETS = st.fixed_dictionaries(
    {},
    optional={
        "enabled": st.lists(
            st.fixed_dictionaries(
                {"name": PLUGIN_NAMES}, optional={"weight": st.integers(-1, 2**31)}
            ),
            max_size=4,
        ),
        "disabled": st.lists(st.fixed_dictionaries({"name": PLUGIN_NAMES}), max_size=4),
    },
)
LIKELY = st.fixed_dictionaries(
    {},
    optional={
        "preset": st.sampled_from([*PRESETS, "Other"]),
        "plugins": st.dictionaries(
            st.sampled_from([MULTI_POINT, *(point.value for point in ExtensionPoint)]),
            SETS,
            max_size=4,
        ),
        "weights": st.dictionaries(PLUGIN_NAMES, st.integers(-1, 2**31), max_size=3),
        "pluginConfig": st.lists(
            st.fixed_dictionaries(
                {"name": PLUGIN_NAMES},
                optional={
                    "args": ANYTHING,
                    "configRef": st.fixed_dictionaries({"name": st.sampled_from(["good", "x"])}),
                },
            ),
            max_size=3,
        ),
        "schedulerName": st.text(max_size=4),
        "podInitialBackoffSeconds": st.integers(-1, 30),
    },
)


@given(ANYTHING | st.dictionaries(st.sampled_from(FIELDS), ANYTHING, max_size=4) | LIKELY)
def test_any_spec_is_errors_or_a_revision(spec: Any) -> None:
    """User input never raises; errors have a known reason and a bounded value."""
    resolution = resolve(spec, *MANY)
    assert (resolution.made is None) == bool(resolution.errors)
    for error in resolution.errors:
        assert error.reason in set(ConditionReason)
        assert error.message and len(str(error.value)) <= 200


@given(st.dictionaries(st.sampled_from(["metadata", "spec", "apiVersion"]), ANYTHING, max_size=3))
def test_any_object_is_errors_or_a_revision(body: dict[str, Any]) -> None:
    """Even one that no API server would hand out, as in a file."""
    assert RESOLVER(body, {"good": body}).errors
    assert RESOLVER.config_errors(body)


def test_the_extension_points_of_the_model_are_those_of_core() -> None:
    """Said in two places, since one describes fields to users; this keeps them equal, in order."""
    aliases = [field.alias for field in Plugins.model_fields.values()]
    assert aliases == [MULTI_POINT, *(point.value for point in ExtensionPoint)]
