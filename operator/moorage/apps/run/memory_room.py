"""How much memory a process may take beside the operator, in the same container.

A container that exceeds its limit is ended whole: kubelets set `memory.oom.group`, so it does not
help to be the process that the system would rather end. So whoever may take much asks first.
"""

from __future__ import annotations

import resource
from pathlib import Path
from typing import Final

CONTROL_GROUP: Final = Path("/sys/fs/cgroup")
"""Of the container, as it sees it (version 2)."""


def memory_room(most: int, group: Path = CONTROL_GROUP) -> int:
    """Bytes: half of what the container has left, or ``most`` where that is less.

    Files that the system keeps in memory and can forget are not counted as used (`inactive_file`).
    """
    try:
        limit = (group / "memory.max").read_text(encoding="ascii").strip()
        used = int((group / "memory.current").read_text(encoding="ascii"))
        lines = (group / "memory.stat").read_text(encoding="ascii").splitlines()
    except FileNotFoundError:
        return most  # no container, or not of Linux
    if limit == "max":
        return most
    forgettable = dict(line.split() for line in lines).get("inactive_file", "0")
    return max(0, min(most, (int(limit) - used + int(forgettable)) // 2))


def hold_memory(room: int) -> None:
    """Have this process take so many more bytes at most: what exceeds that is a MemoryError."""
    status = Path("/proc/self/status").read_text(encoding="ascii").splitlines()
    kilobytes = next(line.split()[1] for line in status if line.startswith("VmData:"))
    limit = int(kilobytes) * 1024 + room
    resource.setrlimit(resource.RLIMIT_DATA, (limit, limit))
