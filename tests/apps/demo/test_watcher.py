"""Reading a replica's log while it grows."""

from __future__ import annotations

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
