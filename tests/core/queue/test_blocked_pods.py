"""Parked pods: how few of them an event asks about."""

from __future__ import annotations

import msgspec
import pytest

from moorage.core.columns.store import Store
from moorage.core.framework.cluster_events import ActionType, ClusterEvent, EventResource
from moorage.core.objects.pods import Affinity, Pod
from moorage.core.plugins.inter_pod_affinity.plugin import InterPodAffinity
from moorage.core.queue.blocked_pods import BlockedPods
from moorage.core.queue.hints import ProfileQueueConfig, QueueingHints
from moorage.core.queue.queued_pod import QueuedPodInfo
from tests.builders import make_pod
from tests.fakes.listeners import FakeQueueListener

PLUGIN = InterPodAffinity()
MANY = 50


def a_pod(name: str, labels: dict[str, str], *, beside: str = "", away_from: str = "") -> Pod:
    """A pod with these labels that wants to be beside pods with this ``app``, or away from them."""

    def terms(app: str) -> dict[str, object] | None:
        term = {"labelSelector": {"matchLabels": {"app": app}}, "topologyKey": "zone"}
        return {"requiredDuringSchedulingIgnoredDuringExecution": [term]} if app else None

    affinity = msgspec.convert(
        {"podAffinity": terms(beside), "podAntiAffinity": terms(away_from)}, Affinity
    )
    pod = make_pod(name, affinity=affinity)
    return msgspec.structs.replace(
        pod, metadata=msgspec.structs.replace(pod.metadata, labels=labels)
    )


def parked(*pods: Pod) -> BlockedPods:
    """These pods, which InterPodAffinity has refused."""
    profiles = QueueingHints(Store(), FakeQueueListener())
    profiles.configs["test"] = ProfileQueueConfig(
        hints={PLUGIN.name: PLUGIN.events_to_register},
        hint_signatures={PLUGIN.name: PLUGIN.hint_signature},
    )
    found = BlockedPods(profiles.equivalence_class_of)
    for pod in pods:
        found.add(QueuedPodInfo(pod, "test", 0.0, unschedulable_plugins=frozenset({PLUGIN.name})))
    return found


def asked(pods: BlockedPods, event: ClusterEvent) -> tuple[int, list[str]]:
    """How many groups an event asks about, and which pods alone."""
    registrations = [one for one in PLUGIN.events_to_register if one.matches(event)]
    found = pods.blocked_by("test", PLUGIN.name).groups_to_ask(registrations, event)
    return len(found), sorted(
        entry.pod.metadata.name for alone in found.values() for entry in alone.values()
    )


def comes(pod: Pod) -> ClusterEvent:
    """It has come to a node."""
    return ClusterEvent(EventResource.ASSIGNED_POD, ActionType.ADD, new=pod)


def goes(pod: Pod) -> ClusterEvent:
    """It has left its node."""
    return ClusterEvent(EventResource.ASSIGNED_POD, ActionType.DELETE, old=pod)


def test_labels_that_nobody_goes_by_make_no_groups() -> None:
    """The pods of a StatefulSet are one question."""
    pods = parked(
        *(a_pod(f"web-{i}", {"pod-name": f"web-{i}"}, beside="cache") for i in range(MANY))
    )
    assert asked(pods, comes(a_pod("x", {"app": "cache"}))) == (1, [])


def test_who_listens_to_others_is_not_asked() -> None:
    """Each waits for another application: only those are asked that wait for this one."""
    pods = parked(*(a_pod(f"p{i}", {}, beside=f"app-{i}") for i in range(MANY)))
    for event in (comes(a_pod("x", {"app": "app-7"})), goes(a_pod("x", {"app": "app-7"}))):
        assert asked(pods, event) == (1, [])
    assert asked(pods, comes(a_pod("x", {"app": "none"}))) == (0, [])


@pytest.mark.parametrize("kept_away", [0, 3])
def test_a_pod_that_kept_others_away_selects_them(kept_away: int) -> None:
    """Their labels are looked up; all others are no question."""
    labels = [{"app": "web" if i < kept_away else "db", "pod-name": str(i)} for i in range(MANY)]
    pods = parked(*(a_pod(f"p{i}", of_pod) for i, of_pod in enumerate(labels)))
    groups, alone = asked(pods, goes(a_pod("x", {}, away_from="web")))
    assert (groups, alone) == (min(kept_away, 1), [f"p{i}" for i in range(kept_away)])
    assert asked(pods, goes(a_pod("x", {}))) == (0, [])


def test_nothing_is_left_of_pods_that_are_gone() -> None:
    """Whoever came, was renewed, was freed or went, in any way."""
    first, second = (
        a_pod("a", {"app": "web", "x": "1"}, beside="web"),
        a_pod("b", {"app": "web"}, away_from="web"),
    )
    pods = parked(first, second)
    blocked = pods.blocked_by("test", PLUGIN.name)
    entries = {
        entry.pod.metadata.name: entry
        for alike in blocked.groups.values()
        for entry in alike.entries.values()
    }
    entries["a"].pod = a_pod("a", {"app": "other"}, beside="db")
    pods.add(entries["a"])
    (alike, *_) = [alike for alike in blocked.groups.values() if "uid-b" in alike.entries]
    pods.free(alike, alike.entries)
    for entry in entries.values():
        pods.discard(entry)
    assert not blocked.groups and not blocked.size and not pods.blocked_counts()
    assert (
        not blocked._by_label
        and not blocked._labels
        and not blocked._group_of
        and not len(blocked._by_selector)
    )


def test_a_pod_of_which_nothing_can_be_said_is_always_asked() -> None:
    """A plugin that fails when it is asked for its signature leaves nobody waiting."""
    listener = FakeQueueListener()

    def fails(_pod: Pod) -> bytes:
        raise ValueError("no")

    profiles = QueueingHints(Store(), listener)
    profiles.configs["test"] = ProfileQueueConfig(
        hints={PLUGIN.name: PLUGIN.events_to_register}, hint_signatures={PLUGIN.name: fails}
    )
    pods = BlockedPods(profiles.equivalence_class_of)
    pods.add(
        QueuedPodInfo(a_pod("a", {}), "test", 0.0, unschedulable_plugins=frozenset({PLUGIN.name}))
    )
    assert asked(pods, comes(a_pod("x", {}))) == (1, [])
    assert listener.failures == [("InterPodAffinity", "a", "no")]
