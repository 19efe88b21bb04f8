"""Hints of two revisions that decide about pods of one profile."""

from __future__ import annotations

from moorage.core.framework.cluster_events import (
    ActionType,
    ClusterEventWithHint,
    EventResource,
)
from moorage.core.objects.pods import Pod
from moorage.core.queue.hints import ProfileQueueConfig

NODE, POD = (
    ClusterEventWithHint(resource, ActionType.ADD)
    for resource in (EventResource.NODE, EventResource.ASSIGNED_POD)
)


def by_name(pod: Pod) -> str:
    """A signature."""
    return pod.metadata.name


def by_uid(pod: Pod) -> str:
    """Another one."""
    return pod.metadata.uid


def test_what_either_says_may_free_a_pod() -> None:
    """All else is the first one's. A signature stands for what both see, or for one plugin
    alone.
    """
    signatures = {"Same": by_name, "Other": by_name, "Half": by_name, "Mine": by_name}
    mine = ProfileQueueConfig(
        hints={"Same": (NODE,), "Other": (NODE,), "Half": (NODE,), "Mine": (NODE,)},
        hint_signatures=signatures,
        max_backoff=7,
    )
    other = ProfileQueueConfig(
        hints={"Same": (NODE,), "Other": (POD,), "Half": (NODE,), "Its": (POD,)},
        hint_signatures={"Same": by_name, "Other": by_uid, "Its": by_uid},
        max_backoff=9,
    )
    joined = mine.with_hints_of(other)
    assert joined.hints == {
        "Same": (NODE,),
        "Other": (NODE, POD),
        "Half": (NODE,),
        "Mine": (NODE,),
        "Its": (POD,),
    }
    assert joined.hint_signatures == {"Same": by_name, "Mine": by_name, "Its": by_uid}
    assert joined.max_backoff == 7
