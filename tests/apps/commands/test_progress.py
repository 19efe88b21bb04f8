"""Progress: on a terminal whoever waits for more than a second sees for what, and nothing is left
of it.
"""

from __future__ import annotations

import os
import pty
import socket
import subprocess
import sys
from pathlib import Path
from typing import Final

import pytest

from tests.apps.commands.unreachable import kubeconfig

SECONDS: Final = 60


@pytest.mark.parametrize(("term", "shown"), [("xterm", True), ("dumb", False)])
def test_who_waits_for_a_cluster_sees_it(tmp_path: Path, term: str, shown: bool) -> None:
    """One that accepts and says nothing; the line is wiped before the one that says so."""
    ours, its = pty.openpty()
    with socket.create_server(("127.0.0.1", 0)) as silent:
        url = f"http://127.0.0.1:{silent.getsockname()[1]}"
        done = subprocess.run(
            [sys.executable, "-I", "-m", "moorage", "status"],
            check=False,
            stdout=subprocess.PIPE,
            stderr=its,
            env={**os.environ, "TERM": term, "KUBECONFIG": str(kubeconfig(tmp_path / "k", url))},
            timeout=SECONDS,
        )
    os.close(its)
    told = os.read(ours, 65_536).decode()
    os.close(ours)
    assert (done.returncode, done.stdout) == (3, b"")
    assert (f"Asking {url}" in told) is shown
    assert told.rpartition("\x1b[K")[2].startswith("moorage: no answer from ")
