"""A world from a recording or a snapshot: the cluster as it was at a moment of it."""

from __future__ import annotations

import contextlib
import datetime
import math
from collections.abc import Iterator
from pathlib import Path

from moorage.adapters.recording import Recording, UnreadableRecording, read_recording, ring_files
from moorage.apps.exit_status import NoAnswer, WrongUse
from moorage.apps.printing.amounts import moment, size
from moorage.apps.worlds.world import World, empty_context
from moorage.core.columns.changes import Gap
from moorage.core.framework.registry import Registry
from moorage.core.recording.replay import Replay

FIRST_BYTES = b"moorage recording "


def is_recording(path: Path) -> bool:
    """Whether this is a file that begins as recordings do, of whatever format, or a folder of such
    as an operator writes. Raises NoAnswer.
    """
    try:
        if path.is_dir():
            return bool(ring_files(path))
        if not path.is_file():
            return False
        with path.open("rb") as file:
            return file.read(len(FIRST_BYTES)) == FIRST_BYTES
    except OSError as error:
        raise NoAnswer(f"{path} cannot be read: {error.strerror}") from error


def opened(path: Path, registry: Registry, at: float | None = None) -> Recording:
    """The recording, to be read from its begin, or from the last whole state before ``at`` (seconds
    since 1970; infinity: the last one of all). ``path``: a file, or an operator's folder of them.
    Raises NoAnswer.
    """
    try:
        recording = read_recording(path, at, registry=registry)
    except OSError as error:  # of a pipe, which is read from its begin alone, without strerror
        raise NoAnswer(f"{path} cannot be read: {error.strerror or error}") from error
    except UnreadableRecording as error:
        raise NoAnswer(f"{path}: {error}") from error
    if not recording.key_frames:
        raise NoAnswer(f"{path}: it holds no whole state yet, so there is nothing to look at")
    return recording


def from_recording(
    path: Path, registry: Registry, at: float | None = None, known: float = 0.0
) -> World:
    """The cluster at this moment (seconds since 1970), or at the end of what is known; revisions
    are made of the plugins of this registry. ``known``: the moment up to which nothing is missing
    though nothing may have happened. Raises NoAnswer, and WrongUse for a moment before all that was
    recorded or in a gap.
    """
    recording = opened(path, registry, math.inf if at is None else at)
    if at is not None and at < recording.key_frames[0]:
        text = f"{path} begins at {moment(recording.key_frames[0])}, after {moment(at)}"
        raise WrongUse(text)
    replay, last = Replay(empty_context(recording.header.seed)), recording.key_frames[0]
    warnings = []
    for seconds, entry in recording:
        if isinstance(entry, Gap) and (at is None or at > last):
            if at is not None:
                raise WrongUse(f"{path}: {_unknown(recording, at, last, seconds)}")
            warnings.append(f"a gap begins at {moment(last)}: this is the last moment before it")
            break
        if at is not None and seconds > at:
            break
        last = seconds
        replay.follow(entry)
    else:
        if at is not None and at > known:
            warnings.append(f"nothing is recorded after {moment(last)}")
    shown = last if at is None else at
    return World(
        replay.context,
        replay.profiles,
        f"{path}, as it was at {moment(shown)}",
        datetime.datetime.fromtimestamp(shown, datetime.UTC),
        (*warnings, *warnings_of(recording, last)),
        replay.holds,
    )


def _unknown(recording: Recording, at: float, last: float, gap: float) -> str:
    """What there is to say of a moment between the last that is known before a gap and the whole
    state after it.
    """
    later = min((time for time in recording.key_frames if time >= gap), default=None)
    if later is None:
        return f"nothing is known of {moment(at)}, nor of anything after {moment(last)}"
    return (
        f"nothing is known of {moment(at)}: a gap lasts from {moment(last)} to {moment(later)}, "
        f"the next moment that can be opened"
    )


def warnings_of(recording: Recording, last: float) -> list[str]:
    """What is to be said of a recording that was read up to ``last``."""
    found = list(recording.left_out)
    if recording.header.not_listed:
        names = ", ".join(recording.header.not_listed)
        found.append(f"who recorded had no right to list {names}: taken as if there were none")
    return [*found, *_torn(recording, last)]


def _torn(recording: Recording, last: float) -> Iterator[str]:
    for segment in recording.segments:
        if segment.torn is None:
            continue
        lost = 0
        with contextlib.suppress(FileNotFoundError):  # the oldest go while they are read
            lost = segment.path.stat().st_size - segment.torn.offset
        if segment is recording.segments[-1]:
            yield f"Readable until {moment(last)}; the last {size(lost)} are torn."
        else:
            yield f"the last {size(lost)} of {segment.path.name} are torn"
