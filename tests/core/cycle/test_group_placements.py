"""What the plugins of a profile say of a group's placements: which are tried, and which is best."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from typing import Any, ClassVar

import numpy as np
import pytest

from moorage.core.columns.cache import Cache
from moorage.core.columns.snapshot import Snapshot
from moorage.core.cycle.context import CycleContext, Decision
from moorage.core.cycle.group_attempt import GroupAttempt
from moorage.core.cycle.group_cycle import GroupResult, place_member, schedule_group
from moorage.core.cycle.group_placements import best
from moorage.core.framework.cluster_events import ClusterEventWithHint
from moorage.core.framework.guard import guarded
from moorage.core.framework.interfaces import Scores
from moorage.core.framework.placement_contract import (
    Placement,
    PlacementGeneratePlugin,
    PlacementScorePlugin,
    Proposal,
)
from moorage.core.framework.registry import PluginSpec, build_registry
from moorage.core.framework.revisions import (
    EnabledPlugins,
    PluginRef,
    ProfileErrors,
    RequestedProfile,
    Revision,
    resolve,
)
from moorage.core.framework.status import Code
from moorage.core.groups.group_spec import GroupSpec
from moorage.core.objects.pod_groups import API, GroupKey
from moorage.core.objects.pods import Pod
from moorage.core.plugins.intree import INTREE, PRESETS
from moorage.core.plugins.node_resources.fit import NodeResourcesFit
from moorage.core.plugins.node_resources.fit_arguments import NodeResourcesFitArgs, ScoringStrategy
from moorage.core.plugins.node_resources.resource_allocation import ResourceSpec
from moorage.core.plugins.pod_group_pods_count import PodGroupPodsCount
from moorage.core.plugins.topology_placement_generator import TopologyPlacementGenerator
from moorage.core.simulation.simulated_groups import finished
from tests.builders import make_node, make_pod
from tests.fakes.guards import RecordingGuard

_generates: PlacementGeneratePlugin = TopologyPlacementGenerator()
_scores: tuple[PlacementScorePlugin, ...] = (PodGroupPodsCount(), NodeResourcesFit())

RACK = "example.com/rack"
PAIR = GroupSpec(GroupKey(API, "default", "g"), 2, 0, topology_key=RACK)


@dataclasses.dataclass(frozen=True)
class LastByName:
    """A plugin from outside the tree."""

    name: ClassVar[str] = "LastByName"
    events_to_register: ClassVar[tuple[ClusterEventWithHint, ...]] = ()

    def score_placements(
        self, _group: GroupSpec, proposals: Sequence[Proposal], _snapshot: Snapshot
    ) -> Scores:
        """100 for the last."""
        last = max(one.placement.name for one in proposals)
        return np.array([100 * (one.placement.name == last) for one in proposals], np.int64)


class Failing(LastByName):
    """One that has a bug."""

    def score_placements(self, *_: Any) -> Scores:
        """It fails."""
        raise ZeroDivisionError


def revision(outside: type[LastByName] = LastByName, /, **plugins: EnabledPlugins) -> Revision:
    """A profile, with the plugin at hand."""
    spec = PluginSpec(outside.name, guarded(outside, RecordingGuard()), guard=RecordingGuard())
    registry = build_registry(INTREE, [spec])
    return resolve(RequestedProfile("test", plugins=plugins), registry, PRESETS)


def racks(**sizes: str) -> CycleContext:
    """A node in each rack, of so much cpu."""
    cache = Cache()
    for rack, cpu in sizes.items():
        cache.put_node(make_node(f"{rack}0", cpu=cpu, memory="64Gi", labels={RACK: rack}))
    return CycleContext(cache, 7)


def placed(by: Revision, there: CycleContext, members: int = 2, **group: Any) -> GroupResult:
    """What comes of a group of members of one core each."""

    def place(pod: Pod, placement: Placement) -> Decision:
        return place_member(pod, by, there, placement)

    waiting = [make_pod(f"m{i}", cpu="1") for i in range(members)]
    attempt = GroupAttempt(dataclasses.replace(PAIR, **group), waiting)
    return finished(schedule_group(attempt, place, there, by))


def enabled(name: str, weight: int | None = None) -> EnabledPlugins:
    """This plugin beside the preset's."""
    return EnabledPlugins((PluginRef(name, weight),))


@pytest.mark.parametrize(
    ("plugins", "want"),
    [
        pytest.param({}, "b", id="the most members"),
        pytest.param(
            {"placementScore": EnabledPlugins(disabled=("PodGroupPodsCount",))}, "a", id="fullest"
        ),
        pytest.param({"placementScore": enabled("NodeResourcesFit", 50)}, "a", id="weighed"),
        pytest.param({"multiPoint": enabled("NodeResourcesFit", 50)}, "a", id="weighed everywhere"),
        pytest.param({"placementScore": enabled("LastByName", 9)}, "c", id="from outside the tree"),
    ],
)
def test_the_profile_says_which_placement_is_best(
    plugins: dict[str, EnabledPlugins], want: str
) -> None:
    """Rack a is full with two members, b takes all three, c is large."""
    there = racks(a="2", b="4", c="64")
    result = placed(revision(LastByName, **plugins), there, members=3)
    assert {one.node[0] for one in result.placed} == {want}


def test_without_a_generator_a_group_lies_anywhere() -> None:
    """As in kube-scheduler: nobody looks at its constraint."""
    there = racks(a="1", b="1")
    assert placed(revision(), there).placed == []
    anywhere = revision(placementGenerate=EnabledPlugins(disabled=("*",)))
    assert {one.node for one in placed(anywhere, there).placed} == {"a0", "b0"}


def test_a_scorer_that_fails_is_named() -> None:
    """The group fails with it, and nothing of it is left."""
    there = racks(a="2", b="2")
    result = placed(revision(Failing, placementScore=enabled("LastByName")), there)
    assert result.status.code is Code.ERROR
    assert result.status.message.startswith(
        'running PlacementScore plugins: plugin "Strange" 1.0 failed at placementScore'
    )
    assert there.cache.assumed == 0


@pytest.mark.parametrize(
    ("resources", "want"),
    [
        pytest.param(None, "cpu", id="alike"),
        pytest.param({"memory": 1}, "memory", id="another resource"),
        pytest.param({"cpu": 1, "memory": 9}, "memory", id="by weight"),
        pytest.param({"cpu": 9, "memory": 1}, "cpu", id="by weight, the other way"),
    ],
)
@pytest.mark.parametrize("kind", ["LeastAllocated", "MostAllocated"])
def test_fullness_by_the_strategys_resources(
    resources: dict[str, int] | None, want: str, kind: Any
) -> None:
    """One rack has little cpu, the other one little memory; whatever the strategy's type."""
    cache = Cache()
    cache.put_node(make_node("cpu", cpu="2", memory="60Gi", labels={RACK: "cpu"}))
    cache.put_node(make_node("memory", cpu="40", memory="4Gi", labels={RACK: "memory"}))
    specs = None
    if resources is not None:
        specs = tuple(ResourceSpec(name, weight) for name, weight in resources.items())
    args = NodeResourcesFitArgs(scoring_strategy=ScoringStrategy(kind, specs))
    by = resolve(
        RequestedProfile("test", args={"NodeResourcesFit": args}), build_registry(INTREE), PRESETS
    )
    pods = [(make_pod("a", cpu="2", memory="3Gi"), "")]
    proposals = [Proposal(Placement(RACK, name), 0, pods) for name in ("cpu", "memory")]
    found = best(PAIR, proposals, by, CycleContext(cache))
    assert isinstance(found, int)
    assert proposals[found].placement.name == want


def test_ties_are_broken_by_seed_and_group() -> None:
    """Each of equals has its turn, in whichever order they come; the same question has the same
    answer.
    """
    there = racks(a="2", b="2", c="2", d="1")

    def chosen(seed: int, uid: str, names: str = "abcd") -> str:
        group = dataclasses.replace(PAIR, uid=uid)
        pods = [(make_pod("m", cpu="1"), "")]
        proposals = [Proposal(Placement(RACK, name), name != "d", pods) for name in names]
        found = best(group, proposals, revision(), CycleContext(there.cache, seed))
        assert isinstance(found, int)
        return names[found]

    uids = [f"uid-{i}" for i in range(40)]
    first = [chosen(1, uid) for uid in uids]
    assert set(first) == set("abc")
    assert [chosen(1, uid, "dcba") for uid in uids] == first
    assert [chosen(2, uid) for uid in uids] != first


def test_of_generators_there_is_one() -> None:
    """As in kube-scheduler."""

    class Another(TopologyPlacementGenerator):
        """Under another name."""

        name: ClassVar[str] = "Another"

    registry = build_registry(INTREE, [PluginSpec("Another", Another)])
    plugins = {"placementGenerate": enabled("Another")}
    with pytest.raises(ProfileErrors, match="at most one placementGenerate plugin"):
        resolve(RequestedProfile("test", plugins=plugins), registry, PRESETS)
