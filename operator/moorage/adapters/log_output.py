"""Where log records go: a bounded queue, and a thread that writes it out.

The event loop only ever puts a record into the queue, so a standard error that blocks (a full pipe, a stopped terminal) never blocks
it; what does not fit is counted, and told once there is room again. The thread writes what came in within a moment at once: woken for
each record, it would take more of the processor than the records do.
"""

from __future__ import annotations

import collections
import datetime
import json
import logging
import threading
from typing import TextIO

QUEUE_LIMIT = 10_000
MOMENT = 0.02
"""Seconds."""
STOP_SECONDS = 2.0

_STANDARD = frozenset(vars(logging.makeLogRecord({}))) | {"message", "asctime", "taskName"}


class TextFormatter(logging.Formatter):
    """``2026-01-02T03:04:05.678Z INFO moorage.engine.loop message key=value``."""

    def format(self, record: logging.LogRecord) -> str:
        """One line, with a traceback after it where there is one."""
        extras = "".join(f" {key}={_plain(value)}" for key, value in _extras(record).items())
        line = f"{_time(record)} {record.levelname} {record.name} {record.getMessage()}{extras}"
        trace = _trace(self, record)
        return f"{line}\n{trace}" if trace else line


class JsonFormatter(logging.Formatter):
    """One JSON object a line: ts, level, logger, msg, the extras, and trace where there is one."""

    def format(self, record: logging.LogRecord) -> str:
        """One line."""
        fields = {"ts": _time(record), "level": record.levelname.lower(), "logger": record.name, "msg": record.getMessage()}
        if trace := _trace(self, record):
            fields["trace"] = trace
        return json.dumps(fields | _extras(record), default=str, ensure_ascii=False)


class LogOutput(logging.Handler):
    """A handler for the root logger; ``stop`` it at the end of the process."""

    def __init__(self, stream: TextIO, formatter: logging.Formatter, limit: int = QUEUE_LIMIT) -> None:
        super().__init__()
        self._stream = stream
        self._format = formatter.format
        self._queue: collections.deque[logging.LogRecord] = collections.deque()
        self._limit = limit
        self._came, self._stopping = threading.Event(), threading.Event()
        self._told = 0
        self.dropped = 0
        """Records that did not fit into the queue."""
        # A daemon: a stream that blocks for ever must not keep the process from ending.
        self._thread = threading.Thread(target=self._write_all, name="log output", daemon=True)
        self._thread.start()

    def emit(self, record: logging.LogRecord) -> None:
        """Queue it; never waits, never raises."""
        if len(self._queue) >= self._limit:
            self.dropped += 1
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
            self._came.wait()
            self._stopping.wait(MOMENT)
            self._came.clear()
            while self._queue:
                self._write(self._text(self._queue.popleft()))
            self._write("")

    def _write(self, text: str) -> None:
        """A text, or with "" what is still buffered."""
        try:
            if text:
                self._stream.write(text)
            else:
                self._stream.flush()
        except (OSError, ValueError):
            # The stream is closed or broken: nothing can be told any more, but the queue must go on being emptied.
            self.dropped += bool(text)

    def _text(self, record: logging.LogRecord) -> str:
        try:
            text = self._format(record) + "\n"
        except Exception as error:  # noqa: BLE001 a message whose arguments do not fit it
            text = f"a log record of {record.name} line {record.lineno} cannot be formatted: {error!r}\n"
        if (dropped := self.dropped) > self._told:
            self._told = dropped
            text = f"{_time(record)} WARNING {__name__} {dropped} log records were dropped so far\n" + text
        return text


def install(style: str, level: int, stream: TextIO) -> LogOutput:
    """Send everything that is logged in this process to ``stream``; ``style`` is text or json, ``level`` one of logging's."""
    output = LogOutput(stream, JsonFormatter() if style == "json" else TextFormatter())
    root = logging.getLogger()
    for handler in root.handlers[:]:
        root.removeHandler(handler)
    root.addHandler(output)
    root.setLevel(level)
    return output


def _extras(record: logging.LogRecord) -> dict[str, object]:
    """What was given as ``extra``."""
    return {key: value for key, value in vars(record).items() if key not in _STANDARD}


def _plain(value: object) -> str:
    """A value of the text format; quoted where it would not be one word."""
    text = str(value)
    return json.dumps(text, ensure_ascii=False) if not text or any(c in text for c in ' "\n=') else text


def _time(record: logging.LogRecord) -> str:
    moment = datetime.datetime.fromtimestamp(record.created, datetime.UTC)
    return moment.isoformat(timespec="milliseconds").replace("+00:00", "Z")


def _trace(formatter: logging.Formatter, record: logging.LogRecord) -> str:
    return formatter.formatException(record.exc_info) if record.exc_info else ""
