"""Every page of docs/tasks and every story of demand/, as its reader would follow it, on both sorts
of servers.
"""

from __future__ import annotations

import contextlib
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final

import pytest

from tests.rig import ControlPlane, DevRig
from tests.rig.clients import Client
from tests.rig.operators import ROOT, until
from tests.stories.pages import Command, File, left_out, missing, steps

DEMAND: Final = sorted(Path(__file__).with_name("demand").glob("*.md"))
PAGES: Final = sorted((ROOT / "docs" / "tasks").glob("*.md")) + DEMAND
PATIENCE_SECONDS: Final = 30
AGAIN_SECONDS: Final = 0.3
_OWN: Final = ("kube-system", "kube-public", "kube-node-lease", "moorage-system", "default")
_LEFT: Final = (
    "/apis/apps/v1/namespaces/default/deployments",
    "/apis/batch/v1/namespaces/default/jobs",
    "/api/v1/namespaces/default/pods",
    "/apis/moorage.dev/v1alpha1/schedulerprofiles",
    "/apis/moorage.dev/v1alpha1/pluginconfigs",
)


@pytest.fixture
def clean(cluster: ControlPlane) -> Iterator[ControlPlane]:
    """What a page leaves is removed for the next one."""
    yield cluster
    with contextlib.closing(Client(cluster)) as client:
        for path in _LEFT:
            client.request("DELETE", f"{path}?gracePeriodSeconds=0&propagationPolicy=Background")
        for namespace in client.get("/api/v1/namespaces")["items"]:
            if (name := namespace["metadata"]["name"]) not in _OWN:
                client.delete(f"/api/v1/namespaces/{name}")
        pods = "/api/v1/pods?fieldSelector=metadata.namespace!=moorage-system"
        until(lambda: not client.get(pods)["items"], "pods of a story are gone")


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_story(page: Path, clean: ControlPlane, programs: Path, tmp_path: Path) -> None:
    """Each command does what the page says."""
    text = page.read_text(encoding="utf-8")
    if reason := left_out(text, embedded=isinstance(clean, DevRig)):
        pytest.skip(reason)
    reader = Reader(clean, programs, tmp_path)
    for step in steps(text):
        match step:
            case File(_, name, text):
                (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
                (tmp_path / name).write_text(text, encoding="utf-8")
            case Command():
                reader.follow(step, page)


def test_every_demand_has_its_story() -> None:
    """One each, by the numbers 1 to 40."""
    assert [int(page.name[:2]) for page in DEMAND] == list(range(1, 41))


class Reader:
    """Somebody with a terminal in a folder of their own."""

    def __init__(self, cluster: ControlPlane, programs: Path, folder: Path) -> None:
        self._folder = folder
        self._environment: dict[str, Any] = {
            **cluster.environment,
            "PATH": f"{programs}:/usr/bin:/bin",
            "KUBECONFIG": str(cluster.kubeconfig),
        }

    def follow(self, command: Command, page: Path) -> None:
        """Type it; again while it prints something else than the page says."""
        deadline = time.monotonic() + PATIENCE_SECONDS
        while True:
            status, printed = self._type(command.text)
            lacking = missing(command.printed, printed)
            good = lacking is None and status == command.status
            if good or time.monotonic() > deadline:
                break
            time.sleep(AGAIN_SECONDS)
        where = f"{page.name}:{command.line}: {command.text}"
        assert good, (
            f"{where}\nlacks: {lacking!r}\nexit status {status}, not {command.status}\n{printed}"
        )

    def _type(self, text: str) -> tuple[int, str]:
        done = subprocess.run(
            ["bash", "-c", f"set -o pipefail; {text}"],
            cwd=self._folder,
            env=self._environment,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            stdin=subprocess.DEVNULL,
            text=True,
            check=False,
            timeout=120,
        )
        return done.returncode, done.stdout
