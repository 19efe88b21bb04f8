"""The script that runs the image on kind, with programs that only write down how they are called:
that the steps do what they should is seen where Docker is.
"""

from __future__ import annotations

from pathlib import Path

import pytest
import yaml

from tests.kind.__main__ import CONFIG, IMAGE, PROGRAMS, ROOT, main


@pytest.fixture
def calls(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A file with each call that was made. `kubectl wait` fails where a file of this name is."""
    folder, calls = tmp_path / "bin", tmp_path / "calls"
    folder.mkdir()
    calls.touch()
    for name in PROGRAMS:
        program = folder / name
        fails = f'[ "$1" != wait ] || [ ! -e {tmp_path}/fails ]'
        program.write_text(f'#!/bin/sh\necho {name} "$@" >> {calls}\n{fails}\n')
        program.chmod(0o755)
    monkeypatch.setenv("PATH", f"{folder}:/usr/bin:/bin")
    return calls


def test_from_the_image_to_the_end(calls: Path) -> None:
    """Built, loaded, installed, used, removed; the cluster is gone afterwards."""
    assert main([]) == 0
    done = [line.split() for line in calls.read_text().splitlines()]
    assert [words[:2] for words in done] == [
        ["docker", "build"],
        ["kind", "create"],
        ["kind", "load"],
        ["kubectl", "apply"],
        ["kubectl", "rollout"],
        ["kubectl", "apply"],
        ["kubectl", "wait"],
        ["kubectl", "wait"],
        ["kubectl", "delete"],
        ["kubectl", "delete"],
        ["kind", "delete"],
    ]


@pytest.mark.parametrize(("flags", "last"), [([], "kind delete"), (["--keep"], "kubectl wait")])
def test_a_step_that_fails(calls: Path, flags: list[str], last: str) -> None:
    """Nothing comes after it; the cluster goes all the same, but where somebody wants to look."""
    calls.with_name("fails").touch()
    assert main([*flags, "--built"]) == 1
    lines = calls.read_text().splitlines()
    assert not [line for line in lines if line.startswith(("docker", "kubectl delete"))]
    assert lines[-1].startswith(last)


def test_what_is_missing_is_told(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    """With what to do."""
    monkeypatch.setenv("PATH", str(tmp_path))
    assert main([]) == 2
    said = capsys.readouterr().err.splitlines()
    assert said == [
        f"kind: there is no {name} on the path: {what}" for name, what in PROGRAMS.items()
    ]


def test_the_cluster() -> None:
    """Its name is the one that is deleted; its nodes are in zones; the image is the manifests'."""
    body = yaml.safe_load(CONFIG.read_text())
    assert body["name"] == "moorage"
    zones = [node.get("labels", {}).get("topology.kubernetes.io/zone") for node in body["nodes"]]
    assert zones == [None, "a", "a", "b"]
    manager = yaml.safe_load(
        (ROOT / "manifests" / "components" / "manager" / "kustomization.yaml").read_text()
    )
    assert [f"{one['newName']}:{one['newTag']}" for one in manager["images"]] == [IMAGE]
