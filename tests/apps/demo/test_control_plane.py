"""What is started for which wishes."""

from __future__ import annotations

import time
from pathlib import Path

import pytest

from moorage.apps.demo import control_plane
from moorage.apps.demo.control_plane import ClusterOptions, OperatorProcess
from moorage.apps.demo.processes import Processes
from tests.rig.operators import until


@pytest.mark.parametrize(
    ("wanted", "words"),
    [
        (ClusterOptions(20, 3), ["-I", "-m", "towtank", "--nodes=20", "--zones=3"]),
        (
            ClusterOptions(6, 3, Path("/x/nodes.yaml"), 6443),
            ["-I", "-m", "towtank", "--shape=/x/nodes.yaml", "--port=6443"],
        ),
    ],
)
def test_command(wanted: ClusterOptions, words: list[str]) -> None:
    """The embedded cluster's own words."""
    assert wanted.command()[1:] == words


def test_a_dead_replica_comes_back(monkeypatch: pytest.MonkeyPatch) -> None:
    """But not at once. This one dies by itself: its kubeconfig is not there."""
    monkeypatch.setattr(control_plane, "RESTART_SECONDS", 0.2)
    with Processes() as processes:
        replica = OperatorProcess(processes, "moorage-0", processes.folder / "nowhere")
        first = replica.pid

        def looked_after() -> int | None:
            replica.look_after()
            return replica.pid

        until(lambda: looked_after() is None, "its death to be noticed", 20)
        died = time.monotonic()
        until(lambda: looked_after() not in (None, first), "its return", 20)
        assert time.monotonic() - died >= 0.1
        replica.kill()
        assert replica.pid is None
        assert "no such file" in replica.log.read_text()
