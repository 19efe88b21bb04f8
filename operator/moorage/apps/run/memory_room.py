"""How much memory a process may take beside the operator, in the same container.

A container that exceeds its limit is ended whole: kubelets set `memory.oom.group`, so it does not
help to be the process that the system would rather end. So whoever may take much asks first.
"""

from __future__ import annotations

import resource
from pathlib import Path
from typing import Final, NamedTuple

CONTROL_GROUP: Final = Path("/sys/fs/cgroup")
"""Of the container, as it sees it."""


class _Files(NamedTuple):
    """Where a version of control groups tells of memory; ``forgettable`` is a line of ``stat``."""

    limit: str
    used: str
    stat: str
    forgettable: str


_VERSIONS: Final = (
    _Files("memory.max", "memory.current", "memory.stat", "inactive_file"),
    _Files(
        "memory/memory.limit_in_bytes",
        "memory/memory.usage_in_bytes",
        "memory/memory.stat",
        "total_inactive_file",
    ),
)


def memory_room(most: int, group: Path = CONTROL_GROUP) -> int:
    """Bytes: half of what the container has left, or ``most`` where that is less.

    Files that the system keeps in memory and can forget are not counted as used (`inactive_file`).
    """
    for files in _VERSIONS:
        try:
            limit, used, stat = ((group / name).read_text(encoding="ascii") for name in files[:3])
        except FileNotFoundError:
            continue
        if limit.strip() == "max":  # the older version has a number that no machine has
            return most
        lines = dict(line.split() for line in stat.splitlines())
        left = int(limit) - int(used) + int(lines.get(files.forgettable, "0"))
        return max(0, min(most, left // 2))
    return most  # no container, or not of Linux


def hold_memory(room: int) -> None:
    """Have this process take so many more bytes at most: what exceeds that is a MemoryError."""
    status = Path("/proc/self/status").read_text(encoding="ascii").splitlines()
    kilobytes = next(line.split()[1] for line in status if line.startswith("VmData:"))
    limit = int(kilobytes) * 1024 + room
    resource.setrlimit(resource.RLIMIT_DATA, (limit, limit))
