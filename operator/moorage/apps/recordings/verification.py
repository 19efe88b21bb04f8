"""The replay: makes the decisions of a recording again, and looks at those of others.

``Verification`` is what comes of it; ``verification_view`` prints it.
"""

from __future__ import annotations

import dataclasses
import functools
import os
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from pathlib import Path
from typing import Final

from moorage.adapters.recording import Recording, read_files
from moorage.api.resolution import Resolver
from moorage.apps.recordings.joining import Joined
from moorage.apps.recordings.stretches import (
    ExplainedDifference,
    ReplayOptions,
    SeenEntries,
    Stretch,
    StretchFound,
    look_through,
    stretches,
)
from moorage.apps.recordings.worker_processes import Listener, in_processes
from moorage.apps.worlds.from_recording import opened, warnings_of
from moorage.core.recording.replay import WhyNot

_FEW_ENTRIES: Final = 20_000
"""Some seconds' work: what other processes take to begin would not pay."""
_STRETCHES_EACH: Final = 4
"""Of each process: those that are done first take what is left."""


@dataclasses.dataclass(slots=True, kw_only=True)
class Verification(SeenEntries):
    """What a replay of a whole recording found; times are seconds since 1970."""

    recorded_by: dict[str, str]
    """Versions, by what they are of."""
    begin: float
    decisions: int = 0
    """That were made again."""
    recorded_decisions: int = 0
    not_made: dict[WhyNot, int] = dataclasses.field(default_factory=dict)
    """How many could not be made again, by reason."""
    differences: list[ExplainedDifference] = dataclasses.field(default_factory=list)
    seconds: float = 0.0
    """That it took."""
    warnings: list[str] = dataclasses.field(default_factory=list)

    @property
    def not_made_again(self) -> int:
        """How many could not be, for any reason."""
        return sum(self.not_made.values())

    @property
    def same(self) -> int:
        return self.decisions - len(self.differences)


def replay(
    path: Path,
    make_resolver: Callable[[], Resolver],
    options: ReplayOptions,
    tell: Listener = lambda share: None,
    processes: int | None = None,
) -> Verification:
    """Go through a recording; ``tell`` is told now and then how much of it is done.

    Decisions are made again in so many ``processes``, None: in as many as pay. Each calls
    ``make_resolver``, which has to be such that it can be sent there. Raises NoAnswer.
    """
    began, resolver = time.monotonic(), make_resolver()
    recording = opened(path, resolver.registry)
    processes = processes or _paying(recording)
    alone = processes == 1 or options.others or not options.verify
    parts = stretches(recording, 1 if alone else processes * _STRETCHES_EACH)
    tell_seconds = _progress(recording, tell)
    if len(parts) == 1:
        found = {0: look_through(recording, parts[0], resolver, options, tell_seconds)}
    else:
        files = [segment.path for segment in recording.segments]
        begin, found = functools.partial(_begin, files, make_resolver), {}
        todo = _todo(parts, options, found)
        for number, one in in_processes(min(processes, len(parts)), begin, todo, tell_seconds):
            found[number] = one
    in_order = [found[number] for number in range(len(parts))]
    verification = all_of(recording, options, zip(parts, in_order, strict=True))
    verification.seconds = time.monotonic() - began
    return verification


def _paying(recording: Recording) -> int:
    """How many processes there should be: as many as processors that this one may use."""
    if sum(recording.sizes) <= _FEW_ENTRIES:
        return 1
    limited = hasattr(os, "sched_getaffinity")
    return len(os.sched_getaffinity(0)) if limited else os.cpu_count() or 1


def _progress(recording: Recording, tell: Listener) -> Listener:
    """Is told of seconds more, and tells of a share; when it ends is known at its end."""
    done, span = 0.0, max(recording.key_frames[-1] - recording.key_frames[0], 1.0)

    def add(seconds: float) -> None:
        nonlocal done
        done += seconds
        tell(done / span)

    return add


def _todo(
    parts: Iterable[Stretch], options: ReplayOptions, found: Mapping[int, StretchFound]
) -> Iterator[tuple[Stretch, ReplayOptions]]:
    """Stretches, each with what is asked of it by then: after a difference no more than by one
    replay of all.
    """
    for stretch in parts:
        ended = not options.keep_going and any(one.differences for one in found.values())
        yield stretch, dataclasses.replace(options, verify=not ended)


def _begin(
    files: Iterable[Path], make_resolver: Callable[[], Resolver]
) -> Callable[[tuple[Stretch, ReplayOptions], Listener], StretchFound]:
    """What a worker process does with each stretch. It reads the heads of blocks anew, as it keeps
    nothing of the one before.
    """
    resolver = make_resolver()

    def look(task: tuple[Stretch, ReplayOptions], tell: Listener) -> StretchFound:
        recording = read_files(files, registry=resolver.registry)
        stretch, options = task
        return look_through(recording, stretch, resolver, options, tell)

    return look


def all_of(
    recording: Recording, options: ReplayOptions, found: Iterable[tuple[Stretch, StretchFound]]
) -> Verification:
    """What was found, in the order of the stretches, as one."""
    began = recording.key_frames[0]
    verification = Verification(recorded_by=recording.header.versions, begin=began, end=began)
    joined = Joined(recording, verification)
    for stretch, one in found:
        joined.take(stretch, one)
    decisions = joined.end(options)
    verification.recorded_decisions = decisions.recorded
    verification.decisions, verification.not_made = decisions.made, decisions.not_made
    verification.differences = decisions.differences
    verification.warnings = warnings_of(recording, verification.end)
    return verification
