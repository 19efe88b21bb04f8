"""Replaying a recording from its file, here or in a process of its own: ``python -m tests.replaying
FILE``.
"""

from __future__ import annotations

import dataclasses
import hashlib
import json
import sys
from collections import Counter
from pathlib import Path

from moorage.adapters.recording import read_recording
from moorage.core.columns.cache import Cache
from moorage.core.columns.changes import Entry
from moorage.core.columns.store import Store
from moorage.core.cycle.context import CycleContext
from moorage.core.plugins.intree import INDEXES
from moorage.core.recording.recorded_decisions import RecordedDecision
from moorage.core.recording.replay import Replay


@dataclasses.dataclass
class Replayed:
    """What became of a recording. ``digest`` stands for all that was decided in it; ``counts`` are
    decisions, by who decided and what came out, and entries of other kinds. ``changes``: entries
    after the first whole state.
    """

    replay: Replay
    differences: list[str]
    digest: str
    torn: str
    counts: Counter[str]
    changes: int

    @property
    def profiles(self) -> dict[str, str]:
        """Names of the revisions that decide at the end, by schedulerName."""
        return {name: revision.id for name, revision in self.replay.profiles.items()}

    def __str__(self) -> str:
        """One line of JSON."""
        says = {
            "made": self.replay.decisions,
            "notMade": self.replay.not_made_again,
            "digest": self.digest,
            "differences": self.differences,
            "torn": self.torn,
            "counts": self.counts,
            "changes": self.changes,
        }
        return json.dumps(says, sort_keys=True)


def replayed(path: Path, at: float | None = None, seed: int = 0) -> Replayed:
    """Make every decision again."""
    recording = read_recording(path, at)
    replay = Replay(CycleContext(Cache(Store(INDEXES)), recording.header.seed + seed))
    digest, differences = hashlib.sha256(), list[str]()
    counts, begin = Counter[str](), recording.key_frames[0]
    changes = 0
    for seconds, entry in recording:
        counts[_kind(entry)] += 1
        changes += seconds > begin
        if isinstance(entry, RecordedDecision):
            digest.update(repr((entry.pod.metadata.uid, entry.outcome)).encode())
        difference = replay.apply(entry)
        if difference is not None:
            was = difference.recorded
            differences.append(f"{was.pod.metadata.name}: {was.outcome}, now {difference.now}")
    end = str(recording.torn or "")
    return Replayed(replay, differences, digest.hexdigest()[:16], end, counts, changes)


def _kind(entry: Entry) -> str:
    if not isinstance(entry, RecordedDecision):
        return type(entry).__name__
    outcome = "placed" if entry.outcome.node else entry.outcome.code
    return f"{type(entry).__name__} by {entry.by.name}: {outcome}"


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
