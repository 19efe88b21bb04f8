"""Policies and algorithm providers mean the same as profiles, or something is told."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from moorage.api.decoding import DecodeError
from moorage.apps.convert.effective import effective
from moorage.apps.convert.legacy.policy import as_v1, is_policy, provider
from moorage.apps.convert.legacy.policy_tables import (
    DEFAULT_PREDICATES,
    DEFAULT_PRIORITIES,
    GONE,
    PREDICATES,
    PRIORITIES,
    WITHOUT_EFFECT,
)
from moorage.apps.convert.loading import read
from moorage.core.framework.revisions import MAX_WEIGHT
from tests.api.profiles import RESOLVER

MANDATORY = ["NodeUnschedulable", "TaintToleration"]
CLAIMS = (
    ": a Policy knows no device claims: enable DynamicResources at multiPoint if pods have some"
)


def runs(document: dict[str, Any]) -> dict[str, dict[str, int]]:
    """What kube-scheduler runs: by point, names and weights."""
    (profile,) = effective(read(document, RESOLVER.registry), RESOLVER.registry)["profiles"]
    return {
        point: {one["name"]: one["weight"] for one in plugins}
        for point, plugins in profile["plugins"].items()
    }


def policy(**fields: Any) -> tuple[dict[str, dict[str, int]], dict[str, Any], list[str]]:
    """What a Policy comes to: what runs, arguments, remarks."""
    document, remarks = as_v1({"apiVersion": "v1", "kind": "Policy", **fields})
    args = {entry["name"]: entry["args"] for entry in document["profiles"][0]["pluginConfig"]}
    assert str(remarks[-1]) == CLAIMS[2:]
    return runs(document), args, [str(remark) for remark in remarks[:-1]]


def named(*names: str, **more: Any) -> list[dict[str, Any]]:
    """Entries of a Policy."""
    return [{"name": name, **more} for name in names]


def test_nothing_said_is_the_default() -> None:
    """Both lists as kube-scheduler 1.20 had them."""
    found, args, remarks = policy()
    assert found["score"] == {
        "TaintToleration": 1,
        "NodeAffinity": 1,
        "NodeResourcesFit": 1,
        "PodTopologySpread": 2,
        "InterPodAffinity": 1,
        "NodeResourcesBalancedAllocation": 1,
        "ImageLocality": 1,
    }
    assert list(found["filter"]) == [
        *(
            "NodeName",
            "NodeUnschedulable",
            "TaintToleration",
            "NodeAffinity",
            "NodePorts",
            "NodeResourcesFit",
            "VolumeRestrictions",
        ),
        *(
            "NodeVolumeLimits",
            "VolumeBinding",
            "VolumeZone",
            "PodTopologySpread",
            "InterPodAffinity",
        ),
    ]
    assert list(found["preEnqueue"]) == ["SchedulingGates", "DefaultPreemption"]
    assert [
        list(found[point]) for point in ("queueSort", "postFilter", "reserve", "preBind", "bind")
    ] == [
        *(
            ["PrioritySort"],
            ["DefaultPreemption"],
            ["VolumeBinding"],
            ["VolumeBinding"],
            ["DefaultBinder"],
        ),
    ]
    assert args == {}
    assert [remark.partition(" ")[2] for remark in remarks] == [
        (
            "priorities[4]: NodePreferAvoidPodsPriority has no equivalent: nodes are kept free "
            "by taints now"
        ),
        (
            "priorities[0]: PodTopologySpread stands for both EvenPodsSpreadPriority and "
            "SelectorSpreadPriority now: "
            "it has the weight of EvenPodsSpreadPriority"
        ),
    ]
    named_fully = policy(
        predicates=named(*DEFAULT_PREDICATES),
        priorities=[
            {"name": name, "weight": weight} for name, weight in DEFAULT_PRIORITIES.items()
        ],
    )
    assert named_fully[:2] == (found, args)


def test_empty_lists_are_none() -> None:
    """Not the default ones: the mandatory predicates alone, and no score."""
    found, _, remarks = policy(predicates=[], priorities=[])
    assert list(found["filter"]) == list(found["preFilter"]) == MANDATORY
    assert not {"score", "preScore"} & found.keys()
    assert not remarks


def test_predicates_filter_and_priorities_score() -> None:
    """A plugin that is only one of the two does nothing at the other's points."""
    found, _, _ = policy(
        predicates=named("GeneralPredicates", "MatchInterPodAffinity"),
        priorities=named("EvenPodsSpreadPriority", weight=3),
    )
    assert list(found["filter"]) == [
        "NodeName",
        *MANDATORY,
        "NodeAffinity",
        "NodePorts",
        "NodeResourcesFit",
        "InterPodAffinity",
    ]
    assert list(found["preFilter"]) == [
        "NodeName",
        *MANDATORY,
        "NodeAffinity",
        "NodePorts",
        "NodeResourcesFit",
        "InterPodAffinity",
    ]
    assert (list(found["preScore"]), found["score"]) == (
        ["PodTopologySpread"],
        {"PodTopologySpread": 3},
    )


SHAPE = {
    "shape": [{"utilization": 0, "score": 0}, {"utilization": 100, "score": 10}],
    "resources": [{"name": "a.b/gpu", "weight": 2}],
}
AFFINITY = "addedAffinity"
REQUIRED, PREFERRED = (
    "requiredDuringSchedulingIgnoredDuringExecution",
    "preferredDuringSchedulingIgnoredDuringExecution",
)


def constraint(key: str, skew: int = 1) -> dict[str, Any]:
    """A default constraint."""
    return {"maxSkew": skew, "topologyKey": key, "whenUnsatisfiable": "ScheduleAnyway"}


ARGUMENTS: dict[str, tuple[dict[str, Any], dict[str, Any], list[str]]] = {
    "most requested": (
        {"priorities": named("MostRequestedPriority", weight=1)},
        {"NodeResourcesFit": {"scoringStrategy": {"type": "MostAllocated"}}},
        [],
    ),
    "a shape": (
        {
            "priorities": named(
                "Mine", weight=1, argument={"requestedToCapacityRatioArguments": SHAPE}
            )
        },
        {
            "NodeResourcesFit": {
                "scoringStrategy": {
                    "type": "RequestedToCapacityRatio",
                    "requestedToCapacityRatio": {"shape": SHAPE["shape"]},
                    "resources": SHAPE["resources"],
                }
            }
        },
        [],
    ),
    "two strategies": (
        {
            "priorities": [
                *named("LeastRequestedPriority", weight=1),
                *named("MostRequestedPriority", weight=2),
            ]
        },
        {"NodeResourcesFit": {"scoringStrategy": {"type": "MostAllocated"}}},
        [
            (
                "priorities[1]: NodeResourcesFit stands for both MostRequestedPriority and "
                "LeastRequestedPriority now: "
                "it has the weight of MostRequestedPriority"
            )
        ],
    ),
    "labels": (
        {
            "predicates": [
                *named(
                    "Mine", argument={"labelsPresence": {"labels": ["a", "b"], "presence": True}}
                ),
                *named("Yours", argument={"labelsPresence": {"labels": ["c"], "presence": False}}),
            ]
        },
        {
            "NodeAffinity": {
                AFFINITY: {
                    REQUIRED: {
                        "nodeSelectorTerms": [
                            {
                                "matchExpressions": [
                                    {"key": "a", "operator": "Exists"},
                                    {"key": "b", "operator": "Exists"},
                                    {"key": "c", "operator": "DoesNotExist"},
                                ]
                            }
                        ]
                    }
                }
            }
        },
        [],
    ),
    "a preferred label": (
        {
            "priorities": named(
                "Mine", weight=300, argument={"labelPreference": {"label": "a", "presence": False}}
            )
        },
        {
            "NodeAffinity": {
                AFFINITY: {
                    PREFERRED: [
                        {
                            "weight": 100,
                            "preference": {
                                "matchExpressions": [{"key": "a", "operator": "DoesNotExist"}]
                            },
                        }
                    ]
                }
            }
        },
        [
            (
                "priorities[0]: Mine: labelPreference is a preferred term of NodeAffinity now: "
                "nearly the same"
            )
        ],
    ),
    "services apart": (
        {
            "priorities": named(
                "Mine", weight=1, argument={"serviceAntiAffinity": {"label": "rack"}}
            )
        },
        {
            "PodTopologySpread": {
                "defaultConstraints": [constraint("rack")],
                "defaultingType": "List",
            }
        },
        [
            (
                "priorities[0]: Mine: serviceAntiAffinity is a default constraint of "
                "PodTopologySpread now: nearly the same"
            )
        ],
    ),
    "services apart and spread": (
        {
            "priorities": [
                *named("Mine", weight=1, argument={"serviceAntiAffinity": {"label": "rack"}}),
                *named("SelectorSpreadPriority", weight=1),
            ]
        },
        {
            "PodTopologySpread": {
                "defaultConstraints": [
                    constraint("kubernetes.io/hostname", 3),
                    constraint("topology.kubernetes.io/zone", 5),
                    constraint("rack"),
                ],
                "defaultingType": "List",
            }
        },
        [
            (
                "priorities[0]: Mine: serviceAntiAffinity is a default constraint of "
                "PodTopologySpread now: nearly the same"
            ),
            (
                "priorities[1]: PodTopologySpread stands for both Mine and "
                "SelectorSpreadPriority now: it has the weight of Mine"
            ),
        ],
    ),
    "spreading by the pods' own constraints alone": (
        {"priorities": named("EvenPodsSpreadPriority", weight=1)},
        {"PodTopologySpread": {"defaultConstraints": [], "defaultingType": "List"}},
        [],
    ),
    "symmetric weight": (
        {"predicates": named("MatchInterPodAffinity"), "hardPodAffinitySymmetricWeight": 7},
        {"InterPodAffinity": {"hardPodAffinityWeight": 7}},
        [],
    ),
    "a symmetric weight of nobody": ({"hardPodAffinitySymmetricWeight": 7}, {}, []),
    "service affinity": (
        {"predicates": named("Mine", argument={"serviceAffinity": {"labels": ["a"]}})},
        {},
        [
            (
                "predicates[0]: Mine: serviceAffinity has no equivalent: pods of a service are "
                "no longer kept to nodes alike in labels"
            )
        ],
    ),
    "all predicates": (
        {"alwaysCheckAllPredicates": True},
        {},
        [
            (
                "alwaysCheckAllPredicates: has no equivalent: the first plugin that refuses a "
                "node settles it"
            )
        ],
    ),
    "what is gone": (
        {
            "priorities": named(
                "NodePreferAvoidPodsPriority", "ResourceLimitsPriority", "EqualPriority", weight=1
            )
        },
        {},
        [
            (
                "priorities[0]: NodePreferAvoidPodsPriority has no equivalent: nodes are kept "
                "free by taints now"
            ),
            "priorities[1]: ResourceLimitsPriority has no equivalent",
        ],
    ),
}


@pytest.mark.parametrize("case", ARGUMENTS)
def test_arguments(case: str) -> None:
    """What stands in arguments now, and what is told."""
    fields, args, remarks = ARGUMENTS[case]
    assert policy(**{"predicates": [], "priorities": [], **fields})[1:] == (args, remarks)


def test_extenders_of_old_files() -> None:
    """Fields in any case; a timeout in nanoseconds."""
    extender = {
        "URLPrefix": "https://x.test",
        "BindVerb": "b",
        "EnableHttps": True,
        "HTTPTimeout": 1_500_000_000,
        "TLSConfig": {"CAFile": "/ca"},
    }
    document, _ = as_v1({"kind": "Policy", "extenders": [extender]})
    assert document["extenders"] == [
        {
            "urlPrefix": "https://x.test",
            "bindVerb": "b",
            "enableHTTPS": True,
            "httpTimeout": "1.5s",
            "tlsConfig": {"caFile": "/ca"},
        }
    ]


BAD: dict[str, tuple[dict[str, Any], str]] = {
    "predicate": (
        {"predicates": named("GeneralPredicate")},
        "predicates[0].name: 'GeneralPredicate': unknown predicate; did you mean",
    ),
    "priority": (
        {"priorities": named("LeastRequested", weight=1)},
        "priorities[0].name: 'LeastRequested': unknown priority; did you mean",
    ),
    "weight": (
        {"priorities": named("EqualPriority", weight=0)},
        "priorities[0].weight: 0: must be positive, and not too high",
    ),
    "field": ({"predicats": []}, "predicats: '[…]': unknown field; did you mean \"predicates\"?"),
    "symmetric weight": (
        {"hardPodAffinitySymmetricWeight": 101},
        "hardPodAffinitySymmetricWeight: 101: not in valid range [0, 100]",
    ),
}


@pytest.mark.parametrize("case", BAD)
def test_what_was_never_valid_is_refused(case: str) -> None:
    """With its path."""
    fields, text = BAD[case]
    with pytest.raises(DecodeError) as caught:
        as_v1({"kind": "Policy", **fields})
    assert str(caught.value).startswith(text)


@pytest.mark.parametrize(
    ("document", "is_one"),
    [
        ({"kind": "Policy"}, True),
        ({"kind": "Policy", "apiVersion": "v1"}, True),
        ({"kind": "Policy", "apiVersion": "audit.k8s.io/v1"}, False),
        ({}, False),
    ],
    ids=str,
)
def test_what_a_policy_is(document: dict[str, Any], is_one: bool) -> None:
    """There are other kinds of this name."""
    assert is_policy(document) is is_one


@pytest.mark.parametrize(
    ("name", "strategy"),
    [("DefaultProvider", "LeastAllocated"), ("ClusterAutoscalerProvider", "MostAllocated")],
)
def test_providers(name: str, strategy: str) -> None:
    """All default plugins of today with the weights of then; the two differ in how they use
    resources.
    """
    document, remarks = provider(name)
    scores = runs(document)["score"]
    assert {
        plugin: scores[plugin]
        for plugin in ("TaintToleration", "NodeAffinity", "InterPodAffinity", "PodTopologySpread")
    } == {
        "TaintToleration": 1,
        "NodeAffinity": 1,
        "InterPodAffinity": 1,
        "PodTopologySpread": 2,
    }
    (profile,) = effective(read(document, RESOLVER.registry), RESOLVER.registry)["profiles"]
    args = {entry["name"]: entry["args"] for entry in profile["pluginConfig"]}
    assert args["NodeResourcesFit"]["scoringStrategy"]["type"] == strategy
    assert [str(remark) for remark in remarks] == [
        f"{name}: NodePreferAvoidPodsPriority has no equivalent: nodes are kept free by taints now"
    ]
    with pytest.raises(KeyError):
        provider("MyProvider")


arguments = st.sampled_from(
    [
        None,
        {"labelPreference": {"label": "a", "presence": True}},
        {"serviceAntiAffinity": {"label": "rack"}},
        {"requestedToCapacityRatioArguments": {"shape": SHAPE["shape"]}},
    ]
)
priorities = st.builds(
    lambda name, weight, argument: {"name": name, "weight": weight, "argument": argument},
    st.sampled_from([*PRIORITIES, *GONE, *WITHOUT_EFFECT]),
    st.integers(1, MAX_WEIGHT),
    arguments,
)
predicates = st.builds(
    lambda name, argument: {"name": name, "argument": argument},
    st.sampled_from([*PREDICATES]),
    st.sampled_from(
        [
            None,
            {"labelsPresence": {"labels": ["a"], "presence": True}},
            {"serviceAffinity": {"labels": ["b"]}},
        ]
    ),
)


@given(
    st.none() | st.lists(predicates, max_size=6),
    st.none() | st.lists(priorities, max_size=6),
    st.integers(0, 100),
)
def test_every_policy_is_a_configuration_that_starts(first: Any, second: Any, weight: int) -> None:
    """Whatever a Policy asks for, and it scores with what is named in it only."""
    found, _, _ = policy(predicates=first, priorities=second, hardPodAffinitySymmetricWeight=weight)
    assert set(found.get("score", ())) <= {*PRIORITIES.values()}
    assert set(MANDATORY) <= set(found["filter"])
