"""Stretches of a recording, looked through one by one: together they find what one replay of all of
it does, wherever it is cut and whatever has happened there.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Generator, Iterable
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, Final

import msgspec
import pytest
from hypothesis import assume, example, given
from hypothesis import strategies as st

from moorage.adapters.recording import RecordingRing, read_files
from moorage.api.operator_config import OperatorConfiguration
from moorage.api.resolution import Resolver
from moorage.apps.exit_status import NoAnswer
from moorage.apps.recordings.stretches import ReplayOptions, look_through, stretches
from moorage.apps.recordings.verification import Verification, all_of, replay
from moorage.apps.worlds.from_recording import opened
from moorage.apps.worlds.world import empty_context
from moorage.core.columns.changes import Entry, Gap
from moorage.core.cycle import cycle
from moorage.core.cycle.context import Decision, Diagnosis, ScheduleResult
from moorage.core.cycle.decisions import (
    Decided,
    DecidedBy,
    ExtenderAnswered,
    ExtenderCycleBegan,
    ExtenderCycleEnded,
    GroupDecided,
    ProfileActivated,
)
from moorage.core.cycle.extender_cycle import extender_cycle
from moorage.core.cycle.group_attempt import GroupAttempt
from moorage.core.cycle.group_cycle import place_member
from moorage.core.cycle.group_scheduling import GroupScheduling
from moorage.core.framework.extenders import AskFilter, ExtenderFilterResult
from moorage.core.framework.placement_contract import Placement
from moorage.core.framework.registry import build_registry
from moorage.core.objects.pods import Pod, on_node
from moorage.core.plugins.intree import INTREE, PRESETS
from moorage.core.pods.requests import pod_requests
from moorage.core.recording.forks import fork
from moorage.core.recording.key_frames import key_frame
from tests.apps.worlds.recordings import write
from tests.builders import make_node, make_pod
from tests.core.cycle.test_group_cycle import TRIO, ZONE
from tests.engine.worlds import a_body

NEXT_FILE_SECONDS: Final = 1_000.0
EXTENDER: Final = {
    "urlPrefix": "https://extender.example",
    "tlsConfig": {"insecure": True},
    "filterVerb": "filter",
}


def make_resolver() -> Resolver:
    """With a profile that extenders are asked for."""
    settings = {"extenders": {"allowedHosts": ["*"]}}
    config = OperatorConfiguration.model_validate(settings)
    return Resolver(build_registry(INTREE), PRESETS, config)


RESOLVER: Final = make_resolver()
REVISIONS: Final = [RESOLVER(a_body("test", preset=name), {}).revision for name in PRESETS]
ASKING: Final = RESOLVER(a_body("asking", extenders=[EXTENDER]), {}).revision


class Life:
    """A scheduler of three nodes, step by step, and all that it records."""

    def __init__(self) -> None:
        self.happened: list[tuple[float, Entry | Iterable[Entry]]] = []
        self._context = empty_context(journal=self)
        self._profiles = {"test": REVISIONS[0]}
        self._now = 0.0
        self._asked: dict[int, tuple[Pod, Generator[Any, Any, Decision]]] = {}
        self._pods = self._cycles = 0
        self._scheduling = GroupScheduling(self._context, fork)
        self._groups: list[Generator[Any, Any, Any]] = []
        self._lies = False
        for name, cpu, zone in (("large", "16", "a"), ("middle", "8", "b"), ("small", "2", "b")):
            self._context.cache.put_node(make_node(name, cpu=cpu, labels={ZONE: zone}))
        self.happened.clear()
        self.key_frame()

    def append(self, entry: Entry, /) -> None:
        """The journal."""
        if self._lies and isinstance(entry, GroupDecided):
            entry = msgspec.structs.replace(entry, victims=(entry.first,))
            self._lies = False
        self.happened.append((self._now, entry))

    def live(self, step: str) -> None:
        """One step, named as its method is."""
        self._now += 1
        getattr(self, step)()

    def key_frame(self) -> None:
        """A whole state."""
        entries = key_frame(self._context.cache, self._profiles)
        self.happened.append((self._now, list(entries)))

    def next_file(self) -> None:
        """A whole state that begins another file."""
        self._now += NEXT_FILE_SECONDS
        self.key_frame()

    def loss(self) -> None:
        """What was lost is told of before the whole state after it."""
        self.append(Gap(1))
        self.key_frame()

    def swap(self) -> None:
        """Another revision decides."""
        following = REVISIONS[(REVISIONS.index(self._profiles["test"]) + 1) % len(REVISIONS)]
        self._profiles["test"] = following
        self.append(ProfileActivated("test", following))

    def decide(self) -> None:
        """A pod is decided and assumed."""
        pod = self._new_pod()
        self._decided(
            Decided(cycle.decide(pod, self._profiles["test"], self._context), DecidedBy.CYCLE)
        )

    def lie(self) -> None:
        """A decision is said to have been another one."""
        pod = self._new_pod()
        revision = self._profiles["test"]
        found = cycle.decide(pod, revision, self._context)
        node = "middle" if isinstance(found, ScheduleResult) and found.node != "middle" else "large"
        self._decided(Decided(ScheduleResult(pod, node, revision, 3, 7), DecidedBy.CYCLE))

    def fault(self) -> None:
        """A plugin failed."""
        outcome = Diagnosis.error(self._new_pod(), self._profiles["test"], "hung")
        self.append(Decided(outcome, DecidedBy.NOBODY))

    def other(self) -> None:
        """Another scheduler binds a pod."""
        pod = self._new_pod("default-scheduler")
        self._context.cache.observe(on_node(pod, "large"), pod_requests(pod))

    def ask(self) -> None:
        """Extenders are asked about a pod."""
        pod = self._new_pod()
        self._cycles += 1
        self.append(ExtenderCycleBegan(self._cycles, pod, ASKING, 0))
        steps = extender_cycle(pod, ASKING, self._context)
        self._asked[self._cycles] = pod, steps
        self._go_on(self._cycles, None)

    def answer(self) -> None:
        """They have answered about the pod that waits the longest."""
        for number in list(self._asked)[:1]:
            answer = ExtenderFilterResult(("large", "small"), {}, {})
            self.append(ExtenderAnswered(number, answer, 0))
            self._go_on(number, answer)

    def forget(self) -> None:
        """A cycle ends with nothing decided."""
        for number in list(self._asked)[:1]:
            del self._asked[number]
            self.append(ExtenderCycleEnded(number))

    def group(self) -> None:
        """The attempt of a group begins, which may lie in one of two zones."""
        revision = self._profiles["test"]
        pods = [self._new_pod(priority=5) for _ in range(3)]
        attempt = GroupAttempt(dataclasses.replace(TRIO, priority=5, topology_key=ZONE), pods)

        def place(pod: Pod, placement: Placement) -> Decision:
            return place_member(pod, revision, self._context, placement)

        self._groups.append(self._scheduling.attempt(attempt, revision, place))
        self.slices()

    def slices(self) -> None:
        """Those that have begun go on a little."""
        for steps in list(self._groups):
            for _ in range(4):
                if next(steps, None) is None:
                    self._groups.remove(steps)
                    break

    def drop(self) -> None:
        """An attempt is broken off."""
        for steps in self._groups[:1]:
            steps.close()
            self._groups.remove(steps)

    def lie_of_group(self) -> None:
        """The next group is said to displace somebody else."""
        self._lies = True

    # ---- inside ----------------------------------------------------------------------------------

    def _new_pod(self, scheduler_name: str = "test", priority: int = 0) -> Pod:
        self._pods += 1
        pod = make_pod(f"p{self._pods}", cpu="1500m", priority=priority)
        spec = msgspec.structs.replace(pod.spec, scheduler_name=scheduler_name)
        pod = msgspec.structs.replace(pod, spec=spec)
        self._context.cache.observe_waiting(pod, pod_requests(pod))
        return pod

    def _go_on(self, number: int, answer: Any) -> None:
        _, steps = self._asked[number]
        try:
            question = steps.send(answer)
            assert isinstance(question, AskFilter)
        except StopIteration as end:
            del self._asked[number]
            self._decided(Decided(end.value, DecidedBy.EXTENDER_CYCLE, cycle=number))
            self.append(ExtenderCycleEnded(number))

    def _decided(self, decided: Decided) -> None:
        self.append(decided)
        outcome = decided.outcome
        if isinstance(outcome, ScheduleResult):
            pod = outcome.pod
            self._context.cache.assume(on_node(pod, outcome.node), outcome.node, pod_requests(pod))


OFTEN: Final = ["decide", "key_frame", "ask", "answer", "group", "slices"]
SELDOM: Final = [
    *("forget", "lie", "fault", "other", "swap", "loss", "next_file"),
    *("drop", "lie_of_group"),
]
STEPS: Final = st.lists(st.sampled_from(OFTEN * 3 + SELDOM), max_size=25)


def record(folder: Path, steps: Iterable[str]) -> list[Path]:
    """The files that say what happened in these steps."""
    life = Life()
    for step in steps:
        life.live(step)
    ring = RecordingRing(folder, 2**30, 8 * NEXT_FILE_SECONDS)
    write(ring, *life.happened, resolver=RESOLVER)
    return sorted(folder.iterdir())


def in_stretches(folder: Path, options: ReplayOptions, count: int) -> Verification:
    """What is found in so many, each looked through with nothing known of the others."""
    recording = opened(folder, RESOLVER.registry)
    parts = stretches(recording, count)
    files = [segment.path for segment in recording.segments]
    found = []
    for part in parts:
        alone = read_files(files, registry=RESOLVER.registry)
        found.append(look_through(alone, part, RESOLVER, options, lambda seconds: None))
    return all_of(recording, options, zip(parts, found, strict=True))


def in_one(folder: Path, options: ReplayOptions) -> Verification:
    """What one replay of all finds."""
    found = replay(folder, make_resolver, options, processes=1)
    found.seconds = 0.0
    return found


@given(STEPS, st.booleans(), st.integers(2, 12))
@example(["ask", "key_frame", "answer", "decide"], True, 2)
@example(["ask", "key_frame", "decide", "key_frame", "lie", "answer", "lie"], False, 3)
@example(["ask", "next_file", "decide", "next_file", "answer", "lie"], True, 3)
@example(["ask", "loss", "answer", "key_frame", "lie"], True, 3)
@example(["key_frame", "loss", "key_frame", "other"], True, 4)
@example(["decide"] * 9 + ["group", *["key_frame", "slices"] * 4, "decide"], True, 4)
@example(["lie_of_group", "group", *["key_frame", "slices"] * 4, "decide"], True, 4)
def test_stretches_find_together_what_one_replay_does(
    steps: list[str], keep_going: bool, count: int
) -> None:
    """Every decision is made once, also those of cycles that are cut; so is everything counted."""
    options = ReplayOptions(keep_going=keep_going)
    with TemporaryDirectory() as name:
        record(Path(name) / "ring", steps)
        whole = in_one(Path(name) / "ring", options)
        parts = in_stretches(Path(name) / "ring", options, count)
    assert parts == whole
    assert list(parts.revisions) == list(whole.revisions)


@given(STEPS, st.integers(0, 2**20), st.integers(2, 12))
@example(["loss", "next_file", "decide"], 390, 5)
def test_so_they_do_where_a_byte_was_changed(steps: list[str], place: int, count: int) -> None:
    """What comes after it in its file is not read."""
    options = ReplayOptions(keep_going=True)
    with TemporaryDirectory() as name:
        folder = Path(name) / "ring"
        files = record(folder, steps)
        damaged = files[place % len(files)]
        content = bytearray(damaged.read_bytes())
        content[place % len(content)] ^= 1
        damaged.write_bytes(content)
        try:
            whole = in_one(folder, options)
        except NoAnswer:
            assume(False)
        assert in_stretches(folder, options, count) == whole


@pytest.mark.parametrize("keep_going", [False, True])
def test_processes_find_what_one_does(tmp_path: Path, keep_going: bool) -> None:
    """And tell how far they have come."""
    folder, options = tmp_path / "ring", ReplayOptions(keep_going=keep_going)
    steps = ["decide", "ask", "key_frame", "answer", "next_file", "lie", "key_frame", "lie"]
    record(folder, steps)
    shares: list[float] = []
    found = replay(folder, make_resolver, options, shares.append, processes=2)
    assert dataclasses.replace(found, seconds=0.0) == in_one(folder, options)
    assert len(found.differences) == 1 + keep_going
    assert shares == sorted(shares) and shares[-1] > 0.99


def test_a_group_that_a_key_frame_cuts_is_made_by_where_it_began(tmp_path: Path) -> None:
    """Once, and what was said otherwise of it is found."""
    options = ReplayOptions(keep_going=True)
    steps = ["group", *["key_frame", "slices"] * 6]
    for name, lie in (("true", []), ("false", ["lie_of_group"])):
        record(tmp_path / name, [*lie, *steps])
        found = in_stretches(tmp_path / name, options, 6)
        assert found.outcomes["POD_GROUP: Success"] == 1
        assert (found.not_made_again, len(found.differences)) == (0, len(lie))
