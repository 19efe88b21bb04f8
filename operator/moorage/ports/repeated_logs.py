"""Repeated logs: of lines about one cause the first is logged, the others are counted, and the
count is told as long as the cause goes on.

Whoever logs names the cause: ``log.warning("watching %s failed: %s", resource, error,
extra=once_per_cause(f"watch {resource}"))``. What belongs to the cause, so that a line with another
of it is news, goes into its text; what may differ from line to line does not. Counts follow after a
minute, then after two, four and so on up to an hour. A cause that was silent for such a time is
forgotten.
"""

from __future__ import annotations

import collections
import copy
import dataclasses
import logging
from collections.abc import Iterator

FIRST_PERIOD_SECONDS, MAX_PERIOD_SECONDS = 60.0, 3600.0
"""Seconds until the first count, and at most until the next."""
MAX_CAUSES = 4096
"""That are remembered."""


def once_per_cause(cause: str, **extra: object) -> dict[str, object]:
    """A log line's ``extra``, for a line that is told once for this cause."""
    return {**extra, "cause": cause}


def once_per_failure(error: BaseException, what: str = "", **extra: object) -> dict[str, object]:
    """The same for requests: their cause is what came of them, whichever they were: an error's text
    begins with its request.
    """
    return once_per_cause(
        f"{what}{type(error).__name__}: {str(error).partition(': ')[2] or error}", **extra
    )


def once_per_bug(error: BaseException, **extra: object) -> dict[str, object]:
    """The same for a bug: its cause is where it was raised first, whatever its text says."""
    while error.__cause__ is not None:
        error = error.__cause__
    trace = error.__traceback__
    while trace is not None and trace.tb_next is not None:
        trace = trace.tb_next
    where = (
        f"{trace.tb_frame.f_code.co_filename}:{trace.tb_lineno}"
        if trace is not None
        else str(error)
    )
    return once_per_cause(f"{type(error).__name__} at {where}", **extra)


@dataclasses.dataclass(slots=True)
class _LoggedCause:
    """A cause's first line, and how often it came again since it was last told of."""

    line: logging.LogRecord
    period: float
    until: float
    count: int = 0


class RepeatedLogs:
    """What was told lately, by cause. Its times are the records' own: seconds since the epoch."""

    def __init__(self) -> None:
        self._logged: collections.OrderedDict[str, _LoggedCause] = collections.OrderedDict()

    def is_repeated(self, record: logging.LogRecord) -> bool:
        """Whether this line is only counted, as its cause was told."""
        cause: str = getattr(record, "cause", "")
        if not cause:
            return False
        told = self._logged.get(cause)
        if told is not None:
            told.count += 1
            return True
        try:
            line = _without_references(record)
        except Exception:  # noqa: BLE001 - its arguments do not fit: told when it is written
            return False
        until = record.created + FIRST_PERIOD_SECONDS
        self._logged[cause] = _LoggedCause(line, FIRST_PERIOD_SECONDS, until)
        if len(self._logged) > MAX_CAUSES:
            self._logged.popitem(last=False)
        return False

    def due(self, now: float, *, last: bool = False) -> Iterator[logging.LogRecord]:
        """The lines that say how often causes came again whose time is over; the ``last`` time
        those of all.
        """
        for cause, told in list(self._logged.items()):
            # earlier: the clock was put back
            if told.until - told.period <= now < told.until and not last:
                continue
            if not told.count:
                del self._logged[cause]
                continue
            line = copy.copy(told.line)
            line.__dict__ |= {"created": now, "repeated": told.count}
            told.count, told.period = 0, min(2 * told.period, MAX_PERIOD_SECONDS)
            told.until = now + told.period
            yield line


def _without_references(record: logging.LogRecord) -> logging.LogRecord:
    """The same line less what it would keep alive: a traceback holds all that its functions
    held.
    """
    line = copy.copy(record)
    line.msg, line.args, line.exc_info = record.getMessage(), None, None
    return line
