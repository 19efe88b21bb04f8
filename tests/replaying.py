"""Replaying a recording from its file, here or in a process of its own: ``python -m tests.replaying
FILE``.
"""

from __future__ import annotations

import dataclasses
import hashlib
import sys
from pathlib import Path

from moorage.adapters.recording import read_recording
from moorage.core.columns.cache import Cache
from moorage.core.columns.store import Store
from moorage.core.cycle.context import CycleContext
from moorage.core.plugins.intree import INDEXES
from moorage.core.recording.recorded_decisions import RecordedDecision
from moorage.core.recording.replay import Replay


@dataclasses.dataclass
class Replayed:
    """What became of a recording. ``digest`` stands for all that was decided in it."""

    replay: Replay
    differences: list[str]
    digest: str
    torn: str

    @property
    def profiles(self) -> dict[str, str]:
        """Names of the revisions that decide at the end, by schedulerName."""
        return {name: revision.id for name, revision in self.replay.profiles.items()}

    def __str__(self) -> str:
        made = f"{self.replay.decisions} {self.replay.not_made_again} {self.digest}"
        return "\n".join([made, *self.differences, self.torn])


def replayed(path: Path, at: float | None = None, seed: int = 0) -> Replayed:
    """Make every decision again."""
    recording = read_recording(path, at)
    replay = Replay(CycleContext(Cache(Store(INDEXES)), recording.header.seed + seed))
    digest, differences = hashlib.sha256(), list[str]()
    for _, entry in recording:
        if isinstance(entry, RecordedDecision):
            digest.update(repr((entry.pod.metadata.uid, entry.outcome)).encode())
        difference = replay.apply(entry)
        if difference is not None:
            was = difference.recorded
            differences.append(f"{was.pod.metadata.name}: {was.outcome}, now {difference.now}")
    return Replayed(replay, differences, digest.hexdigest()[:16], str(recording.torn or ""))


def opened(path: Path, at: float | None = None) -> CycleContext:
    """What was known at the end, from the last whole state before ``at``; nothing is decided
    again.
    """
    recording = read_recording(path, at)
    replay = Replay(CycleContext(Cache(Store(INDEXES)), recording.header.seed))
    for _, entry in recording:
        replay.follow(entry)
    return replay.context


if __name__ == "__main__":
    sys.stdout.write(f"{replayed(Path(sys.argv[1]))}\n")
