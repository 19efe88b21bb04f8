"""The watchdog: it tells one call that hangs from many that do not, ends the process, and writes
down which plugin it was.
"""

from __future__ import annotations

import asyncio
import json
import signal
import subprocess
import sys
import time
from typing import Any

import pytest

from moorage.apps.run import watchdog
from moorage.apps.run.quarantine_writer import add
from moorage.apps.run.watchdog import CallMarks, PluginGuard
from moorage.core.framework.guard import PluginFault
from moorage.ports import quarantine_record
from moorage.ports.errors import Conflict, NotFound
from moorage.ports.http_calls import HttpCall

# A third of a second is stuck. Each argument is done by a watched process of its own; what became
# of it is printed.
PROGRAM = """
import json, os, re, signal, sys, time
from moorage.apps.run import watchdog

watchdog.MAX_CALL_SECONDS, watchdog.POLL_SECONDS = 0.3, 0.02

def operate(what, marks):
    guard = watchdog.PluginGuard("P", "1.0", marks, lambda plugin, point: None)
    exec(what)
    os._exit(7)

for what in sys.argv[1:]:
    recorded = []
    status = watchdog.run_watched(
        lambda marks: operate(what, marks), lambda *plugin: recorded.append(plugin), "text"
    )
    sys.stderr.flush()
    print(json.dumps([status, recorded]), flush=True)
    print("----", file=sys.stderr, flush=True)
"""
HANGS = {
    "a loop": "guard.enter('filter')\nwhile True: pass",
    "a wait": "guard.enter('filter')\ntime.sleep(60)",
    "code that never gives the interpreter back": (
        "guard.enter('filter')\nre.match('(a+)+$', 'a' * 64 + 'b')"
    ),
    "a call after many": (
        "for _ in range(9): guard.enter('score'); "
        "guard.leave()\nguard.enter('filter')\ntime.sleep(60)"
    ),
}
GOES_ON = {
    "nothing": ("", 7),
    "slow, but not in a plugin": ("time.sleep(0.6)", 7),
    "after a call": ("guard.enter('filter'); guard.leave(); time.sleep(0.6)", 7),
    "many calls": ("for _ in range(12): guard.enter('filter'); time.sleep(0.05); guard.leave()", 7),
    "calls in a call": (
        (
            "guard.enter('postFilter')\nfor _ in range(12): guard.enter('filter'); "
            "time.sleep(0.05); guard.leave()"
        ),
        7,
    ),
    "its own end": ("os._exit(5)", 5),
    "killed": ("os.kill(os.getpid(), 9)", 137),
}
Ended = tuple[int, list[list[str]], str]
"""Exit status, what was recorded, and the log."""


@pytest.fixture(scope="module")
def ends() -> dict[str, Ended]:
    """What became of each, one after another in one program: starting a program is what takes time
    here.
    """
    todo = {**HANGS, **{name: what for name, (what, _) in GOES_ON.items()}}
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM, *todo.values()],
        capture_output=True,
        text=True,
        timeout=60,
        check=True,
    )
    answers = [json.loads(line) for line in done.stdout.splitlines()]
    return {
        name: (*answer, said)
        for name, answer, said in zip(todo, answers, done.stderr.split("----\n"), strict=False)
    }


@pytest.mark.parametrize("name", HANGS)
def test_a_call_that_hangs(ends: dict[str, Ended], name: str) -> None:
    """The stacks are in the log, plugin and version are recorded, and the exit status is its
    own.
    """
    status, recorded, said = ends[name]
    assert (status, recorded) == (watchdog.HUNG_EXIT_STATUS, [["P", "1.0"]])
    assert "Fatal Python error: Aborted" in said
    assert 'File "<string>", line' in said
    assert "plugin=P version=1.0 point=filter" in said


@pytest.mark.parametrize("name", GOES_ON)
def test_what_does_not_hang(ends: dict[str, Ended], name: str) -> None:
    """Its exit status is passed on, and nothing is recorded."""
    assert ends[name][:2] == (GOES_ON[name][1], [])


def start(what: str) -> subprocess.Popen[str]:
    """A program that does this, watched, once it has begun to."""
    what = f"print('ready', flush=True)\n{what}"
    process = subprocess.Popen(
        [sys.executable, "-c", PROGRAM, what],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    assert process.stdout is not None
    assert process.stdout.readline() == "ready\n"
    return process


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT, signal.SIGUSR2])
def test_signals_are_passed_on(number: signal.Signals) -> None:
    """Whoever ends the process that was started ends the operator in it, in its own order."""
    what = (
        f"signal.signal({number}, lambda *_: os._exit(9))\nprint('set', flush=True)\ntime.sleep(30)"
    )
    process = start(what)
    assert process.stdout is not None
    assert process.stdout.readline() == "set\n"
    process.send_signal(number)
    out, _ = process.communicate(timeout=10)
    assert out == "[9, []]\n"


def test_it_does_not_outlive_the_watchdog() -> None:
    """Nobody would look after it, and there would be two operators once another is started."""
    process = start("print(os.getpid(), flush=True)\ntime.sleep(30)")
    assert process.stdout is not None
    child = int(process.stdout.readline())
    process.kill()
    process.communicate(timeout=10)
    until = time.monotonic() + 5
    while time.monotonic() < until and _runs(child):
        time.sleep(0.02)
    assert not _runs(child)


def _runs(pid: int) -> bool:
    try:
        with open(f"/proc/{pid}/stat") as stat:  # noqa: PTH123 - no file
            return stat.read().rpartition(")")[2].split()[0] != "Z"
    except (FileNotFoundError, ProcessLookupError):
        return False


def test_marks() -> None:
    """Calls in calls; no two have the same number, and the outer one has its own again when the
    inner one ends.
    """
    marks = CallMarks()
    outer, inner = (
        PluginGuard("Outer", "1", marks, lambda *_: None),
        PluginGuard("Inner", "2", marks, lambda *_: None),
    )
    assert marks.current()[0] == 0
    outer.enter("postFilter")
    first = marks.current()
    assert json.loads(first[1]) == ["Outer", "1", "postFilter"]
    inner.enter("filter")
    second = marks.current()
    assert json.loads(second[1]) == ["Inner", "2", "filter"]
    inner.leave()
    assert marks.current() == first
    outer.leave()
    inner.enter("filter")
    assert len({0, first[0], second[0], marks.current()[0]}) == 4
    inner.leave()
    assert marks.current()[0] == 0


def test_a_mark_costs_next_to_nothing() -> None:
    """It is set around every call of a plugin from outside the tree: a few microseconds at most, on
    a busy machine too.
    """
    marks = CallMarks()
    guard = PluginGuard("P", "1", marks, lambda *_: None)
    best = 1.0
    for _ in range(5):
        began = time.perf_counter()
        for _ in range(1000):
            guard.enter("filter")
            guard.leave()
        best = min(best, (time.perf_counter() - began) / 1000)
    assert best < 10e-6


def test_faults_are_counted() -> None:
    """By plugin and point."""
    counted: list[tuple[str, str]] = []
    guard = PluginGuard(
        "P", "1", CallMarks(), lambda plugin, point: counted.append((plugin, point))
    )
    guard.record(PluginFault(guard, "filter", "x"))
    assert counted == [("P", "filter")]


# ---- the record ----------------------------------------------------------------------------------


class OneLease:
    """``ports.http_calls.HttpSession`` to an API server with at most one Lease."""

    def __init__(self, annotations: dict[str, str] | None) -> None:
        self.lease: dict[str, Any] | None = None
        if annotations is not None:
            self.lease = {
                "metadata": {"name": "l", "resourceVersion": "5", "annotations": annotations},
                "spec": {"holderIdentity": "me"},
            }

    async def call(self, call: HttpCall) -> bytes:
        """Get, make or patch it."""
        path = "/apis/coordination.k8s.io/v1/namespaces/ns/leases"
        assert call.path == (path if call.method == "POST" else f"{path}/l")
        if call.method == "POST":
            if self.lease is not None:
                raise Conflict("POST", 409)
            self.lease = json.loads(call.body or b"")
        elif self.lease is None:
            raise NotFound("GET", 404)
        elif call.method == "PATCH":
            metadata = json.loads(call.body or b"")["metadata"]
            if metadata["resourceVersion"] != self.lease["metadata"]["resourceVersion"]:
                raise Conflict("PATCH", 409)
            self.lease["metadata"]["annotations"] = {
                **self.lease["metadata"]["annotations"],
                **metadata["annotations"],
            }
        return json.dumps(self.lease).encode()

    def stream(self, path: str) -> Any:
        """Nobody watches."""
        raise AssertionError(path)


@pytest.mark.parametrize(
    ("annotations", "want"),
    [
        pytest.param(None, {"P": "1.0"}, id="no Lease"),
        pytest.param({}, {"P": "1.0"}, id="nothing yet"),
        pytest.param({"a": "b"}, {"P": "1.0"}, id="something else"),
        pytest.param(
            {quarantine_record.QUARANTINE_ANNOTATION: '{"Q": "2", "P": "0.9"}'},
            {"P": "1.0", "Q": "2"},
            id="others, and an older version",
        ),
        pytest.param(
            {quarantine_record.QUARANTINE_ANNOTATION: "nonsense"}, {"P": "1.0"}, id="nonsense"
        ),
    ],
)
def test_the_record(annotations: dict[str, str] | None, want: dict[str, str]) -> None:
    """Is added to, and leaves alone what is not its own."""
    session = OneLease(annotations)
    asyncio.run(add(session, "ns", "l", {"P": "1.0"}))
    assert session.lease is not None
    found = session.lease["metadata"]["annotations"]
    assert quarantine_record.parse_annotations(found) == want
    assert {
        name: value
        for name, value in found.items()
        if name != quarantine_record.QUARANTINE_ANNOTATION
    } == {
        name: value
        for name, value in (annotations or {}).items()
        if name != quarantine_record.QUARANTINE_ANNOTATION
    }


@pytest.mark.parametrize("text", ["", "nonsense", "[]", "5", "null"])
def test_a_record_that_is_none(text: str) -> None:
    """Quarantines nobody."""
    assert (
        quarantine_record.parse_annotations({quarantine_record.QUARANTINE_ANNOTATION: text}) == {}
    )
