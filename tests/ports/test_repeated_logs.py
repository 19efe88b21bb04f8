"""One line per cause, then counts."""

from __future__ import annotations

import logging

from moorage.ports.repeated_logs import (
    FIRST_PERIOD_SECONDS,
    MAX_CAUSES,
    MAX_PERIOD_SECONDS,
    RepeatedLogs,
    once_per_bug,
    once_per_cause,
)


def line(
    at: float, cause: str = "", message: str = "it failed: %s", *args: object
) -> logging.LogRecord:
    """A log line of this moment."""
    extra = once_per_cause(cause, pod="d/p") if cause else {}
    record = logging.getLogger("x").makeRecord(
        "x", logging.ERROR, "f.py", 1, message, args or ("why",), None, extra=extra
    )
    record.created = at
    return record


def repeated(record: logging.LogRecord) -> int:
    """How often it says that its cause came again."""
    return int(vars(record)["repeated"])


def test_a_cause_that_goes_on_is_told_once_then_counted_ever_more_seldom() -> None:
    """An hour and a half of one failure a second are eight lines, whose counts are complete."""
    repeats = RepeatedLogs()
    written = 0
    counted: list[logging.LogRecord] = []
    for second in range(5400):
        written += not repeats.is_repeated(line(second, "the server"))
        counted += repeats.due(second)
    counted += repeats.due(5400, last=True)
    assert written == 1
    assert [record.created for record in counted] == [60, 180, 420, 900, 1860, 3780, 5400]
    assert sum(map(repeated, counted)) == 5399


def test_a_clock_that_is_put_back_silences_nothing() -> None:
    """What was told before is told with its count at once, and from then on as always."""
    repeats = RepeatedLogs()
    assert [repeats.is_repeated(line(at, "a")) for at in (7200, 7201)] == [False, True]
    (record,) = repeats.due(10)
    assert (record.created, repeated(record)) == (10, 1)
    assert not list(repeats.due(11))


def test_a_cause_that_was_silent_is_told_again_at_once() -> None:
    """And so is another cause, and each line that names none."""
    repeats = RepeatedLogs()
    assert [
        repeats.is_repeated(line(0, "a")),
        repeats.is_repeated(line(1, "a")),
        repeats.is_repeated(line(1, "b")),
    ] == [False, True, False]
    assert not repeats.is_repeated(line(2)) and not repeats.is_repeated(line(2))
    assert [repeated(record) for record in repeats.due(FIRST_PERIOD_SECONDS)] == [1]
    assert not list(repeats.due(3 * FIRST_PERIOD_SECONDS))
    assert not repeats.is_repeated(line(3 * FIRST_PERIOD_SECONDS, "a"))


def test_what_is_remembered_is_bounded_and_holds_no_objects() -> None:
    """A line's traceback and arguments are not kept alive, nor are causes without end."""
    repeats = RepeatedLogs()
    for i in range(2 * MAX_CAUSES):
        repeats.is_repeated(line(i / 1000, f"cause {i}", "%s", ValueError(i)))
    assert len(repeats._logged) == MAX_CAUSES
    assert all(
        told.line.args is None and told.line.exc_info is None for told in repeats._logged.values()
    )
    assert not list(repeats.due(MAX_PERIOD_SECONDS))
    assert not repeats._logged


def test_a_line_that_cannot_be_formatted_is_left_to_whom_writes_it() -> None:
    """It raises nothing where it is logged."""
    assert not RepeatedLogs().is_repeated(line(0, "a", "%s and %s", 1))


def test_a_bug_is_one_cause_whatever_it_says() -> None:
    """Also behind other errors; another place is another cause."""

    def failing(i: int, *, wrapped: bool) -> Exception:
        try:
            raise ValueError(f"object {i}")
        except ValueError as error:
            if not wrapped:
                return error
            try:
                raise RuntimeError from error
            except RuntimeError as outer:
                return outer

    causes = {once_per_bug(failing(i, wrapped=i % 2 == 0))["cause"] for i in range(4)}
    assert len(causes) == 1
    assert once_per_bug(KeyError("no traceback"))["cause"] not in causes
