"""README's two commands, as they stand there, in a clone, with Python, Git and a package index."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
from pathlib import Path
from typing import Final

import pytest

from tests.image.roots import inherited
from tests.rig.operators import ROOT, until

SECONDS_TO_INSTALL: Final = 300
SECONDS_OF_SUITES: Final = 2400


@pytest.fixture(scope="module")
def clone(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """What has been committed, and nothing else."""
    folder = tmp_path_factory.mktemp("fresh")
    subprocess.run(["git", "clone", "--quiet", ROOT, folder / "moorage"], check=True)
    return folder / "moorage"


@pytest.fixture(scope="module")
def environment(clone: Path) -> dict[str, str]:
    """A user's who has set nothing up."""
    (home := clone.with_name("home")).mkdir()
    python = Path(sys.base_prefix) / "bin"
    return {"HOME": str(home), "PATH": f"{python}:/usr/bin:/bin", **inherited()}


@pytest.fixture(scope="module")
def commands() -> list[str]:
    """Those under "Try it", in their order."""
    text = (ROOT / "README.md").read_text(encoding="utf-8")
    part = text.partition("## Try it")[2].partition("\n## ")[0]
    found = re.findall(r"^```sh\n(.*?)^```", part, re.MULTILINE | re.DOTALL)
    assert len(found) == 2
    return found


def test_the_demo(clone: Path, environment: dict[str, str], commands: list[str]) -> None:
    """It comes up, and Ctrl-C ends it."""
    printed = clone.with_name("demo.txt")
    with printed.open("w") as output:
        process = subprocess.Popen(
            ["bash", "-c", commands[0]],
            cwd=clone,
            env=environment,
            stdout=output,
            stderr=subprocess.STDOUT,
            start_new_session=True,
        )
    try:

        def ready() -> bool:
            assert process.poll() is None, printed.read_text()
            return "Ready after " in printed.read_text()

        until(ready, "the demo", SECONDS_TO_INSTALL)
    finally:
        os.killpg(process.pid, signal.SIGINT)  # as a terminal does
    assert process.wait(30) in (0, 130)


def test_the_suites(clone: Path, environment: dict[str, str], commands: list[str]) -> None:
    """All pass that need Python alone."""
    done = subprocess.run(
        ["bash", "-c", commands[1]],
        cwd=clone,
        env=environment,
        capture_output=True,
        text=True,
        check=False,
        timeout=SECONDS_OF_SUITES,
    )
    assert done.returncode == 0, done.stdout[-6000:]
