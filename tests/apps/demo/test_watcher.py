"""Reading a replica's log while it grows."""

from __future__ import annotations

import datetime
import json
from pathlib import Path

from moorage.apps.demo.watcher import MAX_DECISIONS_KEPT, LogTail

DECIDED = {
    "ts": "2026-01-02T03:04:05.678Z",
    "msg": "decided",
    "pod": "demo/p",
    "profile": "x",
    "revision": "r",
    "node": "n",
}
SWAPPED = {"ts": "2026-01-02T03:04:05.678Z", "msg": "swapped", "profile": "x", "revision": "r"}


def test_tail(tmp_path: Path) -> None:
    """No file, a half line, its rest, other lines, and more than are kept."""
    log = tmp_path / "log"
    tail = LogTail(log)
    tail.read()
    line = json.dumps(DECIDED)
    log.write_text("Traceback\n" + line[:20])
    tail.read()
    assert not tail.decisions
    with log.open("a") as more:
        more.write(f"{line[20:]}\n{json.dumps(SWAPPED)}\n")
    tail.read()
    tail.read()
    assert [decision.pod for decision in tail.decisions] == ["demo/p"]
    assert list(tail.swaps) == ["r"]
    with log.open("a") as more:
        more.write(f"{line}\n" * 2 * MAX_DECISIONS_KEPT)
    tail.read()
    assert len(tail.decisions) == MAX_DECISIONS_KEPT


def test_how_many_were_placed(tmp_path: Path) -> None:
    """Since a moment: those that found no node do not count, and more than are kept do."""
    log = tmp_path / "log"
    late = {**DECIDED, "ts": "2026-01-02T03:04:15Z"}
    lines = [DECIDED, {**DECIDED, "node": ""}, *[late] * 2 * MAX_DECISIONS_KEPT]
    log.write_text("".join(f"{json.dumps(line)}\n" for line in lines))
    tail = LogTail(log)
    tail.read()
    begin = datetime.datetime(2026, 1, 2, 3, 4, 5, tzinfo=datetime.UTC)
    assert tail.placed_since(begin) == 2 * MAX_DECISIONS_KEPT + 1
    assert tail.placed_since(begin + datetime.timedelta(seconds=5)) == 2 * MAX_DECISIONS_KEPT
    assert tail.placed_since(begin + datetime.timedelta(seconds=20)) == 0
