"""Reading recordings: what happened, and when, from a moment on."""

from __future__ import annotations

import contextlib
import itertools
import math
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final

from moorage.adapters.recording.blocks import TornRecording, UnreadableRecording
from moorage.adapters.recording.header import RecordingHeader
from moorage.adapters.recording.ring import ring_files
from moorage.adapters.recording.segments import Segment
from moorage.api.resolution import Resolver
from moorage.core.columns.changes import Entry, Gap
from moorage.core.framework.registry import Registry, build_registry
from moorage.core.framework.revisions import Revision
from moorage.core.plugins.intree import INTREE

INTREE_REGISTRY: Final = build_registry(INTREE)


class Recording:
    """Files that were read as far as to know where their blocks are, the oldest first.

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
        self._first, self._start = _place(segments, at)

    @property
    def header(self) -> RecordingHeader:
        """Where the recording is from: what its first file says."""
        return self.segments[0].header

    @property
    def key_frames(self) -> tuple[float, ...]:
        """The times of the whole states in it."""
        return tuple(time for segment in self.segments for time in segment.key_frames)

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
        first, *others = self.segments[self._first :]
        is_known = yield from first.happenings(self._start)
        for before, segment in itertools.pairwise((first, *others)):
            if not segment.goes_on_from(before):
                is_known = False
                yield segment.key_frames[0], Gap(0)
            is_known = yield from segment.happenings(is_known=is_known)


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
    return Recording(tuple(segments), at, tuple(left_out))


def _place(segments: tuple[Segment, ...], at: float | None) -> tuple[int, int]:
    """(which segment, which of its key frames) to begin with: the last that is not after ``at``, or
    the first of all.
    """
    moment = -math.inf if at is None else at
    for number, segment in reversed(list(enumerate(segments))):
        if segment.key_frames and segment.key_frames[0] <= moment:
            return number, sum(time <= moment for time in segment.key_frames) - 1
    return 0, 0
