"""The watchdog: finds out that a plugin from outside the tree holds up the operator, and ends it so
that others go on.

Only with ``plugins.packages``. The process that was started becomes the watchdog and the operator
its child, for three reasons: code that never gives the interpreter back (a regular expression, a
sum without end) stops every thread of its process but no other process; the first process of a
container cannot be killed from inside; and what hung must be written down after its process is
gone.

``CallMarks`` is a page of memory that both share: the operator notes there which plugin it is in,
which costs well under a microsecond. One call that lasts for ``MAX_CALL_SECONDS`` is stuck. Then
the operator is made to print its stacks and end (SIGABRT), plugin and version are written down
(``apps.run.quarantine_writer``), and this process ends with ``HUNG_EXIT_STATUS``, to be started
anew without that plugin.
"""

from __future__ import annotations

import contextlib
import ctypes
import faulthandler
import json
import logging
import mmap
import os
import signal
import sys
import time
from collections.abc import Callable

from moorage.adapters import log_output
from moorage.core.framework.guard import PluginFault
from moorage.ports.repeated_logs import once_per_cause

log = logging.getLogger(__name__)

MAX_CALL_SECONDS = 5.0
"""Seconds that one call of a plugin may take."""
POLL_SECONDS = 0.1
HUNG_EXIT_STATUS = 3
"""The exit status."""
STACKS_SECONDS = 3.0
"""Seconds for the stacks to be printed."""
_FORWARDED = (signal.SIGTERM, signal.SIGINT, signal.SIGHUP, signal.SIGUSR1, signal.SIGUSR2)
_PR_SET_PDEATHSIG = 1
_NUMBER = slice(0, 8)
_LABEL = slice(8, 1024)


class CallMarks:
    """Which plugin the operator is in. The page holds a number, 0 for none, that no two calls
    share, and the call's label.
    """

    def __init__(self) -> None:
        # anonymous and shared: a forked process sees the same
        self._page = mmap.mmap(-1, _LABEL.stop)
        self._calls = 0
        self._inside: list[tuple[int, bytes, float]] = []

    def enter(self, label: bytes) -> None:
        """A call begins; calls may be nested. ``label`` is padded."""
        self._calls += 1
        self._inside.append((self._calls, label, time.perf_counter()))
        self._show(self._calls, label)

    def leave(self) -> None:
        """The innermost call ended."""
        self._inside.pop()
        if self._inside:
            number, label, _ = self._inside[-1]
            self._show(number, label)
        else:
            self._page[_NUMBER] = bytes(8)

    @property
    def seconds(self) -> float:
        """How long the innermost call has been going on."""
        return time.perf_counter() - self._inside[-1][2]

    def current(self) -> tuple[int, str]:
        """For the watchdog: the call's number and label."""
        return int.from_bytes(self._page[_NUMBER]), self._page[_LABEL].rstrip(b"\0").decode()

    def _show(self, number: int, label: bytes) -> None:
        self._page[_LABEL] = label
        self._page[_NUMBER] = number.to_bytes(8)


class PluginGuard:
    """``core.framework.guard.Guard`` of one plugin; ``count(plugin, point)`` counts its faults."""

    def __init__(
        self, plugin: str, version: str, marks: CallMarks, count: Callable[[str, str], None]
    ) -> None:
        self.plugin = plugin
        self.version = version
        self._marks = marks
        self._count = count
        self._labels: dict[str, bytes] = {}

    def enter(self, point: str) -> None:
        label = self._labels.get(point)
        if label is None:
            text = json.dumps([self.plugin[:200], self.version[:200], point])
            label = self._labels[point] = text.encode().ljust(_LABEL.stop - _LABEL.start, b"\0")
        self._marks.enter(label)

    def leave(self) -> None:
        """Take the mark away."""
        self._marks.leave()

    @property
    def seconds(self) -> float:
        """How long the innermost call has been going on."""
        return self._marks.seconds

    def record(self, fault: PluginFault) -> None:
        """Log it and count it."""
        log.error(
            "%s",
            fault,
            extra=once_per_cause(
                f"plugin {fault.plugin} at {fault.point}", plugin=fault.plugin, point=fault.point
            ),
        )
        self._count(fault.plugin, fault.point)


# ---- two processes -------------------------------------------------------------------------------


def run_watched(
    operate: Callable[[CallMarks], int], record: Callable[[str, str], None], log_format: str
) -> int:
    """Run ``operate`` in a child and watch over it; both processes return from here, each with its
    exit status.

    ``record(plugin, version)`` writes down which plugin hung.
    """
    marks, parent = CallMarks(), os.getpid()
    child = os.fork()
    if child == 0:
        return operate(marks) if _end_with(parent) else 1
    for number in _FORWARDED:
        signal.signal(number, lambda number, _: _send(child, number))
    status, hung = _watch(child, marks)
    if hung:
        _tell(hung, record, log_format)
    return HUNG_EXIT_STATUS if hung else status


def _end_with(parent: int) -> bool:
    """Have the system end this process with its parent; False where that has ended already."""
    os.setpgid(0, 0)  # a terminal's Ctrl-C goes to the watchdog, which passes it on
    ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)
    faulthandler.enable(sys.stderr, all_threads=True)
    return os.getppid() == parent


def _tell(label: str, record: Callable[[str, str], None], log_format: str) -> None:
    """Log which plugin hung, and write it down."""
    output = log_output.install(log_format, logging.INFO, log_output.standard_error())
    try:
        plugin, version, point = json.loads(label)
        extra = {"plugin": plugin, "version": version, "point": point}
        text = "a plugin hung for %.0f s, so its process was ended; the stacks are above"
        log.critical(text, MAX_CALL_SECONDS, extra=extra)
        record(plugin, version)
    finally:
        output.stop()


def _watch(child: int, marks: CallMarks) -> tuple[int, str]:
    """The child's exit status, and the label of the call that it hung in, "" if it did not.

    Looks are counted, not seconds: where both processes were kept from running, that is nobody's
    fault.
    """
    last, looks, label = 0, 0, ""
    while True:
        ended, status = os.waitpid(child, os.WNOHANG)
        if ended:
            code = os.waitstatus_to_exitcode(status)
            return (code if code >= 0 else 128 - code), ""
        number, seen = marks.current()
        last, looks = number, looks + 1 if number and number == last else 0
        # the number stayed the same after it was read, so it is that call's
        label = seen if looks <= 1 else label
        if looks * POLL_SECONDS >= MAX_CALL_SECONDS:
            return _end(child), label
        time.sleep(POLL_SECONDS)


def _end(child: int) -> int:
    """Have it print its stacks and end."""
    _send(child, signal.SIGABRT)
    until = time.monotonic() + STACKS_SECONDS
    while time.monotonic() < until:
        if os.waitpid(child, os.WNOHANG)[0]:
            return HUNG_EXIT_STATUS
        time.sleep(POLL_SECONDS)
    _send(child, signal.SIGKILL)
    os.waitpid(child, 0)
    return HUNG_EXIT_STATUS


def _send(child: int, number: int) -> None:
    with contextlib.suppress(ProcessLookupError):
        os.kill(child, number)
