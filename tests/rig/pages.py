"""`moorage ui` on a rig."""

from __future__ import annotations

import contextlib
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

from tests.rig.operators import ROOT


@contextlib.contextmanager
def shown_page(kubeconfig: Path) -> Iterator[str]:
    """The address that opens the page, as long as this is open; Ctrl-C ends it well."""
    command = [sys.executable, "-I", "-m", "moorage", "ui", "--no-browser"]
    with subprocess.Popen(
        [*command, "--kubeconfig", str(kubeconfig)],
        cwd=ROOT,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    ) as process:
        try:
            assert process.stdout is not None
            printed = process.stdout.readline()
            assert " is shown at http://127.0.0.1:" in printed, printed
            yield printed.split()[-1]
            process.send_signal(signal.SIGINT)
            rest = process.communicate(timeout=30)[0]
            assert (process.returncode, "Traceback" in rest) == (0, False), rest
        finally:
            process.kill()
