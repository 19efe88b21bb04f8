"""Reading recordings: what happened, and when, from a moment on."""

from __future__ import annotations

import contextlib
import math
from collections.abc import Generator, Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any, Final

from moorage.adapters.recording.blocks import TornRecording, UnreadableRecording
from moorage.adapters.recording.header import RecordingHeader
from moorage.adapters.recording.ring import ring_files
from moorage.adapters.recording.segments import Reached, Segment
from moorage.api.resolution import Resolver
from moorage.core.columns.changes import Entry, Gap
from moorage.core.framework.registry import Registry, build_registry
from moorage.core.framework.revisions import Revision
from moorage.core.plugins.intree import INTREE

INTREE_REGISTRY: Final = build_registry(INTREE)


class Recording:
    """Files that were read as far as to know where their blocks are, in the order in which they
    were written.

    Iterating gives ``(seconds since 1970, entry)``, as often as it is wanted: first a whole state,
    then what happened after it. After a Gap comes a whole state again; other key frames are left
    out. Between a file and one that does not go on from it there is a Gap.
    """

    def __init__(
        self, segments: tuple[Segment, ...], at: float | None, left_out: tuple[str, ...] = ()
    ) -> None:
        self.segments = segments
        self.left_out = left_out
        """Files that cannot be read, each with its reason."""
        self._begin = _place(segments, at)

    @property
    def header(self) -> RecordingHeader:
        """Where the recording is from: what its first file says."""
        return self.segments[0].header

    @property
    def key_frames(self) -> tuple[float, ...]:
        """The times of the whole states in it."""
        return tuple(time for segment in self.segments for time in segment.key_frames)

    @property
    def sizes(self) -> tuple[int, ...]:
        """How many entries there are from each of them to the next."""
        return tuple(size for segment in self.segments for size in segment.sizes)

    @property
    def torn(self) -> TornRecording | None:
        """Where and why its last file cannot be read further than to there; None for a whole one.
        Bytes that were changed are found where entries are read.
        """
        return self.segments[-1].torn

    @property
    def resolver(self) -> Resolver:
        """Resolves as the operator did that recorded it last."""
        return self.segments[-1].resolver

    def document(self, revision: Revision) -> dict[str, Any]:
        """The objects that one of its revisions is made of. Raises KeyError for another's."""
        for segment in self.segments[:-1]:
            with contextlib.suppress(KeyError):
                return segment.resolver.document(revision)
        return self.resolver.document(revision)

    def __iter__(self) -> Iterator[tuple[float, Entry]]:
        yield from self.happenings(self._begin)

    def key_frame(self, place: int) -> Iterator[tuple[float, Entry]]:
        """What this whole state holds, by its place among all."""
        for segment in self.segments:
            if place < len(segment.key_frames):
                return segment.key_frame(place)
            place -= len(segment.key_frames)
        raise IndexError(f"there is no key frame {place} after the last")

    def happenings(
        self, begin: int = 0, end: int | None = None, *, is_known: bool = False
    ) -> Generator[tuple[float, Entry], None, Reached]:
        """What happened from one key frame to another, by their places among all; None: to the end.
        ``is_known``: the state before is known, so that the first is left out too.

        Where a file is torn this goes on with the next one, be that after ``end``: what is to be
        read there is what comes from where it says to have come.
        """
        reached, before = Reached(0, is_known), None
        for segment in self.segments:
            here, following = reached.key_frame, reached.key_frame + len(segment.key_frames)
            if begin >= following > here:
                reached = Reached(following, is_known)
                continue
            if before is not None and not segment.goes_on_from(before):
                reached = Reached(here, is_known=False)
                yield segment.key_frames[0], Gap(0)
            if end is not None and here >= end:
                return reached
            stop = end - here if end is not None and end < following else None
            came = yield from segment.happenings(
                max(begin - here, 0), stop, is_known=reached.is_known
            )
            reached = Reached(here + came.key_frame, came.is_known)
            if reached.key_frame < following:
                return reached
            before = segment
        return reached


def read_files(files: Iterable[Path], *, registry: Registry) -> Recording:
    """The recording that these files are, the oldest first. Raises as ``read_recording`` does."""
    return Recording(tuple(Segment(file, registry) for file in files), None)


def read_recording(
    path: Path, at: float | None = None, *, registry: Registry = INTREE_REGISTRY
) -> Recording:
    """A recording from its first key frame on, or from the last that is not after ``at`` (seconds
    since 1970); ``path`` is a file, or the folder of an operator's ring. Revisions are made of
    these plugins; one that needs others is None.

    Raises UnreadableRecording for what is none of ours or of another format, and OSError.
    """
    if not path.is_dir():
        return Recording((Segment(path, registry),), at)
    segments, left_out = list[Segment](), list[str]()
    for file in ring_files(path):
        try:
            segment = Segment(file, registry)
        except UnreadableRecording as error:
            left_out.append(f"{file.name} is left out: {error}")
            continue
        if segment.key_frames:  # else it was just begun
            segments.append(segment)
    if not segments:
        why = f": {left_out[-1]}" if left_out else ""
        raise UnreadableRecording(f"no recording in this folder can be read{why}")
    return Recording(tuple(_in_order(segments)), at, tuple(left_out))


def _in_order(segments: Sequence[Segment]) -> Iterator[Segment]:
    """By their begin, but each right after the one that it goes on from: a clock that was set back
    has named it as an older one.
    """
    following = {(one.header.replica, one.header.follows): one for one in segments}
    begun = {(one.header.replica, one.header.begin) for one in segments}
    first = (one for one in segments if (one.header.replica, one.header.follows) not in begun)
    seen = set[Path]()
    for start in (*first, *segments):  # those that are left follow each other in a ring
        one: Segment | None = start
        while one is not None and one.path not in seen:
            seen.add(one.path)
            yield one
            one = following.get((one.header.replica, one.header.begin))


def _place(segments: tuple[Segment, ...], at: float | None) -> int:
    """Which key frame of all to begin with: the last that is not after ``at``, or the first."""
    moment = -math.inf if at is None else at
    later = sum(len(segment.key_frames) for segment in segments)
    for segment in reversed(segments):
        later -= len(segment.key_frames)
        if segment.key_frames and segment.key_frames[0] <= moment:
            return later + sum(time <= moment for time in segment.key_frames) - 1
    return 0
