"""Archives whose bytes depend on nothing but what is in them."""

from __future__ import annotations

import gzip
import io
import tarfile
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True)
class Entry:
    """A file in an archive."""

    content: bytes
    executable: bool = False


def tgz(entries: Mapping[str, Entry], epoch: int) -> bytes:
    """A tar, compressed by gzip: files by name, all of one time, and nobody's."""
    packed = io.BytesIO()
    with (
        gzip.GzipFile("", "wb", 9, packed, mtime=epoch) as compressed,
        tarfile.open(fileobj=compressed, mode="w", format=tarfile.PAX_FORMAT) as archive,
    ):
        for name, entry in sorted(entries.items()):
            info = tarfile.TarInfo(name)
            info.size, info.mtime = len(entry.content), epoch
            info.mode = 0o755 if entry.executable else 0o644
            archive.addfile(info, io.BytesIO(entry.content))
    return packed.getvalue()


def tree(folder: Path, below: str) -> dict[str, Entry]:
    """The files of a folder, named from ``below`` on."""
    return {
        f"{below}/{path.relative_to(folder).as_posix()}": Entry(path.read_bytes())
        for path in folder.rglob("*")
        if path.is_file()
    }
