"""The resolver of a command: as the operator with that configuration resolves."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from moorage.apps.exit_status import WrongUse
from moorage.apps.explain import explain
from moorage.apps.explain.explain import ExplainOptions
from moorage.apps.fit import workload_fits
from moorage.apps.fit.workload_fits import FitOptions
from moorage.apps.plugin_resolver import resolver_of
from moorage.apps.simulate import simulate
from moorage.apps.simulate.simulate import SimulateOptions
from moorage.apps.worlds.cluster_choice import ClusterChoice
from moorage.apps.worlds.deciding import default_profile

HEAD = "apiVersion: config.moorage.dev/v1alpha1\nkind: OperatorConfiguration\n"


def test_the_operators_values_count(tmp_path: Path) -> None:
    """Its percentage, say; without a file they are the defaults."""
    file = tmp_path / "config.yaml"
    file.write_text(f"{HEAD}percentageOfNodesToScore: 50\n")
    found = [default_profile(resolver_of(one)).revision for one in (None, file)]
    assert [revision.percentage_of_nodes_to_score for revision in found] == [100, 50]


@pytest.mark.parametrize(
    ("text", "want"),
    [
        (f"{HEAD}percentageOfNodesToScore: 500\n", "percentageOfNodesToScore: 500"),
        (f"{HEAD}plugins: {{packages: [nowhere]}}\n", "nowhere"),
        (None, "No such file"),
    ],
)
def test_what_cannot_be_used_is_wrong_use(tmp_path: Path, text: str | None, want: str) -> None:
    """Each fault in a line of its own."""
    file = tmp_path / "config.yaml"
    if text is not None:
        file.write_text(text)
    with pytest.raises(WrongUse, match=want):
        resolver_of(file)


PACKAGE = """
import dataclasses
from typing import ClassVar
from moorage.plugin_api import *

@dataclasses.dataclass(frozen=True)
class Closed:
    name: ClassVar[str] = "Closed"
    events_to_register: ClassVar = ()
    def filter_node(self, pod, node):
        return "it is closed"

def plugins():
    return [PluginRegistration(PluginSpec("Closed", Closed))]
"""
PROFILE = {
    "apiVersion": "moorage.dev/v1alpha1",
    "kind": "SchedulerProfile",
    "metadata": {"name": "strange"},
    "spec": {"plugins": {"multiPoint": {"enabled": [{"name": "Closed"}]}}},
}
NODE = {
    "apiVersion": "v1",
    "kind": "Node",
    "metadata": {"name": "n"},
    "status": {"allocatable": {"cpu": "4", "memory": "4Gi", "pods": "10"}},
}
POD = {
    "apiVersion": "v1",
    "kind": "Pod",
    "metadata": {"name": "p", "creationTimestamp": "2026-11-27T00:00:00Z"},
    "spec": {"schedulerName": "strange", "containers": [{"name": "c", "image": "i"}]},
}


@pytest.mark.parametrize("command", ["explain", "fit", "simulate"])
def test_commands_ask_plugins_of_packages(
    files: Any,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    command: str,
) -> None:
    """Those of the configuration that is named; without it the profile means nothing."""
    monkeypatch.syspath_prepend(str(tmp_path))
    (tmp_path / f"closed_for_{command}.py").write_text(PACKAGE)
    config = tmp_path / "config.yaml"
    config.write_text(f"{HEAD}plugins: {{packages: [closed_for_{command}]}}\n")
    world, pods = (files(PROFILE, NODE, POD),), (files(POD),)
    choice = ClusterChoice()

    def run(config: Path | None) -> int:
        match command:
            case "explain":
                options = ExplainOptions(
                    name="default/p", cluster=choice, files=world, config=config
                )
                return explain.run(options)
            case "fit":
                return workload_fits.run(FitOptions(files=pods, world=world, config=config))
        return simulate.run(SimulateOptions(world=world, pods=pods, config=config))

    assert run(config) == 1
    assert "it is closed" in capsys.readouterr().out
    with pytest.raises(WrongUse, match="Closed"):
        run(None)
