"""Writing recordings and snapshots, by somebody who is not the operator."""

from __future__ import annotations

import time
from collections.abc import Sequence
from pathlib import Path
from typing import Final

from moorage.adapters.recording import (
    OWN_VERSIONS,
    Recorder,
    RecordingFiles,
    RecordingHeader,
    SingleFile,
)
from moorage.api.resolution import Resolver
from moorage.apps.commands.output_files import STDOUT, StandardOutput, refuse_terminal, shown
from moorage.apps.exit_status import NoAnswer, WrongUse
from moorage.core.recording.wire import EntryEncoder

LAST_WRITE_SECONDS: Final = 600.0
"""For what waits to be written at the end: a key frame of a very large cluster takes a while."""


def new_recorder(
    path: Path, resolver: Resolver, version: str = "", not_listed: Sequence[str] = ()
) -> Recorder:
    """A recorder that writes to a new file; ``version`` is the API server's. Raises WrongUse."""
    refuse_terminal("-o", path)
    if path == STDOUT:
        return recorder_of(StandardOutput(), resolver, version, not_listed)
    if path.exists():
        raise WrongUse(f"-o {path}: the file is there already, and is not written over")
    if not path.parent.is_dir():
        raise WrongUse(f"-o {path}: there is no folder {path.parent}")
    return recorder_of(SingleFile(path), resolver, version, not_listed)


def recorder_of(
    files: RecordingFiles, resolver: Resolver, version: str = "", not_listed: Sequence[str] = ()
) -> Recorder:
    """A recorder that writes to these files what somebody sees who is not the operator.
    ``not_listed``: what he does not see for want of a right.
    """
    header = RecordingHeader(
        versions={**OWN_VERSIONS, **({"kubernetes": version} if version else {})},
        not_listed=tuple(not_listed),
    )
    return Recorder(files, header, EntryEncoder(resolver.document), time.time)


def finish(recorder: Recorder, path: Path) -> None:
    """Wait until all is written. Raises NoAnswer where it is not."""
    whole = recorder.close(LAST_WRITE_SECONDS)
    if recorder.failure is not None:
        raise NoAnswer(f"{shown(path)} could not be written: {recorder.failure}")
    if not whole:
        raise NoAnswer(f"{shown(path)} is not whole: the disk did not take it within 10 minutes")
