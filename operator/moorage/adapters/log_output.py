"""Log output: records go to a bounded queue, and a thread that writes it out.

The event loop only ever puts a record into the queue, so a standard error that blocks (a full pipe,
a stopped terminal) never blocks it; what does not fit is counted, and told once there is room
again. The thread writes what came in within a moment at once: woken for each record, it would take
more of the processor than the records do. Lines of a cause that was told lately are only counted
(``ports.repeated_logs``), and no line is longer than a person reads, whatever objects, peers or
plugins put into it.
"""

from __future__ import annotations

import collections
import datetime
import json
import logging
import os
import sys
import threading
import time
from typing import TextIO

from moorage.ports.repeated_logs import RepeatedLogs
from moorage.ports.texts import printable, printable_lines

MAX_QUEUED_RECORDS = 10_000
GATHER_SECONDS = 0.02
"""Seconds."""
COUNTS_INTERVAL_SECONDS = 1.0
"""Seconds between looks at what was counted."""
STOP_SECONDS = 2.0
MAX_MESSAGE_CHARACTERS, MAX_VALUE_CHARACTERS, MAX_TRACE_CHARACTERS = 2000, 1000, 16_000
"""Characters of a message, of each value beside it, and of a traceback; the middle of what is
longer is left out.
"""

_STANDARD = frozenset(vars(logging.makeLogRecord({}))) | {"message", "asctime", "taskName", "cause"}


class TextFormatter(logging.Formatter):
    """``2026-01-02T03:04:05.678Z INFO moorage.engine.scheduling.loop message key=value``.

    Whatever a message or a value holds, it is one line, and a traceback's lines are indented: none
    can pass for a record.
    """

    def format(self, record: logging.LogRecord) -> str:
        """One line, with a traceback after it where there is one."""
        extras = "".join(f" {key}={_plain(value)}" for key, value in _extras(record).items())
        line = f"{_time(record)} {record.levelname} {record.name} {_message(record)}{extras}"
        trace = _trace(self, record)
        return (
            f"{printable(line)}\n    {printable_lines(trace, '    ')}" if trace else printable(line)
        )


class JsonFormatter(logging.Formatter):
    """One JSON object a line: ts, level, logger, msg, the extras, and trace where there is one."""

    def format(self, record: logging.LogRecord) -> str:
        """The record as one line of JSON."""
        fields = {
            "ts": _time(record),
            "level": record.levelname.lower(),
            "logger": record.name,
            "msg": _message(record),
        }
        if trace := _trace(self, record):
            fields["trace"] = trace
        line = json.dumps(fields | _extras(record), default=str, ensure_ascii=False)
        return line if line.isprintable() else json.dumps(fields | _extras(record), default=str)


class LogOutput(logging.Handler):
    """A handler for the root logger; ``stop`` it at the end of the process."""

    def __init__(
        self, stream: TextIO, formatter: logging.Formatter, limit: int = MAX_QUEUED_RECORDS
    ) -> None:
        super().__init__()
        self._stream = stream
        self._format = formatter.format
        self._queue: collections.deque[logging.LogRecord] = collections.deque()
        self._limit = limit
        self._came, self._stopping = threading.Event(), threading.Event()
        self._repeats, self._counting = RepeatedLogs(), threading.Lock()
        self._dropped_logged = 0
        self.dropped = 0
        """Records that did not fit into the queue."""
        # A daemon: a stream that blocks for ever must not keep the process from ending.
        self._thread = threading.Thread(target=self._write_all, name="log output", daemon=True)
        self._thread.start()

    def emit(self, record: logging.LogRecord) -> None:
        """Queue it or count it; never waits, never raises."""
        if len(self._queue) >= self._limit:
            self.dropped += 1
            return
        with self._counting:
            if self._repeats.is_repeated(record):
                return
        self._queue.append(record)
        if not self._came.is_set():
            self._came.set()

    def stop(self, seconds: float = STOP_SECONDS) -> None:
        """Write what is queued, but wait no longer than ``seconds``."""
        self._stopping.set()
        self._came.set()
        self._thread.join(seconds)

    def _write_all(self) -> None:
        while not self._stopping.is_set():
            self._came.wait(COUNTS_INTERVAL_SECONDS)
            self._stopping.wait(GATHER_SECONDS)
            self._came.clear()
            while self._queue:
                self._write(self._text(self._queue.popleft()))
            for line in self._counts():
                self._write(self._text(line))
            self._write("")

    def _counts(self) -> list[logging.LogRecord]:
        """What was counted and is to be told now; at the end all of it."""
        with self._counting:
            return list(self._repeats.due(time.time(), last=self._stopping.is_set()))

    def _write(self, text: str) -> None:
        """A text, or with "" what is still buffered."""
        try:
            if text:
                self._stream.write(text)
            else:
                self._stream.flush()
        except (OSError, ValueError):
            # The stream is closed or broken: nothing can be told any more, but the queue must go on
            # being emptied.
            self.dropped += bool(text)

    def _text(self, record: logging.LogRecord) -> str:
        try:
            text = self._format(record) + "\n"
        except Exception as error:  # noqa: BLE001 a message whose arguments do not fit it
            text = (
                f"a log record of {record.name} line {record.lineno} cannot be formatted: "
                f"{error!r}\n"
            )
        if (dropped := self.dropped) > self._dropped_logged:
            self._dropped_logged = dropped
            text = (
                f"{_time(record)} WARNING {__name__} {dropped} log records were dropped so far\n"
                + text
            )
        return text


def standard_error() -> TextIO:
    """Standard error as a stream of its own, for ``install``.

    Python and libraries flush ``sys.stderr`` when the process ends: for ever where somebody is
    blocked in it, and with an exit status of their own where what was written cannot go out.
    """
    return os.fdopen(
        os.dup(sys.stderr.fileno()), "w", buffering=1, encoding="utf-8", errors="backslashreplace"
    )


def install(style: str, level: int, stream: TextIO) -> LogOutput:
    """Send everything that is logged in this process to ``stream``; ``style`` is text or json,
    ``level`` one of logging's.
    """
    output = LogOutput(stream, JsonFormatter() if style == "json" else TextFormatter())
    root = logging.getLogger()
    for handler in root.handlers[:]:
        root.removeHandler(handler)
    root.addHandler(output)
    root.setLevel(level)
    return output


def _extras(record: logging.LogRecord) -> dict[str, object]:
    """What was given as ``extra``."""
    return {
        key: _bounded_value(value) for key, value in vars(record).items() if key not in _STANDARD
    }


def _bounded_value(value: object) -> object:
    """Numbers as they are, and structures as long as they are no longer than a traceback may be."""
    if isinstance(value, str):
        return _bounded(value, MAX_VALUE_CHARACTERS)
    return (
        value
        if len(text := str(value)) <= MAX_TRACE_CHARACTERS
        else _bounded(text, MAX_TRACE_CHARACTERS)
    )


def _message(record: logging.LogRecord) -> str:
    return _bounded(record.getMessage(), MAX_MESSAGE_CHARACTERS)


def _bounded(text: str, limit: int) -> str:
    """The text, or its beginning and its end."""
    if len(text) <= limit:
        return text
    end = limit // 4
    return f"{text[: limit - end]} … {len(text) - limit} characters left out … {text[-end:]}"


def _plain(value: object) -> str:
    """A value of the text format; quoted where it would not be one word."""
    text = str(value)
    return (
        json.dumps(text, ensure_ascii=False)
        if not text or any(c in text for c in ' "\n=')
        else text
    )


def _time(record: logging.LogRecord) -> str:
    moment = datetime.datetime.fromtimestamp(record.created, datetime.UTC)
    return moment.isoformat(timespec="milliseconds").replace("+00:00", "Z")


def _trace(formatter: logging.Formatter, record: logging.LogRecord) -> str:
    return (
        _bounded(formatter.formatException(record.exc_info), MAX_TRACE_CHARACTERS)
        if record.exc_info
        else ""
    )
