"""The demo's processes, and that nothing of them outlives it."""

from __future__ import annotations

import contextlib
import os
import socket
import subprocess
import sys
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path
from types import TracebackType
from typing import Self

_GUARD = """
import os, shutil, signal, sys
alive = set()
for line in sys.stdin:
    change, pid = line.split()
    (alive.add if change == "+" else alive.discard)(int(pid))
for pid in alive:
    try:
        os.kill(pid, signal.SIGKILL)
    except ProcessLookupError:
        pass
shutil.rmtree(sys.argv[1], ignore_errors=True)
"""
"""Is told of each process that starts (+) or has ended (-). When its input closes, the demo has
ended, however that happened.
"""


class ProcessFailed(Exception):
    """A process of the demo ended, or did not become ready; the text holds the end of its log."""


class Processes:
    """A temporary folder and the processes that work in it; a context manager that ends all of them
    and removes the folder.
    """

    def __init__(self) -> None:
        # Its end removes the folder; where that is prevented the guard does.
        self._home = tempfile.TemporaryDirectory(prefix="moorage-demo-", ignore_cleanup_errors=True)
        self.folder = Path(self._home.name)
        self._children: list[Child] = []
        self._guard = subprocess.Popen(
            [sys.executable, "-I", "-S", "-c", _GUARD, str(self.folder)],
            stdin=subprocess.PIPE,
            text=True,
            start_new_session=True,
        )

    def start(
        self,
        command: Sequence[str],
        name: str,
        environment: Mapping[str, str] | None = None,
        *,
        grace: float = 0.0,
    ) -> Child:
        """Start a process; what it writes to standard error is added to NAME.log. ``grace``:
        seconds it has to end by itself.
        """
        log, own = self.folder / f"{name}.log", self._environment()
        child = Child(command, log, {**own, **(environment or {})}, grace)
        self._children.append(child)
        self._tell("+", child)
        return child

    def _environment(self) -> Mapping[str, str]:
        """Temporary files of our processes go where ours are. The user's own settings of an
        operator are not the demo's.
        """
        ours = {"TMPDIR": str(self.folder)}
        others = os.environ.items()
        return {key: value for key, value in others if not key.startswith("MOORAGE_CFG_")} | ours

    def reap(self, child: Child) -> None:
        """Forget a process that has ended: its id may become another's."""
        child.stop()
        self._children.remove(child)
        self._tell("-", child)

    def close(self) -> None:
        """End all processes and remove the folder."""
        for child in reversed(self._children[:]):
            self.reap(child)
        self._home.cleanup()
        if self._guard.stdin is not None:
            with contextlib.suppress(OSError):
                self._guard.stdin.close()
        self._guard.wait()

    def _tell(self, change: str, child: Child) -> None:
        if self._guard.stdin is not None:
            # somebody ended the guard: then only an end as it should be cleans up
            with contextlib.suppress(OSError):
                self._guard.stdin.write(f"{change} {child.pid}\n")
                self._guard.stdin.flush()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()


class Child:
    """A running command. Its standard input stays open until it is stopped, and closes when this
    process ends.

    When it is stopped it may end by itself for ``grace`` seconds.
    """

    def __init__(
        self, command: Sequence[str], log: Path, environment: Mapping[str, str], grace: float
    ) -> None:
        self.log = log
        self._grace = grace
        with log.open("ab") as output:
            self._process = subprocess.Popen(
                list(command),
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=output,
                env=environment,
                text=True,
                # Ctrl-C in a terminal is ours to handle.
                start_new_session=True,
            )

    @property
    def pid(self) -> int:
        return self._process.pid

    @property
    def ended(self) -> bool:
        """Whether it runs no more."""
        return self._process.poll() is not None

    def first_line(self) -> str:
        """Wait for its first line on standard output. Raises ProcessFailed when it ends before."""
        if self._process.stdout and (line := self._process.stdout.readline()):
            return line
        raise ProcessFailed(self.last_words() or f"it ended with {self._process.wait()}")

    def last_words(self) -> str:
        """The end of its log."""
        return self.log.read_text(encoding="utf-8", errors="replace")[-3000:].strip()

    def stop(self) -> None:
        """End it; returns when it is gone."""
        for stream in (self._process.stdin, self._process.stdout):
            if stream is not None:
                with contextlib.suppress(OSError):
                    stream.close()
        if self._grace:
            with contextlib.suppress(subprocess.TimeoutExpired):
                self._process.wait(self._grace)
        self._process.kill()
        self._process.wait()


def free_port() -> int:
    """A port of loopback that is free at the moment."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])
