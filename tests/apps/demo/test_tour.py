"""The tour against an operator that does what it should, and against one that does not."""

from __future__ import annotations

import dataclasses
import datetime
from collections.abc import Callable, Mapping
from typing import Any, TypeVar

import pytest

from moorage.apps.demo import samples, tour
from moorage.apps.demo.cluster_state import ClusterState, NodeUse, ProfileRow, ReplicaRow
from moorage.apps.demo.tour import NotObserved

T = TypeVar("T")
PROBLEM = 'no plugin is called NodeResourcesFitt; did you mean "NodeResourcesFit"?'


EMPTY = NodeUse("b1", "b", 0, 0, 1)


class Pretended:
    """A stage whose operator reacts at once; ``broken`` names what it does not do."""

    def __init__(self, broken: str = "", twin: NodeUse = EMPTY) -> None:
        self.broken = broken
        self.nodes = (NodeUse("a1", "a", 0.5, 0.5, 2), twin)
        self.profile = ProfileRow(tour.PROFILE, 1, "r1", True, "", 0, 0)
        self.spreads = False
        self.leader = "moorage-0"
        self.places = {"old-1": "a1", "old-2": "a1", "old-3": "b1"}
        self.full = broken in ("room", "no room")
        self.said: list[str] = []
        self.replicas: list[int] = []
        self.pauses = 0

    @property
    def refused(self) -> dict[str, str]:
        """Pods that found no room."""
        return {pod: "1 Too many pods" for pod, node in self.places.items() if not node}

    def look(self) -> ClusterState:
        """As it is now."""
        replicas = tuple(
            ReplicaRow(f"moorage-{number}", number, self.leader == f"moorage-{number}")
            for number in range(2)
        )
        swaps = {self.profile.revision: datetime.datetime.now(datetime.UTC)}
        return ClusterState(
            profiles=(self.profile,),
            nodes=self.nodes,
            replicas=replicas,
            swaps=swaps,
            places={tour.PROFILE: dict(self.places)},
            refused=self.refused,
        )

    def until(self, check: Callable[[], T | None], what: str, seconds: float) -> T:
        """What is not there at once will never be."""
        if found := check():
            return found
        raise NotObserved(what)

    def merge(self, kind: str, name: str, patch: Mapping[str, Any]) -> None:
        """What the operator would make of an edit."""
        if kind == "PluginConfig" and self.broken != "swap":
            self.spreads = (
                patch["spec"]["args"]["scoringStrategy"]["type"] == "LeastAllocated"
                and self.broken != "effect"
            )
            self.profile = dataclasses.replace(
                self.profile, revision=f"r{int(self.profile.revision[1:]) + 1}"
            )
        elif kind == "Deployment":
            self.replicas.append(patch["spec"]["replicas"])
            self.full = self.broken == "no room"
            self.places = {
                pod: place or ("" if self.full else "a1") for pod, place in self.places.items()
            }
        elif kind == "SchedulerProfile":
            wrong = (
                patch["spec"]["weights"][tour.WRONG_PLUGIN] is not None and self.broken != "refusal"
            )
            revision = "r99" if wrong and self.broken == "last good" else self.profile.revision
            self.profile = dataclasses.replace(
                self.profile, ready=not wrong, problem=PROBLEM if wrong else "", revision=revision
            )

    def create(self, kind: str, body: Mapping[str, Any]) -> None:
        """Place a pod."""
        if self.broken != "placing":
            self.places[f"demo/{body['metadata']['name']}"] = (
                "" if self.full else "b1" if self.spreads else "a1"
            )

    def kill(self, replica: str) -> None:
        """The other one takes over."""
        if self.broken != "takeover":
            self.leader = {"moorage-0": "moorage-1"}[replica]

    def say(self, text: str = "", style: str | None = None) -> None:
        """Keep it."""
        self.said.append(text)

    def pause(self) -> None:
        """Count it."""
        self.pauses += 1


def test_all_goes_well() -> None:
    """Each step is told, then what was seen; the cluster is as before at the end."""
    stage = Pretended()
    assert tour.play(stage)
    told = "\n".join(stage.said)
    for step in tour.STEPS:
        assert step.title in told
    assert "Pod more-0 had gone to a1, more-1 went to b1. The edit is taken back" in told
    assert PROBLEM in told
    assert "moorage-0 is dead; moorage-1 led" in told
    assert stage.pauses == 2 * len(tour.STEPS)
    assert (stage.profile.ready, stage.spreads) == (True, False)


@pytest.mark.parametrize(
    "twin",
    [
        pytest.param(NodeUse("b1", "b", 0, 0, 1, closed="cordoned"), id="closed"),
        pytest.param(NodeUse("b1", "b", 0, 0, 1, size=(1, 1)), id="another size"),
        pytest.param(NodeUse("b1", "b", 0.5, 0.5, 2), id="as full"),
    ],
)
def test_nodes_that_cannot_show_it(twin: NodeUse) -> None:
    """The pod may stay with the others where no other node has to be preferred: so it is said."""
    stage = Pretended("effect", twin)
    assert not tour.play(stage)
    told = "\n".join(stage.said)
    assert "Pod more-0 had gone to a1, more-1 went to a1: on these nodes the edit need not" in told
    assert "elsewhere" not in told


def test_room_is_made() -> None:
    """By the demo's own Deployments, which go away where nothing else helps."""
    stage = Pretended("room")
    tour.play(stage)
    assert "scaled to 0" in stage.said[0]
    assert stage.replicas == [0, 0, samples.FIRST_PODS, samples.FIRST_PODS]


@pytest.mark.parametrize(
    ("broken", "told"),
    [
        ("swap", "another revision to decide"),
        ("effect", "more-1 went to a1, where more-0 was packed"),
        ("refusal", "the profile to be refused"),
        ("last good", "revision r99 decides, not r3, which was good"),
        ("placing", "pod more-0 to be decided"),
        ("no room", "needs a node .* room for 4 pods that ask for nothing: 1 Too many pods"),
        ("takeover", "another replica to lead"),
    ],
)
def test_what_is_not_seen_is_no_success(broken: str, told: str) -> None:
    """The tour ends with what was waited for."""
    with pytest.raises(NotObserved, match=told):
        tour.play(Pretended(broken))
