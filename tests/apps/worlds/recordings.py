"""Recordings as tests write them."""

from __future__ import annotations

import threading
from collections.abc import Iterable
from pathlib import Path

from moorage.adapters.recording import Recorder, RecordingFiles, RecordingHeader, SingleFile
from moorage.api.resolution import Resolver
from moorage.apps.worlds.deciding import in_tree_resolver
from moorage.core.columns.changes import Entry
from moorage.core.recording.wire import EntryEncoder

BEGIN = 1_795_000_000.0
"""18 November 2026, 11:06:40 UTC."""
RESOLVER = in_tree_resolver()


def write_recording(
    path: Path,
    state: Iterable[Entry],
    *happened: tuple[float, Entry],
    header: RecordingHeader | None = None,
) -> Path:
    """A recording that begins with this state; each entry has its seconds after BEGIN."""
    write(SingleFile(path), (0, state), *happened, header=header)
    return path


def write(
    files: RecordingFiles,
    *happened: tuple[float, Entry | Iterable[Entry]],
    header: RecordingHeader | None = None,
    resolver: Resolver = RESOLVER,
) -> None:
    """What one process records: entries and whole states, each with its seconds after BEGIN."""
    clock = [BEGIN]
    recorder = Recorder(
        files,
        header or RecordingHeader(versions={"moorage": "0.0.1"}),
        EntryEncoder(resolver.document),
        lambda: clock[0],
    )
    recorder.start()
    for seconds, what in happened:
        clock[0] = BEGIN + seconds
        if isinstance(what, Entry):
            recorder.append(what)
        else:
            written(recorder)
            recorder.put_key_frame(what)
    assert recorder.close(30)


def written(recorder: Recorder) -> None:
    """Wait until no whole state waits to be written, as two cannot."""
    while recorder.key_frame_waits:
        threading.Event().wait(0.005)
