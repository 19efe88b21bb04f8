"""What may be taken of the memory of a container."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from moorage.apps.run.memory_room import memory_room

GIB = 2**30


@pytest.mark.parametrize(
    ("limit", "used", "forgettable", "room"),
    [
        ("max", 3 * GIB, 0, 2 * GIB),
        ("9223372036854771712", 3 * GIB, 0, 2 * GIB),
        (str(GIB), GIB // 4, 0, 3 * GIB // 8),
        (str(GIB), GIB, GIB // 2, GIB // 4),
        (str(GIB), GIB + 4096, 0, 0),
        (str(64 * GIB), GIB, 0, 2 * GIB),
    ],
    ids=[
        "no-limit",
        "no-limit-of-old",
        "half-of-the-rest",
        "files-in-memory",
        "nothing-left",
        "at-most",
    ],
)
def test_half_of_what_is_left(
    tmp_path: Path, limit: str, used: int, forgettable: int, room: int
) -> None:
    """Of the container's memory, as its control group tells it."""
    if limit != "max":
        (old := tmp_path / "old" / "memory").mkdir(parents=True)
        (old / "memory.limit_in_bytes").write_text(f"{limit}\n")
        (old / "memory.usage_in_bytes").write_text(f"{used}\n")
        text = f"cache 1\ninactive_file 0\ntotal_inactive_file {forgettable}\n"
        (old / "memory.stat").write_text(text)
        assert memory_room(2 * GIB, old.parent) == room
    (tmp_path / "memory.max").write_text(f"{limit}\n")
    (tmp_path / "memory.current").write_text(f"{used}\n")
    (tmp_path / "memory.stat").write_text(f"anon 1\ninactive_file {forgettable}\nslab 5\n")
    assert memory_room(2 * GIB, tmp_path) == room


def test_without_a_container(tmp_path: Path) -> None:
    """There is nothing to go by."""
    assert memory_room(GIB, tmp_path) == GIB


@pytest.mark.parametrize(("mib", "taken"), [(40, True), (90, False)])
def test_what_exceeds_the_room_is_refused(mib: int, taken: bool) -> None:
    """By the system, as a MemoryError; the process lives on."""
    program = (
        "from moorage.apps.run.memory_room import hold_memory\n"
        "hold_memory(64 << 20)\n"
        "try:\n"
        f"    print(len(bytearray({mib} << 20)) > 0)\n"
        "except MemoryError:\n"
        "    print(False)\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=True
    )
    assert done.stdout.split() == [str(taken)]
