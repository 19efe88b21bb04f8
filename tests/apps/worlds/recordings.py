"""Recordings as tests write them."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

from moorage.adapters.recording import Recorder, RecordingHeader, SingleFile
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
    clock = [BEGIN]
    recorder = Recorder(
        SingleFile(path),
        header or RecordingHeader(versions={"moorage": "0.0.1"}),
        EntryEncoder(RESOLVER.document),
        lambda: clock[0],
    )
    recorder.start()
    recorder.put_key_frame(state)
    for seconds, entry in happened:
        clock[0] = BEGIN + seconds
        recorder.append(entry)
    assert recorder.close(30)
    return path
