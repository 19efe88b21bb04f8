"""Former versions of KubeSchedulerConfiguration mean the same in v1, or something is told."""

from __future__ import annotations

from typing import Any

import pytest

from moorage.apps.convert.effective import effective
from moorage.apps.convert.kube_configuration import API_VERSION, KIND
from moorage.apps.convert.legacy.v1beta import OLDER, as_v1
from moorage.apps.convert.loading import ConfigurationRefused, read
from tests.api.profiles import RESOLVER

BETA2, BETA3 = OLDER


def weights(version: str, **plugins: Any) -> dict[str, int]:
    """What scores with which weight."""
    document, remarks = as_v1(
        {"apiVersion": version, "kind": KIND, "profiles": [{"plugins": plugins}]}
    )
    assert not remarks
    (profile,) = effective(read(document, RESOLVER.registry), RESOLVER.registry)["profiles"]
    return {one["name"]: one["weight"] for one in profile["plugins"]["score"]}


def test_v1beta3_is_v1() -> None:
    """Only the version changes, in arguments too."""
    args = {"apiVersion": BETA3, "kind": "NodeAffinityArgs"}
    document = {
        "apiVersion": BETA3,
        "kind": KIND,
        "profiles": [{"pluginConfig": [{"name": "NodeAffinity", "args": args}]}],
    }
    made, remarks = as_v1(document)
    assert made == {
        "apiVersion": API_VERSION,
        "kind": KIND,
        "profiles": [
            {
                "pluginConfig": [
                    {"name": "NodeAffinity", "args": {**args, "apiVersion": API_VERSION}}
                ]
            }
        ],
    }
    assert not remarks
    assert args["apiVersion"] == BETA3


def test_weights_of_v1beta2() -> None:
    """Three default plugins had less weight; what a profile says itself stands."""
    changed = ("TaintToleration", "NodeAffinity", "InterPodAffinity")
    assert [weights(BETA3)[name] for name in changed] == [3, 2, 2]
    assert [weights(BETA2)[name] for name in changed] == [1, 1, 1]
    said = {
        "score": {"enabled": [{"name": "TaintToleration", "weight": 5}]},
        "multiPoint": {
            "enabled": [{"name": "NodeAffinity", "weight": 6}],
            "disabled": [{"name": "InterPodAffinity"}],
        },
    }
    found = weights(BETA2, **said)
    assert [found.get(name) for name in changed] == [5, 6, None]
    only = {
        "enabled": [{"name": "PrioritySort"}, {"name": "DefaultBinder"}, {"name": "ImageLocality"}],
        "disabled": [{"name": "*"}],
    }
    assert weights(BETA2, multiPoint=only) == {"ImageLocality": 1}


def test_what_is_gone_is_told() -> None:
    """Plugins and fields of the past; limits of volumes are one plugin now."""
    gone = ["EBSLimits", "NodeName", "CinderLimits", "SelectorSpread", "NodePreferAvoidPods"]
    document, remarks = as_v1(
        {
            "apiVersion": BETA2,
            "kind": KIND,
            "healthzBindAddress": "0.0.0.0:10251",
            "metricsBindAddress": "",
            "leaderElection": {"resourceLock": "endpointsleases"},
            "profiles": [{"plugins": {"filter": {"enabled": [{"name": name} for name in gone]}}}],
        }
    )
    assert document["profiles"][0]["plugins"]["filter"]["enabled"] == [
        {"name": "NodeVolumeLimits"},
        {"name": "NodeName"},
    ]
    assert document["leaderElection"] == {}
    assert "healthzBindAddress" not in document
    path = "profiles[0].plugins.filter"
    assert [str(remark) for remark in remarks] == [
        "healthzBindAddress: is gone: serving.bindAddress of the OperatorConfiguration",
        f"{path}: EBSLimits is gone: NodeVolumeLimits does that now",
        f"{path}: CinderLimits is gone: NodeVolumeLimits does that now",
        f"{path}: SelectorSpread is gone: PodTopologySpread's default constraints do that now",
        f"{path}: NodePreferAvoidPods is gone: nodes are kept free by taints now",
        "leaderElection.resourceLock: 'endpointsleases' is gone: the lock is a Lease",
    ]


@pytest.mark.parametrize(
    "profiles",
    [
        "x",
        [1],
        [{"plugins": 1}],
        [{"plugins": {"filter": {"enabled": [3, "x"]}, "multiPoint": []}}],
        [{"pluginConfig": {}}],
    ],
    ids=str,
)
@pytest.mark.parametrize("version", OLDER)
def test_wrong_shapes_are_left_to_the_reader(version: str, profiles: Any) -> None:
    """Nothing raises, and nothing is lost that would be refused."""
    made, _ = as_v1({"apiVersion": version, "kind": KIND, "profiles": profiles})
    with pytest.raises(ConfigurationRefused) as caught:
        read(made, RESOLVER.registry)
    assert caught.value.stage == "decodeError"
