"""The demo's processes end with it, however it ends."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from moorage.apps.demo.processes import Processes, ProcessFailed
from tests.rig.operators import until

PYTHON = [sys.executable, "-I", "-S", "-c"]
SLEEPER = [*PYTHON, "import time; print('up', flush=True); time.sleep(600)"]
LISTENER = (
    "import pathlib, sys; print('up', flush=True); sys.stdin.read(); "
    "pathlib.Path(sys.argv[1]).touch()"
)


def runs(pid: int) -> bool:
    """Whether there is such a process that is not a zombie."""
    try:
        return "State:\tZ" not in Path(f"/proc/{pid}/status").read_text()
    except OSError:
        return False


def test_the_end() -> None:
    """Processes and folder are gone."""
    with Processes() as processes:
        child = processes.start(SLEEPER, "sleeper")
        assert child.first_line() == "up\n"
        assert not child.ended
        assert processes.folder.is_dir()
    assert not runs(child.pid)
    assert not processes.folder.exists()


def test_grace(tmp_path: Path) -> None:
    """Who has time to end by itself is not killed before."""
    with Processes() as processes:
        processes.start(
            [*PYTHON, LISTENER, str(tmp_path / "heard")], "listener", grace=20
        ).first_line()
    assert (tmp_path / "heard").exists()


def test_failure() -> None:
    """What a process said last is told."""
    with Processes() as processes, pytest.raises(ProcessFailed, match="no luck"):
        processes.start([*PYTHON, "import sys; sys.exit('no luck')"], "unlucky").first_line()


def test_sigkill() -> None:
    """Nobody is left to clean up but the guard; what has ended before is not its concern."""
    program = f"""
import time
from moorage.apps.demo.processes import Processes
processes = Processes()
gone, left = (processes.start({SLEEPER!r}, name) for name in ("gone", "left"))
left.first_line()
processes.reap(gone)
print(left.pid, processes.folder, flush=True)
time.sleep(600)
"""
    with subprocess.Popen(
        [sys.executable, "-c", program], stdout=subprocess.PIPE, text=True
    ) as parent:
        assert parent.stdout is not None
        pid, folder = parent.stdout.readline().split()
        assert runs(int(pid))
        os.kill(parent.pid, signal.SIGKILL)
    until(lambda: not runs(int(pid)) and not Path(folder).exists(), "the guard's work", 20)
