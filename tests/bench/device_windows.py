"""How fast pods were written, and what that cost, by the API server's own audit log.

The time counts from the moment when the API server received the first write to any of the pods or
claims (a claim protected or created, a status patched, a Binding) to the moment when it had
answered the last Binding. It is the same for all that are compared, and favours nobody:

* What comes before (a process that starts, lists, a lease, a profile) counts for nobody.
* No work is hidden by how much of it is in flight. From the first *binding* on, one with 256 pods
  in flight would have most of their claims written before its time begins.
* No watch is held for it. The API server would encode each change of a pod once more, and once for
  two where the scheduler's own watch asks for the same encoding.

Events are not waited for: none of them holds up a pod.
"""

from __future__ import annotations

import asyncio
import dataclasses
import datetime
import os
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Final

import msgspec

from tests.rig import AuditEvent

POLL_SECONDS: Final = 0.02
"""How often the log is looked at: the times themselves are in it."""
OTHERS: Final = "others"
"""All other processes and, on a virtual machine, its neighbours."""
_TICKS: Final = os.sysconf("SC_CLK_TCK")
_WRITES: Final = frozenset({"create", "update", "patch"})
_WRITTEN: Final = frozenset({"pods", "resourceclaims"})


@dataclasses.dataclass(frozen=True)
class Window:
    """``rate``: pods a second; ``cost``: milliseconds of processor time of a pod, by process, and
    what ``OTHERS`` took meanwhile: where that is much, the rate means little.
    """

    rate: float
    cost: Mapping[str, float]


class WriteLog:
    """An audit log from here on."""

    def __init__(self, log: Path) -> None:
        self._file = log.open("rb")
        self._file.seek(0, os.SEEK_END)
        self._decoder = msgspec.json.Decoder(AuditEvent)
        self._rest = b""
        self._first: datetime.datetime | None = None
        self._last: datetime.datetime | None = None
        self._bound: set[str] = set()

    async def window(self, pods: int, pids: Mapping[str, int], check: Callable[[], None]) -> Window:
        """Once so many are bound. ``pids``: of the processes whose time is counted, by name.
        ``check`` is called again and again, and may raise.
        """
        began: dict[str, float] = {}
        try:
            while len(self._bound) < pods:
                await asyncio.sleep(POLL_SECONDS)
                check()
                self._read()
                if self._first is not None and not began:
                    began = _processor_seconds(pids)
        finally:
            self._file.close()
        assert self._first is not None  # the writes of those that are bound
        assert self._last is not None
        spent = _processor_seconds(pids)
        cost = {name: (spent[name] - began[name]) * 1000 / pods for name in began}
        return Window(pods / (self._last - self._first).total_seconds(), cost)

    def _read(self) -> None:
        *lines, self._rest = (self._rest + self._file.read()).split(b"\n")
        for line in lines:
            self._note(self._decoder.decode(line))

    def _note(self, event: AuditEvent) -> None:
        target, answer = event.object_ref, event.response_status
        done = event.stage == "ResponseComplete" and answer is not None and answer.code < 300
        if target is None or not done or event.verb not in _WRITES:
            return
        if target.resource not in _WRITTEN:
            return
        received = event.request_received_timestamp
        self._first = received if self._first is None else min(self._first, received)
        if target.subresource == "binding":
            self._bound.add(target.name)
            answered = event.stage_timestamp
            self._last = answered if self._last is None else max(self._last, answered)


def _processor_seconds(pids: Mapping[str, int]) -> dict[str, float]:
    """Of all threads of each process, user and system, and of all others together."""
    spent = {
        name: sum(map(int, Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[11:13]))
        for name, pid in pids.items()
    }
    # user, nice, system, idle, iowait, irq, softirq, steal; guests are in user (proc(5))
    machine = [int(field) for field in Path("/proc/stat").read_text().split()[1:9]]
    spent[OTHERS] = sum(machine[:3]) + sum(machine[5:]) - sum(spent.values())
    return {name: ticks / _TICKS for name, ticks in spent.items()}
