"""Replaying a recording from its file, here step by step, or as users do in processes of its own:
``python -m tests.replaying FILE`` prints a line of JSON.
"""

from __future__ import annotations

import dataclasses
import json
import sys
from pathlib import Path
from typing import Any

from moorage.adapters.recording import read_recording
from moorage.apps.recordings import verification
from moorage.apps.recordings.stretches import ReplayOptions
from moorage.apps.worlds.deciding import in_tree_resolver
from moorage.core.columns.cache import Cache
from moorage.core.columns.store import Store
from moorage.core.cycle.context import CycleContext
from moorage.core.plugins.intree import INDEXES
from moorage.core.recording.replay import Replay


@dataclasses.dataclass
class Replayed:
    """What became of a recording that was replayed here, step by step."""

    replay: Replay
    differences: list[str]
    torn: str

    @property
    def profiles(self) -> dict[str, str]:
        """Names of the revisions that decide at the end, by schedulerName."""
        return {name: revision.id for name, revision in self.replay.profiles.items()}


def replayed(path: Path, at: float | None = None, seed: int = 0) -> Replayed:
    """Make every decision again."""
    recording = read_recording(path, at)
    replay = Replay(CycleContext(Cache(Store(INDEXES)), recording.header.seed + seed))
    differences = list[str]()
    for _, entry in recording:
        difference = replay.apply(entry)
        if difference is not None:
            was = difference.recorded
            differences.append(f"{was.pod.metadata.name}: {was.outcome}, now {difference.now}")
    return Replayed(replay, differences, str(recording.torn or ""))


def opened(path: Path, at: float | None = None) -> CycleContext:
    """What was known at the end, from the last whole state before ``at``; nothing is decided
    again.
    """
    recording = read_recording(path, at)
    replay = Replay(CycleContext(Cache(Store(INDEXES)), recording.header.seed))
    for _, entry in recording:
        replay.follow(entry)
    return replay.context


def says(path: Path) -> dict[str, Any]:
    """What `moorage replay --verify --keep-going` finds. ``counts`` are entries by kind, and
    decisions by who decided and what came of it; ``changes``: entries after the first whole state.
    """
    found = verification.replay(path, in_tree_resolver, ReplayOptions(keep_going=True))
    state = sum(1 for _ in read_recording(path).key_frame(0))
    return {
        "made": found.decisions,
        "notMade": found.not_made_again,
        "differences": [f"{one.pod}: {one.then}, now {one.now}" for one in found.differences],
        "warnings": found.warnings,
        "counts": {**found.entries, **found.outcomes},
        "changes": sum(found.entries.values()) - state,
    }


if __name__ == "__main__":
    sys.stdout.write(json.dumps(says(Path(sys.argv[1])), sort_keys=True) + "\n")
