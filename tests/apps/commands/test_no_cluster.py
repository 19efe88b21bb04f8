"""What each command says where no cluster can be asked: one line, with where it looked and what to
do.
"""

from __future__ import annotations

import contextlib
import socket
import ssl
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, Final, TypeAlias

import pytest
import typer
from typer.testing import CliRunner

from moorage.apps.cli import app
from tests.apps.commands.unreachable import kubeconfig, serving
from tests.rig.certificates import Authority

COMMANDS: Final = {
    "admission-ca": "admission-ca",
    "bundle": "bundle -o {folder}/b.tgz",
    "diff": "diff a b",
    "explain": "explain pod a",
    "fit": "fit -f {folder}/pod.yaml",
    "history": "history a",
    "install": "install",
    "queue": "queue",
    "record": "record -o {folder}/a.rec",
    "rollback": "rollback a --yes",
    "simulate": "simulate",
    "snapshot": "snapshot -o {folder}/a.snap",
    "status": "status",
    "trial": "trial a",
    "ui": "ui --no-browser",
    "uninstall": "uninstall --yes",
}
POD: Final = "apiVersion: v1\nkind: Pod\nmetadata: {name: p}\nspec: {containers: [{name: c}]}\n"
Fault: TypeAlias = Callable[[Path], contextlib.AbstractContextManager[Path]]


@contextlib.contextmanager
def _nobody(folder: Path) -> Iterator[Path]:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
    yield kubeconfig(folder / "kubeconfig", f"http://127.0.0.1:{port}")


@contextlib.contextmanager
def _missing(folder: Path) -> Iterator[Path]:
    yield folder / "absent"


@contextlib.contextmanager
def _broken(folder: Path) -> Iterator[Path]:
    (folder / "kubeconfig").write_text("clusters: [")
    yield folder / "kubeconfig"


@contextlib.contextmanager
def _untrusted(folder: Path) -> Iterator[Path]:
    tls = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    tls.load_cert_chain(*Authority(folder).server("server"))
    with serving(200, tls) as url:
        yield kubeconfig(folder / "kubeconfig", url)


def _answering(status: int, lists: str | dict[str, Any] | None = None) -> Fault:
    @contextlib.contextmanager
    def fault(folder: Path) -> Iterator[Path]:
        with serving(status, lists=lists) as url:
            yield kubeconfig(folder / "kubeconfig", url)

    return fault


FAULTS: Final[dict[str, tuple[Fault, str]]] = {
    "nobody is there": (_nobody, "is the VPN up?"),
    "no such kubeconfig": (_missing, "no such file"),
    "a broken kubeconfig": (_broken, "kubeconfig"),
    "an expired token": (_answering(401), "log in again"),
    "a token that has just expired": (_answering(401, "who\nare you"), "log in again"),
    "an authority that is not trusted": (_untrusted, "certificate-authority"),
    "no rights": (_answering(403), "it takes"),
    "a server of web pages": (_answering(200), "is no API server"),
    "a server that knows nothing": (_answering(404), "is no API server"),
}

BUNDLED: Final = ("no rights", "a token that has just expired")
"""After which there is something to bundle: that it is missing."""

ODD: Final[dict[str, Any]] = {
    "no metadata": {"spec": {}},
    "a name that is a number": {"metadata": {"name": 5}},
    "a status that is a list": {"metadata": {"name": "a"}, "status": []},
}
"""Items of a list, or an object, that no API server has."""


def test_every_command_of_a_cluster_is_in_the_table() -> None:
    """But the operator itself, which tells by its log."""
    commands: Any = typer.main.get_command(app)
    asking = {
        command.name
        for command in commands.commands.values()
        if any("--context" in one.opts for one in command.params)
    }
    assert asking == COMMANDS.keys()


@pytest.mark.parametrize("fault", FAULTS)
@pytest.mark.parametrize("command", COMMANDS)
def test_one_line_says_what_is_wrong(
    command: str, fault: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """And what to do; exit status 3, and nothing on stdout."""
    make, hint = FAULTS[fault]
    (tmp_path / "pod.yaml").write_text(POD)
    with make(tmp_path) as file:
        monkeypatch.setenv("KUBECONFIG", str(file))
        words = COMMANDS[command].format(folder=tmp_path)
        done = CliRunner().invoke(app, words.split())
    if command == "bundle" and fault in BUNDLED:  # it writes what can be had
        assert done.exit_code == 0 and hint in done.stdout
        return
    assert (done.exit_code, done.stdout) == (3, "")
    (line,) = done.stderr.splitlines()
    assert line.startswith("moorage: ")
    assert hint in line


@pytest.mark.parametrize("odd", ODD)
@pytest.mark.parametrize("command", ["diff", "history", "queue", "rollback", "status", "trial"])
def test_odd_objects_are_named(
    command: str, odd: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """An answer like any other that cannot be read."""
    with serving(200, lists={"items": [ODD[odd]], **ODD[odd]}) as url:
        monkeypatch.setenv("KUBECONFIG", str(kubeconfig(tmp_path / "kubeconfig", url)))
        done = CliRunner().invoke(app, COMMANDS[command].split())
    assert (done.exit_code, done.stdout) == (3, "")
    (line,) = done.stderr.splitlines()
    assert "the answer cannot be read: " in line
