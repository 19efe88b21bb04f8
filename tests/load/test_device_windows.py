"""From when to when pods with devices count as written: ``tests.bench.device_windows``."""

import asyncio
import json
import os
from pathlib import Path

import pytest

from tests.bench.device_windows import OTHERS, Window, WriteLog

PIDS = {"itself": os.getpid()}


def line(
    received: float, answered: float, verb: str, target: str, name: str = "a", code: int = 200
) -> str:
    """An event of an audit log, at seconds of a minute; ``target``: resource/subresource."""
    resource, _, subresource = target.partition("/")
    event = {
        "stage": "ResponseComplete",
        "verb": verb,
        "user": {"username": "someone"},
        "requestReceivedTimestamp": f"2026-01-01T00:00:{received:09.6f}Z",
        "stageTimestamp": f"2026-01-01T00:00:{answered:09.6f}Z",
        "requestURI": "/",
        "objectRef": {"resource": resource, "subresource": subresource, "name": name},
        "responseStatus": {"code": code},
    }
    return json.dumps(event) + "\n"


BEFORE = (
    line(1, 2, "get", "pods"),
    line(1, 2, "watch", "resourceclaims"),
    line(1, 2, "patch", "schedulerprofiles/status"),
    line(1, 2, "create", "events"),
    line(1, 2, "patch", "resourceclaims", code=409),
)
AFTER = (line(21, 22, "create", "events"), line(21, 22, "patch", "pods/status"))


@pytest.mark.parametrize(
    "first",
    [
        line(10, 14, "patch", "resourceclaims"),
        line(10, 14, "update", "resourceclaims/status"),
        line(10, 14, "create", "resourceclaims", code=201),
        line(10, 14, "patch", "pods/status"),
        line(10, 14, "create", "pods/binding", "c", 409) + line(10, 14, "patch", "resourceclaims"),
    ],
)
def test_from_the_first_write_received_to_the_last_binding_answered(
    tmp_path: Path, first: str
) -> None:
    """Lines come as requests end, so the first to be received is not the first line."""
    log = tmp_path / "audit.log"
    log.write_text(line(0, 1, "patch", "resourceclaims") + line(0, 1, "create", "pods/binding"))
    writes = WriteLog(log)  # from here on
    later = line(11, 12, "patch", "resourceclaims")
    bound = (
        line(13, 20, "create", "pods/binding", "a", 201),
        line(14, 16, "create", "pods/binding", "b", 201),
    )
    with log.open("a") as file:
        file.writelines((*BEFORE, later, first, *bound, *AFTER, '{"stage": "Resp'))
    window = asyncio.run(writes.window(2, PIDS, lambda: None))
    assert window.rate == pytest.approx(2 / (20 - 10))
    assert set(window.cost) == {"itself", OTHERS}


def test_what_is_still_being_written_counts_when_it_is_there(tmp_path: Path) -> None:
    log = tmp_path / "audit.log"
    log.touch()
    writes = WriteLog(log)
    whole = line(1, 2, "patch", "resourceclaims") + line(3, 5, "create", "pods/binding")
    left = iter([whole[:50], whole[50:-3], whole[-3:]])

    def write_on() -> None:
        with log.open("a") as file:
            file.write(next(left))

    window: Window = asyncio.run(writes.window(1, PIDS, write_on))
    assert window.rate == pytest.approx(1 / 4)


def test_one_that_ended_is_told(tmp_path: Path) -> None:
    log = tmp_path / "audit.log"
    log.touch()

    def ended() -> None:
        raise RuntimeError("floor ended with 1")

    with pytest.raises(RuntimeError, match="floor ended"):
        asyncio.run(WriteLog(log).window(1, PIDS, ended))
