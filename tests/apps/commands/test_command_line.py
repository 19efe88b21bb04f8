"""What all commands have in common, as a user types it."""

from __future__ import annotations

from pathlib import Path

import pytest
import typer
from typer.testing import CliRunner

from moorage.apps.cli import app
from moorage.apps.commands.command_line import FORMATS

ANSWERING = ("diff", "explain", "fit", "history", "replay", "rollback", "simulate", "trial")
COMMANDS = sorted(typer.main.get_command(app).commands)  # type: ignore[attr-defined]


def typed(*words: str) -> tuple[int, str]:
    """The exit status, and all that was printed."""
    done = CliRunner().invoke(app, list(words))
    return done.exit_code, done.output


@pytest.mark.parametrize("command", COMMANDS)
def test_h_is_help(command: str) -> None:
    """Of the program and of each command."""
    assert typed(command, "-h") == typed(command, "--help")
    assert typed(command, "-h")[0] == typed("-h")[0] == 0


@pytest.mark.parametrize("command", ANSWERING)
def test_formats_are_the_same_everywhere(command: str) -> None:
    """One option; the nearest is named for one that there is not."""
    status, told = typed(command, "a", "b", "-o", "josn")
    assert (status, told) == (
        2,
        f'moorage: --output josn: use one of {", ".join(FORMATS)}; did you mean "json"?\n',
    )


@pytest.mark.parametrize(
    ("words", "told"),
    [
        ("pod default/p", "default/p cannot be placed"),
        ("pod/p", "default/p cannot be placed"),
        ("po p", "default/p cannot be placed"),
        ("podgroup/g", "there is no pod group default/g"),
        ("pg default/g", "there is no pod group default/g"),
        ("pod", "explain pod: one pod or podgroup can be explained"),
        ("podgroup", "can be explained: explain podgroup NAMESPACE/NAME"),
        ("node n", "explain node: one pod or podgroup can be explained"),
    ],
)
def test_a_pod_is_named_as_for_kubectl(words: str, told: str, tmp_path: Path) -> None:
    """Kind and name, or both in one word."""
    file = tmp_path / "pod.yaml"
    file.write_text("{apiVersion: v1, kind: Pod, metadata: {name: p}, spec: {containers: []}}")
    assert told in typed("explain", *words.split(), "-f", str(file))[1]
