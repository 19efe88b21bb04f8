"""Log records: their two forms, and that a blocked stream blocks nobody."""

from __future__ import annotations

import io
import json
import logging
import os
import sys
import threading
import time
from collections.abc import Iterator
from typing import Any

import pytest

from moorage.adapters.log_output import JsonFormatter, LogOutput, TextFormatter, install
from moorage.ports.repeated_logs import once_per_cause


def record(message: str, *args: Any, **extra: Any) -> logging.LogRecord:
    """A record of 2026-01-02T03:04:05.678Z."""
    made = logging.getLogger("moorage.x").makeRecord(
        "moorage.x", logging.WARNING, "f.py", 1, message, args, None, extra=extra
    )
    made.created = 1767323045.678
    return made


def test_text() -> None:
    """Time, level, logger, message, fields; a value that is no single word is quoted."""
    line = TextFormatter().format(record("bound %s", "it", pod="d/p", note='a "b"', empty=""))
    assert (
        line
        == '2026-01-02T03:04:05.678Z WARNING moorage.x bound it pod=d/p note="a \\"b\\"" empty=""'
    )


def test_json() -> None:
    """The same as one JSON object; what JSON has no form for becomes text."""
    line = JsonFormatter().format(record("bound", pod="d/p", count=3, odd={1j}))
    assert json.loads(line) == {
        "ts": "2026-01-02T03:04:05.678Z",
        "level": "warning",
        "logger": "moorage.x",
        "msg": "bound",
        "pod": "d/p",
        "count": 3,
        "odd": "{1j}",
    }


FORGED = (
    "no\n2026-01-01T00:00:00.000Z CRITICAL moorage.engine forged \x1b[31m\x9b\u202e\u2028\ud800"
)


@pytest.mark.parametrize("formatter", [TextFormatter(), JsonFormatter()], ids=["text", "json"])
@pytest.mark.parametrize("place", ["message", "value", "one word", "exception"])
def test_what_others_wrote_is_no_record_and_no_command_for_a_terminal(
    formatter: logging.Formatter, place: str
) -> None:
    """A message, a value of a field, the text of an exception: each record is one line, and a
    traceback is indented.
    """
    text = FORGED.replace(" ", "") if place == "one word" else FORGED
    try:
        raise ValueError(text)
    except ValueError:
        made = (
            record(text)
            if place == "message"
            else record("m", pod="d/p" if place == "exception" else text)
        )
        made.exc_info = sys.exc_info() if place == "exception" else None
    first, *others = formatter.format(made).split("\n")
    assert all(line.startswith("    ") and line.isprintable() for line in others)
    assert first.isprintable()
    assert not others or place == "exception"
    if isinstance(formatter, JsonFormatter):
        assert any(text in value for value in json.loads(first).values())


def test_tracebacks_are_kept() -> None:
    """In both forms."""
    try:
        raise ValueError("deep")
    except ValueError:
        made = record("failed")
        made.exc_info = sys.exc_info()
    assert "ValueError: deep" in TextFormatter().format(made).splitlines()[-1]
    assert "ValueError: deep" in json.loads(JsonFormatter().format(made))["trace"]


@pytest.fixture
def _root() -> Iterator[None]:
    """The root logger as it was."""
    root = logging.getLogger()
    handlers, level = root.handlers[:], root.level
    yield
    root.handlers[:] = handlers
    root.setLevel(level)


@pytest.mark.usefixtures("_root")
@pytest.mark.parametrize("style", ["text", "json"])
def test_install_sends_everything_to_the_stream(style: str) -> None:
    """One handler on the root, at the level; stop writes what is queued."""
    stream = io.StringIO()
    output = install(style, logging.INFO, stream)
    logging.getLogger("somebody.else").info("hello", extra={"a": 1})
    logging.getLogger("somebody.else").debug("too quiet")
    output.stop()
    (line,) = stream.getvalue().splitlines()
    assert ("hello a=1" in line) if style == "text" else (json.loads(line)["a"] == 1)
    assert logging.getLogger().handlers == [output]


def test_a_blocked_stream_blocks_nobody() -> None:
    """A pipe that nobody reads: logging stays quick, what does not fit is counted, stop gives up in
    time, and later it is told.
    """
    reading, writing = os.pipe()
    os.set_blocking(reading, False)
    stream = os.fdopen(writing, "w", buffering=1)
    output = LogOutput(stream, TextFormatter(), limit=100)
    started = time.perf_counter()
    for number in range(3000):
        output.emit(record("x" * 200, number=number))
    output.stop(0.05)
    assert time.perf_counter() - started < 1
    assert output.dropped > 1000
    text = ""
    deadline = time.monotonic() + 5
    while "records were dropped" not in text and time.monotonic() < deadline:
        try:
            text += os.read(reading, 65536).decode()
        except BlockingIOError:
            time.sleep(0.01)
    assert "log records were dropped so far" in text
    while output._thread.is_alive():
        output.stop(0.05)
        try:
            os.read(reading, 65536)
        except BlockingIOError:
            time.sleep(0.01)
    stream.close()
    os.close(reading)


def test_what_comes_in_within_a_moment_is_written_at_once() -> None:
    """The writer is not woken for each record."""

    class Counting(io.StringIO):
        flushes = 0

        def flush(self) -> None:
            self.flushes += 1

    stream = Counting()
    output = LogOutput(stream, TextFormatter())
    for number in range(1000):
        output.emit(record("x", number=number))
    output.stop()
    assert len(stream.getvalue().splitlines()) == 1000
    assert stream.flushes <= 10


def test_a_record_that_cannot_be_formatted_is_named() -> None:
    """A wrong number of arguments costs that record only."""
    stream = io.StringIO()
    output = LogOutput(stream, TextFormatter())
    output.emit(record("%s %s", "one"))
    output.emit(record("fine"))
    output.stop()
    first, second = stream.getvalue().splitlines()
    assert "moorage.x line 1 cannot be formatted" in first and second.endswith("fine")


def test_a_closed_stream_ends_nothing() -> None:
    """Writes that fail are counted as dropped; the thread goes on."""
    stream = io.StringIO()
    output = LogOutput(stream, TextFormatter())
    stream.close()
    for _ in range(3):
        output.emit(record("x"))
    output.stop()
    assert output.dropped == 3
    assert not any(
        thread is output._thread and thread.is_alive() for thread in threading.enumerate()
    )


@pytest.mark.parametrize("formatter", [TextFormatter(), JsonFormatter()], ids=["text", "json"])
def test_no_line_is_longer_than_a_person_reads(formatter: logging.Formatter) -> None:
    """Whatever an object, a peer or a plugin put into it; beginning and end are there."""
    try:
        raise ValueError("<" + "x" * 200_000 + ">")
    except ValueError:
        made = record("<%s>", "y" * 200_000, pod="<" + "z" * 200_000 + ">", parts=["w" * 200_000])
        made.exc_info = sys.exc_info()
    text = formatter.format(made)
    assert len(text) < 40_000
    assert text.count("characters left out") == 4
    assert (
        "<yyy" in text and "yyy>" in text and "<zzz" in text and "zzz>" in text and "xxx>" in text
    )


def test_one_line_per_cause_then_a_count() -> None:
    """What was counted is told at the end, if not before."""
    stream = io.StringIO()
    output = LogOutput(stream, TextFormatter())
    for number in range(1000):
        for made in (
            record("it failed: %d", number, **once_per_cause("it fails", pod="d/p")),
            record("another", **once_per_cause("other")),
        ):
            made.created = time.time()
            output.emit(made)
    output.stop()
    told = [line.split("moorage.x ")[1] for line in stream.getvalue().splitlines()]
    assert told == [
        "it failed: 0 pod=d/p",
        "another",
        "it failed: 0 pod=d/p repeated=999",
        "another repeated=999",
    ]
