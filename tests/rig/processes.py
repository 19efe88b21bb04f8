"""Child processes that cannot outlive their parent, and ports for them."""

import contextlib
import os
import secrets
import signal
import socket
import subprocess
import sys
import time
import unittest
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Final

# Runs in the child: ask the kernel for SIGKILL when the parent goes away, then become the command.
# A preexec_fn would do the same, but it isn't safe (and warns) once the parent has threads. 1 is
# PR_SET_PDEATHSIG of prctl(2).
_LEASH: Final = """
import ctypes, os, signal, sys
ctypes.CDLL(None).prctl(1, signal.SIGKILL)
if os.getppid() != int(sys.argv[1]):
    os._exit(1)
os.execv(sys.argv[2], sys.argv[2:])
"""


class RigError(Exception):
    """A part of the rig failed; the message carries what that part printed."""


class NoKubectl(RigError, unittest.SkipTest):
    """There is no kubectl here; pytest takes it for a test that is skipped."""


class Child:
    """A running command, its output in a file. It is killed when the thread that started it
    ends.
    """

    def __init__(
        self,
        command: Sequence[str | Path],
        log: Path,
        env: Mapping[str, str] | None = None,
        *,
        ends_with_input: bool = False,
    ) -> None:
        """Start `command` (its first word is a path); output is added to `log`, `env` replaces the
        environment.

        A command that `ends_with_input` gets an input that stays open and says nothing; others get
        none.
        """
        self.name: Final = Path(command[0]).name
        self.log: Final = log
        leash = [sys.executable, "-I", "-S", "-c", _LEASH, str(os.getpid())]
        with log.open("ab") as output:
            self._process = subprocess.Popen(
                [*leash, *map(str, command)],
                stdin=subprocess.PIPE if ends_with_input else subprocess.DEVNULL,
                stdout=output,
                stderr=output,
                env=env,
                # Ctrl-C in a terminal is the parent's to handle; it ends its children in the order
                # it wants.
                start_new_session=True,
            )

    @property
    def pid(self) -> int:
        """The process id."""
        return self._process.pid

    def send(self, number: signal.Signals) -> None:
        """Send a signal."""
        self._process.send_signal(number)

    def require_alive(self) -> None:
        """Raise RigError with the end of the log when the command has ended."""
        code = self._process.poll()
        if code is not None:
            raise RigError(
                f"{self.name} ended with {code}:\n{self.log.read_text(errors='replace')[-3000:]}"
            )

    def stop(self, grace: float = 0) -> int:
        """End the command: SIGTERM and up to `grace` seconds, then SIGKILL. Returns its exit
        code.
        """
        if self._process.poll() is None:
            if grace:
                # A stopped process would not see SIGTERM.
                self.send(signal.SIGCONT)
                self.send(signal.SIGTERM)
                with contextlib.suppress(subprocess.TimeoutExpired):
                    return self._process.wait(grace)
            self._process.kill()
        if self._process.stdin:
            self._process.stdin.close()
        return self._process.wait()


def wait_until(
    ready: Callable[[], bool], children: Sequence[Child], what: str, seconds: float = 60
) -> None:
    """Wait for `ready()`. Raises RigError when one of `children` ends, or with `what` when time is
    up.
    """
    deadline = time.monotonic() + seconds
    while not ready():
        for child in children:
            child.require_alive()
        if time.monotonic() > deadline:
            logs = "\n".join(
                f"{child.name}:\n{child.log.read_text(errors='replace')[-1500:]}"
                for child in children
            )
            raise RigError(f"{what} took more than {seconds:.0f} s\n{logs}")
        time.sleep(0.05)


def free_ports(count: int) -> list[int]:
    """Free loopback ports below the range the kernel hands out, so no client takes one while its
    server restarts.
    """
    with contextlib.ExitStack() as held:
        ports: list[int] = []
        while len(ports) < count:
            port = 20000 + secrets.randbelow(12768)
            probe = held.enter_context(socket.socket())
            with contextlib.suppress(OSError):
                probe.bind(("127.0.0.1", port))
                ports.append(port)
        return ports
