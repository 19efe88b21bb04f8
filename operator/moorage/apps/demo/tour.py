"""The tour: steps that change something, wait until the effect is there, and say what was seen.
Nothing sleeps and hopes.
"""

from __future__ import annotations

import dataclasses
import datetime
import textwrap
import time
from collections.abc import Callable, Mapping
from typing import Any, NamedTuple, Protocol, TypeVar

import yaml

from moorage.apps.demo import samples
from moorage.apps.demo.cluster_state import ClusterState, ProfileRow
from moorage.apps.demo.table import short

T = TypeVar("T")

PROFILE, CONFIG = "binpack", "mostly-cpu"
WRONG_PLUGIN = "NodeResourcesFitt"
REFUSED = "refused"
SECONDS = 20.0
"""An effect that is not there by then is none."""
ROOM_SECONDS = 10.0
"""Within which a refused pod is tried again after others have gone: its first backoff is a
second.
"""


class NotObserved(Exception):
    """A change had not the effect that it should have; the text says what was waited for."""


class TourStage(Protocol):
    """What the tour needs of the demo."""

    def look(self) -> ClusterState:
        """The cluster as it is, or as it was a moment ago."""

    def until(self, check: Callable[[], T | None], what: str, seconds: float) -> T:
        """Wait until ``check`` gives something true, and return that. Raises NotObserved."""

    def merge(self, kind: str, name: str, patch: Mapping[str, Any]) -> None:
        """Change fields of an object."""

    def create(self, kind: str, body: Mapping[str, Any]) -> None:
        """Create an object."""

    def kill(self, replica: str) -> None:
        """End a replica by SIGKILL."""

    def say(self, text: str = "", style: str | None = None) -> None:
        """Print a line."""

    def pause(self) -> None:
        """Give people time to read."""


class Seen(NamedTuple):
    """What came of a change; ``whole``: the nodes are such that all of its effect could be seen."""

    text: str
    whole: bool = True


@dataclasses.dataclass(frozen=True, slots=True)
class Step:
    """A change, and what it has for an effect. ``play`` raises NotObserved."""

    title: str
    text: str
    change: str
    play: Callable[[TourStage], Seen]


def play(stage: TourStage) -> bool:
    """All steps; whether all effects could be seen. Raises NotObserved."""
    made_room, whole = make_room(stage), True
    for number, step in enumerate(STEPS, 1):
        stage.say(f"\n{number}. {step.title}", "bold")
        stage.say(step.text)
        stage.say(textwrap.indent(step.change.strip(), "    "), "cyan")
        stage.pause()
        seen = step.play(stage)
        whole = whole and seen.whole
        stage.say(f"-> {seen.text}", "green")
        stage.pause()
    if made_room:
        _scale(stage, samples.FIRST_PODS)
    return whole


def make_room(stage: TourStage) -> bool:
    """Try with a pod of the same kind whether the tour's pods find room, and whether they do
    without the demo's own Deployments.

    Whether those had to go. Raises NotObserved when not even that helps.
    """
    _make(stage, "more-0")
    if (
        stage.until(lambda: _decided(stage, "more-0"), "pod more-0 to be decided", SECONDS)
        != REFUSED
    ):
        return False
    stage.say(
        "No node has room for the tour's pods: the demo's Deployments are scaled to 0 for it."
    )
    _scale(stage, 0)
    try:
        _placed(stage, "more-0", ROOM_SECONDS)
    except NotObserved as error:
        why = stage.look().refused.get(_name("more-0"), "")
        raise NotObserved(
            f"the tour needs a node that is neither cordoned nor tainted, with room for "
            f"{1 + len(STEPS)} pods that ask for nothing: {why}"
        ) from error
    return True


def _scale(stage: TourStage, replicas: int) -> None:
    for profile in samples.PROFILES:
        stage.merge("Deployment", profile, {"spec": {"replicas": replicas}})


# ---- the steps -----------------------------------------------------------------------------------

_SPREADING = {"spec": {"args": {"scoringStrategy": {"type": "LeastAllocated"}}}}
_PACKING = {"spec": {"args": {"scoringStrategy": {"type": None}}}}
_BROKEN = {"spec": {"weights": {WRONG_PLUGIN: 3}}}
_MENDED = {"spec": {"weights": {WRONG_PLUGIN: None}}}


def _hot_swap(stage: TourStage) -> Seen:
    before, state = _profile(stage), stage.look()
    packed = _node(state, "more-0")
    edited = datetime.datetime.now(datetime.UTC)
    stage.merge("PluginConfig", CONFIG, _SPREADING)
    after = _other_revision(stage, before, "another revision to decide")
    swapped = stage.until(
        lambda: stage.look().swaps.get(after.revision), "the leader to log its swap", SECONDS
    )
    node, must_move = _place(stage, "more-1"), _has_an_emptier_twin(state, packed)
    if node == packed and must_move:
        raise NotObserved(f"more-1 went to {node}, where more-0 was packed")
    stage.merge("PluginConfig", CONFIG, _PACKING)
    _other_revision(stage, after, "the old rules to decide again")
    moved = node != packed and (must_move or _is_emptier(state, node, packed))
    why = "" if moved else ": on these nodes the edit need not move a pod"
    text = (
        f"Revision {short(after.revision)} decided {(swapped - edited).total_seconds():.2f} s "
        f"after the edit, without a restart.\n   Pod more-0 had gone to {packed}, more-1 went to "
        f"{node}{why}. The edit is taken back."
    )
    return Seen(text, moved)


def _broken_profile(stage: TourStage) -> Seen:
    before = _profile(stage)
    stage.merge("SchedulerProfile", PROFILE, _BROKEN)
    told = stage.until(
        lambda: next(iter(_refused(stage)), None), "the profile to be refused", SECONDS
    )
    if told.revision != before.revision:
        raise NotObserved(
            f"revision {told.revision} decides, not {before.revision}, which was good"
        )
    node = _place(stage, "more-2")
    stage.merge("SchedulerProfile", PROFILE, _MENDED)
    stage.until(lambda: _ready(stage, lambda _: True), "the mended profile to be ready", SECONDS)
    return Seen(
        f"The status says: {told.problem}\n   Revision {short(before.revision)} went on: pod "
        f"more-2 went to {node}. The profile is mended."
    )


def _leader_loss(stage: TourStage) -> Seen:
    leader = _leader(stage.look())
    stage.kill(leader)
    started = time.monotonic()
    _make(stage, "more-3")
    successor = stage.until(
        lambda: next(iter({_leader(stage.look())} - {"", leader}), None),
        "another replica to lead",
        SECONDS,
    )
    took = time.monotonic() - started
    node = _placed(stage, "more-3")
    return Seen(
        f"{leader} is dead; {successor} led {took:.1f} s later. Pod more-3, which was made "
        f"meanwhile, went to {node}.\n"
        f"   {leader} is started again, as a standby."
    )


STEPS = (
    Step(
        "A hot swap",
        (
            f"Profile {PROFILE} packs pods on full nodes. Its arguments are in a PluginConfig: "
            f"change them, and the next pod goes where more is free."
        ),
        f"kubectl patch pcfg {CONFIG} --type=merge -p '\n{yaml.safe_dump(_SPREADING)}'",
        _hot_swap,
    ),
    Step(
        "A broken profile",
        (
            "A plugin's name is wrong. The edit is refused and told, and the last good revision "
            "goes on deciding."
        ),
        f"kubectl patch sprof {PROFILE} --type=merge -p '\n{yaml.safe_dump(_BROKEN)}'",
        _broken_profile,
    ),
    Step(
        "The leader's death",
        (
            "The replica that decides is killed. The other one has all caches warm, and leads as "
            "soon as the lease has run out."
        ),
        "kill -9 LEADER",
        _leader_loss,
    ),
)


# ---- what is seen --------------------------------------------------------------------------------


def _profile(stage: TourStage) -> ProfileRow:
    return next(profile for profile in stage.look().profiles if profile.name == PROFILE)


def _ready(stage: TourStage, check: Callable[[ProfileRow], bool]) -> ProfileRow | None:
    profile = _profile(stage)
    return profile if profile.ready and check(profile) else None


def _other_revision(stage: TourStage, than: ProfileRow, what: str) -> ProfileRow:
    return stage.until(
        lambda: _ready(stage, lambda now: now.revision != than.revision), what, SECONDS
    )


def _refused(stage: TourStage) -> list[ProfileRow]:
    profile = _profile(stage)
    return [profile] if not profile.ready and WRONG_PLUGIN in profile.problem else []


def _is_emptier(state: ClusterState, name: str, than: str) -> bool:
    """Whether a node has less of both on it, by its own size."""
    nodes = {node.name: node for node in state.nodes}
    one, other = nodes[name], nodes[than]
    return one.cpu < other.cpu and one.memory < other.memory


def _has_an_emptier_twin(state: ClusterState, name: str) -> bool:
    """Whether spreading must prefer another node: an open one of the same size with less on it."""
    full = next(node for node in state.nodes if node.name == name)
    return any(
        not node.closed and node.size == full.size and _is_emptier(state, node.name, name)
        for node in state.nodes
    )


def _leader(state: ClusterState) -> str:
    return next((replica.name for replica in state.replicas if replica.leads), "")


def _place(stage: TourStage, name: str) -> str:
    """Make a pod of the profile, and wait for its node."""
    _make(stage, name)
    return _placed(stage, name)


def _make(stage: TourStage, name: str) -> None:
    stage.create("Pod", samples.pod(PROFILE, name))


def _placed(stage: TourStage, name: str, seconds: float = SECONDS) -> str:
    what = f"pod {name} to get a node (is there one with room?)"
    return stage.until(lambda: _node(stage.look(), name), what, seconds)


def _decided(stage: TourStage, name: str) -> str:
    """Its node, or REFUSED, or "" while it is neither."""
    state = stage.look()
    return _node(state, name) or (REFUSED if _name(name) in state.refused else "")


def _node(state: ClusterState, name: str) -> str:
    return state.places.get(PROFILE, {}).get(_name(name), "")


def _name(name: str) -> str:
    return f"{samples.NAMESPACE}/{name}"
