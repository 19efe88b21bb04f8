"""Plugins that tell pods apart by labels and owners alone are asked once for pods that agree in
these, until what they go by moves.
"""

from __future__ import annotations

import dataclasses
from collections import Counter
from collections.abc import Callable
from typing import Any, ClassVar

import msgspec
import pytest

from moorage.core.columns.cache import Cache
from moorage.core.columns.change_log import VersionCounter, Versioned
from moorage.core.columns.snapshot import Snapshot
from moorage.core.framework.cluster_events import ClusterEventWithHint
from moorage.core.framework.evaluation.evaluator import Evaluator
from moorage.core.framework.interfaces import ExtensionPoint, SharedSignPlugin
from moorage.core.framework.revisions import RequestedProfile, Revision, resolve
from moorage.core.objects.meta import OwnerReference
from moorage.core.objects.pods import Pod
from moorage.core.pods.ceilings import TooLarge
from tests.builders import make_pod
from tests.core.framework.plugins import PRESETS, REGISTRY


class Colours:
    """Tells pods apart by a label, and by an adjustable secret; notes who it is asked about."""

    name: ClassVar[str] = "Colours"
    events_to_register: ClassVar[tuple[ClusterEventWithHint, ...]] = ()

    def __init__(self) -> None:
        self.asked = Counter[str]()
        self.secret = VersionCounter()
        self.shared = True

    def sign_pod(self, pod: Pod, snapshot: Snapshot) -> bytes:
        """Its colour, or its name where it keeps that from nobody."""
        self.asked[pod.metadata.name] += 1
        colour = (pod.metadata.labels or {}).get("colour", "")
        return f"{colour}{self.secret.version}{'' if self.shared else pod.metadata.name}".encode()

    def sign_depends_on(self, pod: Pod, snapshot: Snapshot) -> tuple[Versioned, ...] | None:
        """The secret."""
        return (self.secret,) if self.shared else None


_conforms: type[SharedSignPlugin] = Colours


def pod(name: str, colour: str = "", owner: str = "") -> Pod:
    """A pod of one template."""
    plain = make_pod(name)
    more: dict[str, Any] = {"labels": {"colour": colour}} if colour else {}
    if owner:
        more["owner_references"] = (OwnerReference("apps/v1", "ReplicaSet", owner),)
    return msgspec.structs.replace(plain, metadata=msgspec.structs.replace(plain.metadata, **more))


class World:
    """An evaluator, and a revision with this plugin alone."""

    def __init__(self, **more: Any) -> None:
        self.plugin = Colours()
        self.evaluator = Evaluator(Snapshot(Cache()), **more)
        self.revision = self.revised()

    def revised(self) -> Revision:
        """Another revision."""
        plain = resolve(RequestedProfile("test"), REGISTRY, PRESETS)
        points: dict[ExtensionPoint, tuple[str, ...]] = dict.fromkeys(ExtensionPoint, ())
        return dataclasses.replace(plain, points=points, deciders={"Colours": self.plugin})

    def evaluate(self, *pods: Pod) -> list[int]:
        """Which pods share an evaluation, by number."""
        found = [id(self.evaluator.evaluation(one, self.revision)) for one in pods]
        return [found.index(one) for one in found]


def test_pods_of_one_content_are_asked_about_once() -> None:
    """Whatever they are called; others are, and share the template where the plugin says so."""
    world = World()
    assert world.evaluate(pod("a"), pod("b"), pod("c", "red"), pod("d", "red")) == [0, 0, 2, 2]
    assert world.evaluate(pod("e", owner="x"), pod("a")) == [0, 0]
    assert world.plugin.asked == {"a": 1, "c": 1, "e": 1}


@pytest.mark.parametrize(
    "change",
    [
        lambda world: world.plugin.secret.increment(),
        lambda world: world.evaluator.retire(world.revision),
        lambda world: setattr(world, "revision", world.revised()),
    ],
    ids=["what it goes by moved", "a revision was retired", "another revision decides"],
)
def test_it_is_asked_again(change: Callable[[World], None]) -> None:
    """When what it said may not hold any more."""
    world = World()
    world.evaluate(pod("a"), pod("b"))
    change(world)
    world.evaluate(pod("c"), pod("d"))
    assert world.plugin.asked == {"a": 1, "c": 1}


def test_who_goes_by_more_is_asked_about_each() -> None:
    """And each has its own template then."""
    world = World()
    world.plugin.shared = False
    assert world.evaluate(pod("a"), pod("b"), pod("a")) == [0, 1, 0]
    assert world.plugin.asked == {"a": 2, "b": 1}


def test_a_pod_that_is_too_large_pushes_no_other_out() -> None:
    """However often it is tried."""
    world = World(byte_budget=2**20)
    labels = {f"label-{i}": "" for i in range(1001)}
    large = pod("large")
    large = msgspec.structs.replace(
        large, spec=msgspec.structs.replace(large.spec, node_selector=labels)
    )
    world.evaluate(pod("a"))
    for _ in range(5):
        with pytest.raises(TooLarge):
            world.evaluate(large)
    world.evaluate(pod("b"))
    assert world.plugin.asked == {"a": 1}


def test_what_is_remembered_is_bounded() -> None:
    """Contents that go beyond it push the others out."""
    world = World(byte_budget=2**15)
    for i in range(100):
        world.evaluate(pod(f"p{i}", f"colour-{i}"))
    assert 0 < len(world.evaluator._signed) < 10
    assert world.evaluator._signed_bytes <= 2**10
