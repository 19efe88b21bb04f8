"""A world from a recording or a snapshot: the cluster as it was at a moment of it."""

from __future__ import annotations

import datetime
import math
from pathlib import Path

from moorage.adapters.recording import Recording, UnreadableRecording, read_recording
from moorage.apps.exit_status import NoAnswer, WrongUse
from moorage.apps.printing.amounts import moment, size
from moorage.apps.worlds.world import World, empty_context
from moorage.core.framework.registry import Registry
from moorage.core.recording.replay import Replay

FIRST_BYTES = b"moorage recording "


def is_recording(path: Path) -> bool:
    """Whether a file begins as recordings do, of whatever format. Raises NoAnswer."""
    try:
        with path.open("rb") as file:
            return file.read(len(FIRST_BYTES)) == FIRST_BYTES
    except OSError as error:
        raise NoAnswer(f"{path} cannot be read: {error.strerror}") from error


def opened(path: Path, registry: Registry, at: float | None = None) -> Recording:
    """The recording, to be read from its begin, or from the last whole state before ``at`` (seconds
    since 1970; infinity: the last one of all). Raises NoAnswer, and WrongUse for a folder.
    """
    if path.is_dir():
        raise WrongUse(f"{path} is a folder: name one of the recordings in it{_newest(path)}")
    try:
        recording = read_recording(path, at, registry=registry)
    except OSError as error:
        raise NoAnswer(f"{path} cannot be read: {error.strerror}") from error
    except UnreadableRecording as error:
        raise NoAnswer(f"{path}: {error}") from error
    if not recording.key_frames:
        raise NoAnswer(f"{path}: it holds no whole state yet, so there is nothing to look at")
    return recording


def _newest(folder: Path) -> str:
    """As the ring of an operator names its files: by when they begin."""
    found = sorted(folder.glob("*.rec"))
    return f", the newest is {found[-1]}" if found else ""


def from_recording(path: Path, registry: Registry, at: float | None = None) -> World:
    """The cluster at this moment (seconds since 1970), or at the end of what can be read; revisions
    are made of the plugins of this registry. Raises
    NoAnswer, and WrongUse for a moment before all that was recorded.
    """
    recording = opened(path, registry, math.inf if at is None else at)
    if at is not None and at < recording.key_frames[0]:
        text = f"{path} begins at {moment(recording.key_frames[0])}, after {moment(at)}"
        raise WrongUse(text)
    replay, last = Replay(empty_context(recording.header.seed)), recording.key_frames[0]
    warnings = []
    for seconds, entry in recording:
        if at is not None and seconds > at:
            break
        last = seconds
        replay.follow(entry)
    else:
        if at is not None:
            warnings.append(f"nothing is recorded after {moment(last)}")
    shown = last if at is None else at
    return World(
        replay.context,
        replay.profiles,
        f"{path}, as it was at {moment(shown)}",
        datetime.datetime.fromtimestamp(shown, datetime.UTC),
        (*warnings, *warnings_of(recording, path, last)),
    )


def warnings_of(recording: Recording, path: Path, last: float) -> list[str]:
    """What is to be said of a recording that was read up to ``last``."""
    found = []
    if recording.header.not_listed:
        names = ", ".join(recording.header.not_listed)
        found.append(f"who recorded had no right to list {names}: taken as if there were none")
    if recording.torn is not None:
        lost = path.stat().st_size - recording.torn.offset
        found.append(f"Readable until {moment(last)}; the last {size(lost)} are torn.")
    return found
