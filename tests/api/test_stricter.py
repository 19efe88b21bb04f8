"""What kube-scheduler lets pass when it reads its configuration, and finds out when it is too late
or never: here it is refused.
"""

from __future__ import annotations

from typing import Any

import pytest

from tests.api.profiles import resolve

FIT, SPREAD = "NodeResourcesFit", "PodTopologySpread"


def args(plugin: str, document: dict[str, Any]) -> dict[str, Any]:
    """A spec with arguments of a plugin."""
    return {"pluginConfig": [{"name": plugin, "args": document}]}


def constraint(**more: Any) -> dict[str, Any]:
    """A default constraint."""
    return {"maxSkew": 1, "topologyKey": "zone", "whenUnsatisfiable": "ScheduleAnyway", **more}


def listed(*constraints: dict[str, Any]) -> dict[str, Any]:
    """Default constraints in the place of the built-in ones."""
    return args(SPREAD, {"defaultingType": "List", "defaultConstraints": list(constraints)})


STRATEGY = "spec.pluginConfig[0].args.scoringStrategy"
LIST = "spec.pluginConfig[0].args.defaultConstraints"
REFUSED: dict[str, tuple[dict[str, Any], str]] = {
    # NodeResourcesFit's arguments are looked at when the plugin is made, after validation.
    "strategy": (
        args(FIT, {"scoringStrategy": {"type": "Least"}}),
        f"{STRATEGY}.type: 'Least': supported values: ",
    ),
    "weight of a resource": (
        args(FIT, {"scoringStrategy": {"resources": [{"name": "cpu", "weight": 101}]}}),
        f"{STRATEGY}.resources[0].weight: 101: resource weight of cpu not in valid range (0, 100]",
    ),
    "shape": (
        args(
            FIT,
            {
                "scoringStrategy": {
                    "type": "RequestedToCapacityRatio",
                    "requestedToCapacityRatio": {"shape": []},
                }
            },
        ),
        f"{STRATEGY}.requestedToCapacityRatio.shape: None: at least one point must be specified",
    ),
    "ignored resources": (
        args(FIT, {"ignoredResources": ["a/b/c"]}),
        "spec.pluginConfig[0].args.ignoredResources[0]: 'a/b/c': ",
    ),
    # multiPoint is not searched for plugins that are gone.
    "a plugin of the past": (
        {"plugins": {"multiPoint": {"enabled": [{"name": "EBSLimits"}]}}},
        "spec.plugins.multiPoint.enabled[0].name: 'EBSLimits': no plugin has this name",
    ),
    # A negative weight loads, and starts as long as no sum falls below 0.
    "a negative weight": (
        {"plugins": {"score": {"enabled": [{"name": "ImageLocality", "weight": -1}]}}},
        "spec.plugins.score.enabled[0].weight: -1: not in valid range [0, 2147483647]",
    ),
    # Constraints that no pod could have.
    "a policy": (
        listed(constraint(nodeTaintsPolicy="Honour")),
        f"{LIST}[0].nodeTaintsPolicy: 'Honour': supported values: ",
    ),
    "no domains": (
        listed(constraint(minDomains=0)),
        f"{LIST}[0].minDomains: 0: not in valid range [1, 2147483647]",
    ),
    # These it refuses as well, with the same paths.
    "skew": (listed(constraint(maxSkew=0)), f"{LIST}[0].maxSkew: 0: not in valid range (0, inf)"),
    "no key": (listed(constraint(topologyKey="")), f"{LIST}[0].topologyKey: '': can not be empty"),
    "no action": (
        listed(constraint(whenUnsatisfiable="")),
        f"{LIST}[0].whenUnsatisfiable: '': can not be empty",
    ),
    "action": (
        listed(constraint(whenUnsatisfiable="Maybe")),
        f"{LIST}[0].whenUnsatisfiable: 'Maybe': supported values: ",
    ),
    "selector": (
        listed(constraint(labelSelector={})),
        f"{LIST}[0].labelSelector: '{{…}}': constraint must not define a selector",
    ),
    "twice": (
        listed(constraint(), constraint()),
        f"{LIST}[1]: '[…]': a constraint for this topology and action stands before it",
    ),
    "system": (
        args(SPREAD, {"defaultConstraints": [constraint()]}),
        (
            "spec.pluginConfig[0].args.defaultingType: 'System': when .defaultConstraints are "
            "not empty"
        ),
    ),
    "both zero": (
        args(
            "DefaultPreemption", {"minCandidateNodesPercentage": 0, "minCandidateNodesAbsolute": 0}
        ),
        (
            "spec.pluginConfig[0].args.minCandidateNodesPercentage: 0: cannot be zero at the "
            "same time as minCandidateNodesAbsolute"
        ),
    ),
    "candidates": (
        args("DefaultPreemption", {"minCandidateNodesAbsolute": -1}),
        "spec.pluginConfig[0].args.minCandidateNodesAbsolute: -1: not in valid range [0, inf)",
    ),
    "hard weight": (
        args("InterPodAffinity", {"hardPodAffinityWeight": 101}),
        "spec.pluginConfig[0].args.hardPodAffinityWeight: 101: not in valid range [0, 100]",
    ),
}


@pytest.mark.parametrize("case", REFUSED)
def test_refused(case: str) -> None:
    """With path, value and words."""
    spec, text = REFUSED[case]
    errors = resolve(spec).errors
    assert [str(error) for error in errors if str(error).startswith(text)], errors


@pytest.mark.parametrize(
    "more",
    [{"nodeTaintsPolicy": "Honor"}, {"minDomains": 2, "whenUnsatisfiable": "DoNotSchedule"}],
    ids=str,
)
def test_constraints_as_in_pods_are_taken(more: dict[str, Any]) -> None:
    """As kube-scheduler takes them, though its documentation does not tell."""
    assert not resolve(listed(constraint(**more))).errors


def test_names_for_pods() -> None:
    """Only a configuration with a single profile may leave the name out in kube-scheduler; here the
    object's name takes its place.
    """
    assert resolve({}).scheduler_name
    (error,) = resolve({"schedulerName": ""}).errors
    assert error.path == "schedulerName"
