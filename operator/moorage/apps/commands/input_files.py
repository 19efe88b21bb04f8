"""Files that options and arguments name to be read; ``-`` is stdin, for all commands."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any, BinaryIO, Final, cast

import typer

STDIN: Final = Path("-")


def read_text(path: Path) -> str:
    """What a file holds, or stdin. Raises OSError, with strerror, and UnicodeDecodeError.

    Stdin ends once, so whoever names it twice gets nothing the second time: that is an error, as
    nothing could come of it but an answer about nothing.
    """
    if path != STDIN:
        return path.read_text(encoding="utf-8")
    if text := sys.stdin.read():
        return text
    raise OSError(0, "stdin is empty, or was read already")


def on_disk(ctx: typer.Context, given: Any) -> Any:
    """Of a parameter that is read more than once, or not from its begin: the paths that were given,
    a copy of stdin in the place of ``-``. It goes with the process.
    """
    return _replaced(ctx, given, always=True)


def recordings_on_disk(ctx: typer.Context, given: Any) -> Any:
    """The same of a parameter that takes recordings and YAML: stdin with YAML stays what it is."""
    return _replaced(ctx, given, always=False)


def _replaced(ctx: typer.Context, given: Any, *, always: bool) -> Any:
    if ctx.resilient_parsing:  # completion has its own stdin
        return given
    if isinstance(given, list | tuple):
        return [_replaced(ctx, one, always=always) for one in given]
    if given != STDIN or not (always or _is_recorded(sys.stdin.buffer)):
        return given
    import atexit
    import shutil
    import tempfile

    folder = Path(tempfile.mkdtemp(prefix="moorage-"))
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    copy = folder / "stdin"
    with copy.open("wb") as out:
        shutil.copyfileobj(sys.stdin.buffer, out)
    return copy


def _is_recorded(stream: BinaryIO) -> bool:
    """Whether a recording is to come; nothing is taken from the stream. Who writes a recording
    writes its first bytes at once.
    """
    from moorage.apps.worlds.from_recording import FIRST_BYTES

    size = len(FIRST_BYTES)
    begin: bytes = cast(Any, stream).peek(size)
    return begin[:size] == FIRST_BYTES
