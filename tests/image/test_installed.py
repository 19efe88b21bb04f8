"""A release as people have it who take no image: the wheels, with the first page of the
documentation, and the plugin for kubectl.
"""

from __future__ import annotations

import contextlib
import os
import re
import shutil
import signal
import subprocess
import sys
import tarfile
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import NamedTuple

import pytest

from moorage.apps.demo.samples import NAMESPACE
from tests.rig.operators import ROOT, until
from tests.stories.pages import Command, steps
from tests.stories.test_stories import Reader
from tests.tools import assets


def test_the_first_page(moorage: Path, tmp_path: Path) -> None:
    """Each command of it does what it says, on the cluster of `moorage demo`, which has a profile
    of the page's name already.
    """
    kubectl = shutil.which("kubectl") or assets.folder() / "kubectl"
    if not Path(kubectl).exists():
        pytest.skip("NOT TESTED: there is no kubectl, and no Go to build it with")
    page = ROOT / "docs" / "tasks" / "get-started.md"
    text = page.read_text().replace("binpack created", "binpack configured")
    programs = tmp_path / "bin"
    programs.mkdir()
    (programs / "kubectl").symlink_to(kubectl)
    (programs / "moorage").symlink_to(moorage)
    with demo(moorage, tmp_path) as kubeconfig:
        reader = Reader(Cluster({"HOME": str(tmp_path)}, kubeconfig), programs, tmp_path, page.name)
        # Pods of the demo are in the way; its Deployments grow and shrink, unless somebody scales.
        clear = (
            "kubectl -n {0} scale deployment --all --replicas=0 && kubectl -n {0} delete pods --all"
        )
        reader.follow(Command(0, clear.format(NAMESPACE), ()))
        reader.follow(Command(0, f"kubectl -n {NAMESPACE} get pods", ("No resources found…",)))
        for step in steps(text):
            reader.do(step)


class Cluster(NamedTuple):
    """What a reader knows of a cluster."""

    environment: Mapping[str, str]
    kubeconfig: Path


@contextlib.contextmanager
def demo(moorage: Path, folder: Path) -> Iterator[Path]:
    """`moorage demo` as the page has it started; the kubeconfig that it names."""
    log = folder / "demo.log"
    command = [str(moorage), "demo", "--shape", str(ROOT / "docs" / "tasks" / "nodes.yaml")]
    environment = {"HOME": str(folder), "PATH": "/usr/bin:/bin", "TMPDIR": str(folder)}
    with log.open("wb") as out:
        process = subprocess.Popen(command, env=environment, stdout=out, stderr=out)
        try:
            found = until(lambda: re.search(r"export KUBECONFIG=(\S+)", log.read_text()), "demo")
            yield Path(found[1].strip("'\""))
        finally:
            process.send_signal(signal.SIGINT)
            assert process.wait(60) == 0, log.read_text()


def test_kubectl_finds_the_plugin(dist: Path, tmp_path: Path) -> None:
    """What krew unpacks installs itself at the first call, and no more at the second."""
    (archive,) = dist.glob("kubectl-moorage-*.tar.gz")
    with tarfile.open(archive) as packed:
        packed.extractall(tmp_path / "store", filter="data")
    program = tmp_path / "store" / "kubectl-moorage"
    pip = {name: value for name, value in os.environ.items() if name.startswith("PIP_")}
    given = {**pip, "HOME": str(tmp_path), "PATH": "/usr/bin:/bin", "PYTHON": sys.executable}
    calls = [
        subprocess.run(
            [program, "version"],
            env=given,
            capture_output=True,
            text=True,
            check=False,
            timeout=300,
        )
        for _ in range(2)
    ]
    first, second = calls
    assert first.returncode == 0, first.stderr
    assert "installing into" in first.stderr
    assert (second.stdout, second.stderr) == (first.stdout, "")
    assert not list((tmp_path / ".cache" / "moorage").glob("*.lock"))
