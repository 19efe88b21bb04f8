"""What is started for which wishes."""

from __future__ import annotations

import time
from pathlib import Path

import pytest

from moorage.api.operator_config import load_config
from moorage.apps.demo import control_plane
from moorage.apps.demo.control_plane import ClusterOptions, OperatorProcess, settings_of
from moorage.apps.demo.processes import Processes
from moorage.apps.exit_status import WrongUse
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
        replica = OperatorProcess(processes, "moorage-0", processes.folder / "nowhere", {})
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


def test_a_configuration_is_the_users_but_for_what_the_demo_needs(tmp_path: Path) -> None:
    """How replicas elect, listen, log and record is the demo's; all of it is checked before."""
    file = tmp_path / "operator.yaml"
    file.write_text(
        "apiVersion: config.moorage.dev/v1alpha1\nkind: OperatorConfiguration\n"
        "controllerName: other\npodMaxBackoffSeconds: 77\nserving: {securePort: 1}\n"
    )
    settings = settings_of(file)
    with Processes() as processes:
        replica = OperatorProcess(processes, "moorage-0", processes.folder / "nowhere", settings)
        said = (processes.folder / "moorage-0.yaml").read_text()
        config = load_config(said, {}, {})
        assert config.pod_max_backoff_seconds == 77
        assert config.serving.secure_port == replica.port
        assert config.controller_name == "moorage"
        assert config.recording.directory.startswith(str(processes.folder))
        replica.kill()
    file.write_text("{podMaxBackoffSeconds: none}")
    with pytest.raises(WrongUse, match="podMaxBackoffSeconds"):
        settings_of(file)
    assert settings_of(None) == {}
