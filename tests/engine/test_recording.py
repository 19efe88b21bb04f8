"""Recording an engine: what it decided is decided again from its files, whatever happens to the
disk.
"""

from __future__ import annotations

import asyncio
import contextlib
import dataclasses
import json
import logging
import math
import os
import subprocess
import sys
import threading
from collections.abc import AsyncIterator, Iterable
from pathlib import Path
from typing import Any, BinaryIO

import msgspec
import pytest

from moorage.adapters.recording import Recorder, RecordingHeader, RecordingRing, read_recording
from moorage.adapters.recording.blocks import read_contents, read_heads
from moorage.core.columns.cache import Cache
from moorage.core.columns.changes import Entry, Gap
from moorage.core.cycle.decisions import ProfileHeld
from moorage.core.framework.holds import SUSPENDED
from moorage.core.framework.revisions import Revision
from moorage.core.objects.pods import Pod
from moorage.core.objects.storage import PersistentVolumeClaim
from moorage.core.recording.wire import EntryEncoder
from moorage.engine.live_revisions import LiveRevisions
from moorage.engine.recording import KEY_FRAME_SECONDS, LeaseEvents, RecordingState, StateRecording
from moorage.ports.repeated_logs import RepeatedLogs
from tests.builders import make_node, make_pod
from tests.engine.running import Running
from tests.engine.worlds import a_body, versioned
from tests.fakes.clocks import ManualClock
from tests.fakes.kube import InMemoryKube
from tests.fakes.sinks import FakeEventRecorder
from tests.replaying import opened, replayed
from tests.twins import differing

SECRET = "S3CRET"


@dataclasses.dataclass
class Recorded:
    """An engine with its recorder. ``ring`` may be a disk that fails."""

    ring: RecordingRing
    kube: InMemoryKube = dataclasses.field(default_factory=InMemoryKube)
    clock: ManualClock = dataclasses.field(default_factory=ManualClock)

    def __post_init__(self) -> None:
        self.recorder = Recorder(
            self.ring,
            RecordingHeader(),
            EntryEncoder(self._document),
            lambda: self.clock.now().timestamp(),
        )
        self.running = Running(self.kube, self.clock, journal=self.recorder)
        engine = self.running.engine
        lease = LeaseEvents(self.running.events, "moorage-system", "moorage")
        self.recording = StateRecording(self.recorder, engine.cache, engine.live, self.clock, lease)

    def _document(self, revision: Revision) -> dict[str, Any]:
        return self.running.resolver.document(revision)

    @contextlib.asynccontextmanager
    async def leading(self, *profiles: dict[str, Any], nodes: int = 0) -> AsyncIterator[Running]:
        """As ``Running.leading``; when it has ended, all is written that can be."""
        self.recorder.start()
        recording = asyncio.create_task(self.recording.run())
        async with self.running.leading(*profiles, nodes=nodes, lead=False):
            self.running.engine.lead()
            self.recording.lead()
            yield self.running
        recording.cancel()
        await asyncio.wait({recording})
        self.closed = self.recorder.close(10)

    async def caught_up(self) -> None:
        """The writer has done what it was given, and a moment later that is noticed."""
        self.recorder.flush()
        writer = self.recorder._writer
        while writer.changes < self.recorder._handed or self.recorder.key_frame_waits:
            await asyncio.sleep(0.005)
        await self.clock.advance(1.0)


class FailingRing(RecordingRing):
    """Fails while it has an ``error``."""

    error: OSError | None = None

    def make_room(self, size: int, seconds: float) -> None:
        if self.error is not None:
            raise self.error
        super().make_room(size, seconds)

    def begin(self, seconds: float) -> BinaryIO:
        if self.error is not None:
            raise self.error
        return super().begin(seconds)


class HeldRing(RecordingRing):
    """Takes nothing until it may."""

    def __init__(self, folder: Path) -> None:
        super().__init__(folder / "ring", 64 * 1024**2, 86400.0)
        self.may_write = threading.Event()

    def make_room(self, size: int, seconds: float) -> None:
        assert self.may_write.wait(30)
        super().make_room(size, seconds)


def a_ring(folder: Path) -> FailingRing:
    """That nothing has to leave."""
    return FailingRing(folder / "ring", 64 * 1024**2, 86400.0)


def files(folder: Path) -> list[Path]:
    """Of the ring, the oldest first."""
    return sorted((folder / "ring").iterdir())


async def a_day(running: Running, prefix: str) -> None:
    """Pods, a hot swap and a preemption."""
    for i in range(12):
        running.kube.put(make_pod(f"{prefix}-{i}", cpu="500m"))
        await running.clock.advance(0.2)
    swapped = a_body("test", generation=2, weights={"NodeResourcesFit": 7}, uid=f"uid-{prefix}")
    running.engine.profile_changed("test", swapped)
    await running.clock.advance(1)
    running.engine.profile_changed("short", a_body("short"))
    await running.clock.advance(1)
    running.engine.profile_changed("short", None)
    running.kube.put(make_pod(f"{prefix}-vip", cpu="1800m", priority=1000))
    running.kube.put(make_pod(f"{prefix}-big", cpu="64"))
    await running.clock.advance(KEY_FRAME_SECONDS)
    running.kube.put(make_pod(f"{prefix}-late", cpu="100m"))
    await running.clock.advance(5)


def test_a_file_of_a_whole_life_replays_equal(tmp_path: Path) -> None:
    """With a hot swap, a preemption and another replica that takes over; from the begin and from
    each key frame, and in processes whose sets have other orders.
    """

    async def life(kube: InMemoryKube, clock: ManualClock, prefix: str) -> Recorded:
        kube.pod_sinks.clear()
        kube.node_sinks.clear()
        one = Recorded(a_ring(tmp_path), kube, clock)
        async with one.leading(a_body("test", uid=f"uid-{prefix}"), nodes=3) as running:
            await a_day(running, prefix)
        assert one.closed
        return one

    async def scenario() -> list[Recorded]:
        kube, clock = InMemoryKube(), ManualClock()
        return [await life(kube, clock, prefix) for prefix in ("first", "second")]

    lives = asyncio.run(scenario())
    for one, path in zip(lives, files(tmp_path), strict=True):
        engine = one.running.engine
        again = replayed(path)
        assert (again.differences, again.torn) == ([], "")
        assert again.replay.decisions >= 15
        assert again.replay.not_made_again == 0
        assert not differing(engine.context, again.replay.context)
        assert again.profiles == {name: revision.id for name, revision in engine.live.items()}
        assert one.recorder.lost == 0
        for at in read_recording(path).key_frames[1:]:
            later = replayed(path, at)
            assert not later.differences
            assert 0 < later.replay.decisions < again.replay.decisions
            assert not differing(engine.context, later.replay.context)
            assert later.profiles == again.profiles
        assert not differing(engine.context, opened(path, math.inf))
        found = [in_another_process(path, seed) for seed in ("1", "2")]
        assert found[0] == found[1]
        assert (found[0]["made"], found[0]["differences"]) == (again.replay.decisions, [])
    assert one.kube.pods["uid-first-vip"].spec.node_name


def test_decisions_go_on_between_a_whole_state_and_its_entries(tmp_path: Path) -> None:
    """Which are made when the disk takes them: here after all that happened."""

    async def scenario() -> Recorded:
        ring = HeldRing(tmp_path)
        one = Recorded(ring)
        async with one.leading(a_body("test"), nodes=3) as running:
            await a_day(running, "first")
            await running.clock.advance(KEY_FRAME_SECONDS)
            await a_day(running, "second")
            ring.may_write.set()
            await one.caught_up()
            running.kube.put(make_pod("last"))
            await running.clock.advance(KEY_FRAME_SECONDS)
        return one

    one = asyncio.run(scenario())
    (path,) = files(tmp_path)
    assert one.recorder.lost == 0
    for at in read_recording(path).key_frames:
        again = replayed(path, at)
        assert (again.differences, again.replay.not_made_again) == ([], 0)
        assert not differing(one.running.engine.context, again.replay.context)


def test_it_says_whose_pods_are_not_tried(tmp_path: Path) -> None:
    """As an entry, and in whole states, until they are tried again or nobody decides for them."""

    async def scenario() -> None:
        one = Recorded(a_ring(tmp_path))
        async with one.leading(a_body("test"), a_body("other"), nodes=3) as running:
            changed = running.engine.profile_changed
            changed("test", a_body("test", suspend=True, generation=2))
            changed("other", a_body("other", suspend=True, generation=2))
            await running.clock.advance(KEY_FRAME_SECONDS)
            await one.caught_up()
            changed("test", a_body("test", generation=3))
            changed("other", None)
            await running.clock.advance(5)

    asyncio.run(scenario())
    (path,) = files(tmp_path)
    recording = read_recording(path)
    assert [len(held(recording.key_frame(place))) for place in (0, 1)] == [0, 2]
    assert held(recording) == [
        ProfileHeld("test", SUSPENDED),
        ProfileHeld("other", SUSPENDED),
        ProfileHeld("other", None),
        ProfileHeld("test", None),
    ]
    assert not replayed(path).replay.holds
    assert replayed(path, recording.key_frames[1]).profiles.keys() == {"test"}


def held(entries: Iterable[tuple[float, Entry]]) -> list[Entry]:
    """Those that say so."""
    return [entry for _, entry in entries if isinstance(entry, ProfileHeld)]


def in_another_process(path: Path, hash_seed: str) -> dict[str, Any]:
    """What a replay there says."""
    environment = {**os.environ, "PYTHONHASHSEED": hash_seed, "PYTHONPATH": "operator:."}
    command = [sys.executable, "-m", "tests.replaying", str(path)]
    found = subprocess.run(command, env=environment, capture_output=True, text=True, check=True)
    said: dict[str, Any] = json.loads(found.stdout)
    return said


def test_what_would_be_decided_otherwise_is_found(tmp_path: Path) -> None:
    """As by another seed: it names the pod and what both say."""

    async def scenario() -> None:
        one = Recorded(a_ring(tmp_path))
        async with one.leading(a_body("test"), nodes=3) as running:
            await a_day(running, "p")

    asyncio.run(scenario())
    (path,) = files(tmp_path)
    found = replayed(path, seed=7).differences
    assert found
    assert all(text.startswith("p-") and ", now " in text for text in found)


@pytest.mark.parametrize("text", ["No space left on device", "Read-only file system"])
def test_a_failing_disk_costs_recording_never_a_decision(tmp_path: Path, text: str) -> None:
    """It is tried again, and the file that follows is whole."""

    async def scenario() -> Recorded:
        ring = a_ring(tmp_path)
        one = Recorded(ring)
        async with one.leading(a_body("test"), nodes=3) as running:
            running.kube.put(make_pod("before"))
            await running.clock.advance(1.5)
            await one.caught_up()
            assert one.recording.state is RecordingState.RECORDING
            ring.error = OSError(28, text)
            for i in range(3):
                running.kube.put(make_pod(f"during-{i}"))
                await running.clock.advance(5)
                await one.caught_up()
            assert one.recording.state is RecordingState.FAILED
            assert one.recorder.lost > 0
            ring.error = None
            await running.clock.advance(20)
            await one.caught_up()
            assert one.recording.state is RecordingState.RECORDING
            running.kube.put(make_pod("after"))
            await running.clock.advance(1.5)
            assert all(pod.spec.node_name for pod in running.kube.pods.values())
        assert one.closed
        return one

    one = asyncio.run(scenario())
    first, second = files(tmp_path)
    before, again = replayed(first), replayed(second)
    for one_file in (before, again):
        assert (one_file.differences, one_file.replay.decisions) == ([], 1)
    assert not differing(one.running.engine.context, again.replay.context)


def test_a_slow_disk_leaves_a_gap(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """It is told, and what follows is whole again."""
    monkeypatch.setattr("moorage.adapters.recording.recorder.MAX_PENDING", 0)

    async def scenario() -> Recorded:
        one = Recorded(a_ring(tmp_path))
        async with one.leading(a_body("test"), nodes=3) as running:
            running.kube.put(make_pod("lost"))
            running.kube.delete(next(iter(running.kube.nodes.values())))
            await running.clock.advance(1.5)
            await one.caught_up()
            assert one.recording.state is RecordingState.LAGGING
            monkeypatch.setattr("moorage.adapters.recording.recorder.MAX_PENDING", 1000)
            await running.clock.advance(15)
            running.kube.put(make_pod("kept"))
            await running.clock.advance(1.5)
            await one.caught_up()
            assert one.recording.state is RecordingState.RECORDING
        return one

    one = asyncio.run(scenario())
    (path,) = files(tmp_path)
    gaps = [entry for _, entry in read_recording(path) if isinstance(entry, Gap)]
    assert gaps == [Gap(one.recorder.lost)]
    again = replayed(path)
    assert (again.differences, again.replay.decisions) == ([], 1)
    assert not differing(one.running.engine.context, again.replay.context)


def test_a_standby_records_nothing(tmp_path: Path) -> None:
    """It decides nothing."""

    async def scenario() -> None:
        one = Recorded(a_ring(tmp_path))
        recording = asyncio.create_task(one.recording.run())
        async with one.running.leading(lead=False):
            one.kube.put(make_pod("p"))
            await one.clock.advance(100)
            assert one.recording.state is RecordingState.STANDBY
            assert (one.recorder.entries, one.recorder.lost) == (0, 0)
        recording.cancel()
        await asyncio.wait({recording})

    asyncio.run(scenario())
    assert not (tmp_path / "ring").exists()


def test_many_changes_bring_a_key_frame_early(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """So that no moment is far behind one."""
    monkeypatch.setattr("moorage.engine.recording.KEY_FRAME_CHANGES", 20)

    async def scenario() -> None:
        one = Recorded(a_ring(tmp_path))
        async with one.leading(a_body("test"), nodes=3) as running:
            for i in range(10):
                running.kube.put(make_pod(f"p-{i}"))
                await running.clock.advance(1)
                await one.caught_up()

    asyncio.run(scenario())
    (path,) = files(tmp_path)
    assert 2 < len(read_recording(path).key_frames) < 6
    assert not replayed(path).differences


def test_what_no_decision_reads_is_not_recorded(tmp_path: Path) -> None:
    """Environment, commands, and the copies of objects in annotations."""
    applied = {"kubectl.kubernetes.io/last-applied-configuration": SECRET}
    container = {
        "name": "c",
        "image": "app:1",
        "command": [SECRET],
        "args": [SECRET],
        "env": [{"name": SECRET, "value": SECRET}],
        "envFrom": [{"secretRef": {"name": SECRET}}],
        "lifecycle": {"preStop": {"exec": {"command": [SECRET]}}},
    }
    meta = {"namespace": "default", "resourceVersion": "1"}
    pod = {
        "metadata": {**meta, "name": "p", "uid": "uid-p", "annotations": {**applied, "a": SECRET}},
        "spec": {
            "schedulerName": "test",
            "containers": [container],
            "imagePullSecrets": [{"name": SECRET}],
        },
        "status": {"message": SECRET},
    }
    claim = {
        "metadata": {**meta, "name": "c", "uid": "uid-c", "annotations": applied},
        "spec": {"storageClassName": "none"},
    }
    node = msgspec.structs.replace(make_node("n9").metadata, annotations=applied)

    async def scenario() -> None:
        one = Recorded(a_ring(tmp_path))
        async with one.leading(a_body("test"), nodes=2) as running:
            put = running.kube.put
            put(msgspec.structs.replace(make_node("n9"), metadata=node))
            put(msgspec.convert(claim, PersistentVolumeClaim))
            put(versioned(msgspec.convert(pod, Pod)))
            await running.clock.advance(KEY_FRAME_SECONDS + 2)

    asyncio.run(scenario())
    (path,) = files(tmp_path)
    with path.open("rb") as file:
        heads, torn = read_heads(file)
        contents = b"".join(content for _, content in read_contents(file, heads))
    assert torn is None
    assert b"uid-p" in contents
    assert SECRET.encode() not in contents + path.read_bytes()


class CountingRecorder(list[Any]):
    """``StateRecorder`` that keeps all up to a fault."""

    def __init__(self) -> None:
        super().__init__()
        self.flushed = self.key_frames = 0
        self.written = self.entries = self.lost = self.changes = 0
        self.failure: BaseException | None = None
        self.key_frame_due = self.key_frame_waits = False
        self.is_whole = True

    def put_key_frame(self, entries: Iterable[Entry]) -> None:
        self.key_frames += 1

    def flush(self) -> None:
        self.flushed += 1

    def close(self, seconds: float) -> bool:
        return True


def test_a_whole_state_is_taken_when_it_can_be_written(caplog: pytest.LogCaptureFixture) -> None:
    """Not while another one waits. What was appended is handed over each second. Causes are told
    once; each state of the recording is one.
    """
    recorder, clock, live = CountingRecorder(), ManualClock(), LiveRevisions()
    events = FakeEventRecorder()
    lease = LeaseEvents(events, "moorage-system", "moorage")
    recording = StateRecording(recorder, Cache(), live, clock, lease)

    async def scenario() -> None:
        task = asyncio.create_task(recording.run())
        assert recording.since == 0
        live.lead()
        recording.lead()
        assert recording.since == clock.now().timestamp()
        await clock.advance(KEY_FRAME_SECONDS - 1)
        assert (recorder.key_frames, recorder.flushed) == (1, KEY_FRAME_SECONDS - 1)
        await clock.advance(1)
        assert recorder.key_frames == 2
        recorder.key_frame_waits = True
        await clock.advance(3 * KEY_FRAME_SECONDS)
        assert recorder.key_frames == 2
        for name in ("one.rec", "other.rec"):
            recorder.failure = OSError(28, "No space left on device", name)
            await clock.advance(2)
        recorder.failure, recorder.is_whole = None, False
        await clock.advance(2)
        assert (recording.since, recording.gaps) == (0, 1)
        recorder.is_whole = True
        await clock.advance(1)
        assert (recording.since, recording.gaps) == (clock.now().timestamp(), 1)
        await clock.advance(1)
        task.cancel()
        await asyncio.wait({task})

    with caplog.at_level(logging.INFO):
        asyncio.run(scenario())
    assert [(one.reason, one.warning) for one in events.events] == [
        ("RecordingInterrupted", True),
        ("RecordingResumed", False),
    ]
    assert events.events[0].regarding.kind == "Lease"
    assert "No space left on device" in events.events[0].note
    logs = RepeatedLogs()
    told = [record for record in caplog.records if not logs.is_repeated(record)]
    assert [record.getMessage().split(",")[0].split(":")[0] for record in told] == [
        "recording goes on",
        "recording has failed",
        "the disk is too slow for the recording",
        "recording goes on",
    ]
