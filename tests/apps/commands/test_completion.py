"""Completion, as kubectl asks for it and as it comes to somebody who presses Tab in a shell."""

from __future__ import annotations

import contextlib
import http.server
import json
import os
import pty
import select
import shutil
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Annotated, Any, Final

import pytest
import typer

from moorage.apps.cli import app
from moorage.apps.commands import shells
from moorage.apps.commands.completion import answer

BIN: Final = Path(sys.executable).parent
API: Final = "/apis/moorage.dev/v1alpha1"
REVISION: Final = "9d02aa71"
OBJECTS: Final[dict[str, list[dict[str, Any]]]] = {
    f"{API}/schedulerprofiles": [{"metadata": {"name": name}} for name in ("binpack", "batch")],
    f"{API}/pluginconfigs": [],
    "/apis/apps/v1/namespaces/moorage-system/controllerrevisions": [
        {
            "metadata": {"name": "binpack-9d02aa71"},
            "data": {"uid": "u", "revision": REVISION},
            "revision": 3,
        }
    ],
    "/api/v1/namespaces": [{"metadata": {"name": name}} for name in ("default", "shop")],
    "/api/v1/nodes": [{"metadata": {"name": name}} for name in ("node-1", "node-2")],
    "/api/v1/namespaces/shop/pods": [{"metadata": {"name": "checkout-7c9d"}}],
    "/api/v1/namespaces/default/pods": [{"metadata": {"name": "shutdown"}}],
}


class _Server(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def do_GET(self) -> None:
        path = self.path.partition("?")[0]
        known: Any = {"items": OBJECTS[path]} if path in OBJECTS else None
        if path == f"{API}/schedulerprofiles/binpack":
            known = {"metadata": {"name": "binpack", "uid": "u"}}
        body = json.dumps({"gitVersion": "v1.36.1"} if path == "/version" else known or {}).encode()
        self.send_response(200 if path == "/version" or known else 404)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, format: str, *args: Any) -> None:  # noqa: A002 - as its base has it
        """Nothing."""


class _Silent(http.server.ThreadingHTTPServer):
    def handle_error(self, request: Any, client_address: Any) -> None:
        """Who asked may go at any time."""


@pytest.fixture(scope="module")
def server() -> Iterator[str]:
    """The address of an API server that has the objects."""
    with _Silent(("127.0.0.1", 0), _Server) as served:
        threading.Thread(target=served.serve_forever, args=(0.01,), daemon=True).start()
        yield f"http://127.0.0.1:{served.server_port}"
        served.shutdown()


@pytest.fixture
def home(server: str, tmp_path: Path) -> dict[str, str]:
    """The environment of somebody who has two contexts, and moorage on the path."""
    clusters = [{"name": "here", "cluster": {"server": server}}]
    contexts = [{"name": name, "context": {"cluster": "here"}} for name in ("harbor", "pier:west")]
    document = {"current-context": "harbor", "clusters": clusters, "contexts": contexts}
    (tmp_path / "kubeconfig").write_text(json.dumps({**document, "users": []}))
    return {
        "HOME": str(tmp_path),
        "KUBECONFIG": str(tmp_path / "kubeconfig"),
        "PATH": f"{BIN}:/usr/bin:/bin",
        "TERM": "dumb",
        "LANG": "C.UTF-8",
    }


def asked(environment: dict[str, str], *words: str | Path) -> list[str]:
    """What a program says may come next, without what it means; the directive is the last."""
    done = subprocess.run(
        words, env=environment, check=True, capture_output=True, text=True, timeout=60
    )
    assert done.stderr == ""
    return [line.partition("\t")[0] for line in done.stdout.splitlines()]


@pytest.mark.parametrize(
    ("words", "found"),
    [
        (["hi"], ["history", ":4"]),
        (["history", "b"], ["binpack", "batch", ":4"]),
        (["trial", "bi"], ["binpack", ":4"]),
        (["diff", "bat"], ["batch", "batch@", ":4"]),
        (["diff", "batch", "binpack@"], [f"binpack@{REVISION}", ":4"]),
        (["diff", "nobody@"], [":0"]),
        (["explain", "pod", "sh"], ["shutdown", "shop/", ":4"]),
        (["explain", "pod", "shop"], ["shop/", ":6"]),
        (["explain", "pod", "shop/c"], ["shop/checkout-7c9d", ":4"]),
        (["explain", "-n", "shop", "pod", "ch"], ["checkout-7c9d", ":4"]),
        (["explain", "-n", "sh"], ["shop", ":4"]),
        (["rollback", "binpack", "--to", ""], [REVISION, ":4"]),
        (["rollback", "nobody", "--to", ""], [":0"]),
        (["simulate", "--drain", "n"], ["node-1", "node-2", ":4"]),
        (["simulate", "--add-nodes", "1", "--like", "node-2"], ["node-2", ":4"]),
        (["simulate", "a.rec", "--drain", ""], [":0"]),
        (["simulate", "--rep"], ["--report", ":4"]),
        (["queue", "bi"], ["binpack", ":4"]),
        (["tune", "--not"], ["--not-worse", ":4"]),
        (["trial", "--st"], ["--stop", ":4"]),
        (["bundle", "--ha"], ["--hash-names", ":4"]),
        (["ui", "--rec"], ["--recording", ":4"]),
        (["ui", "--recording", "a"], [":0"]),
        (["history", "--context", ""], ["harbor", "pier:west", ":4"]),
        (["history", "--context=h"], ["harbor", ":4"]),
        (["history", "x", "-o", "j"], ["json", ":4"]),
        (["history", "x", "--out"], ["--output", ":4"]),
        (["check", "some"], [":0"]),
        (["nowhere", "x"], [":0"]),
        (["history", "--context", "gone", ""], [":0"]),
    ],
    ids=" ".join,
)
def test_what_may_come_next(
    home: dict[str, str],
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    words: list[str],
    found: list[str],
) -> None:
    """Commands, options and their values, and names that the cluster or a file has."""
    monkeypatch.setenv("KUBECONFIG", home["KUBECONFIG"])
    answer(app, words)
    out, err = capsys.readouterr()
    assert [line.partition("\t")[0] for line in out.splitlines()] == found
    assert err == ""


def wrong(incomplete: str) -> list[str]:
    """A completion with a fault."""
    raise KeyError(incomplete)


def test_no_fault_is_seen(capsys: pytest.CaptureFixture[str]) -> None:
    """The shell has its directive, and nothing else."""
    broken = typer.Typer()

    @broken.command()
    def one(name: Annotated[str, typer.Argument(autocompletion=wrong)]) -> None: ...

    answer(broken, ["x"])
    assert capsys.readouterr() == (":0\n", "")


def test_who_may_ask(home: dict[str, str]) -> None:
    """Shells, and kubectl for its plugin."""
    for program in ([BIN / "moorage", "__complete"], [BIN / "kubectl_complete-moorage"]):
        assert asked(home, *program, "diff", "binpack@") == [f"binpack@{REVISION}", ":4"]


def test_nobody_waits_for_a_cluster(home: dict[str, str]) -> None:
    """One that accepts and says nothing: after a second there are no names."""
    with socket.create_server(("127.0.0.1", 0)) as silent:
        at = f"http://127.0.0.1:{silent.getsockname()[1]}"
        file = Path(home["KUBECONFIG"])
        document = json.loads(file.read_text())
        document["clusters"][0]["cluster"]["server"] = at
        file.write_text(json.dumps(document))
        assert asked(home, BIN / "moorage", "__complete", "history", "") == [":4"]


# ---- real shells ---------------------------------------------------------------------------------

SECONDS: Final = 30.0
READY: Final = "ready> "
INTERACTIVE: Final = {
    "bash": ("bash --noprofile -i", "PS1='ready> '\n"),
    "zsh": ("zsh -i", "PS1='ready> '\n"),
    "fish": ("fish --private -i", "function fish_prompt; echo -n 'ready> '; end\n"),
}


class Terminal:
    """A shell on a terminal of its own."""

    def __init__(self, shell: str, environment: dict[str, str], folder: Path) -> None:
        self._master, slave = pty.openpty()
        self.process = subprocess.Popen(
            ["setsid", "--ctty", *shell.split()],
            stdin=slave,
            stdout=slave,
            stderr=slave,
            env=environment,
            cwd=folder,
        )
        os.close(slave)

    def typed(self, text: str, want: str) -> None:
        """Type this; returns once the terminal shows what is wanted."""
        os.write(self._master, text.encode())
        shown, end = "", time.monotonic() + SECONDS
        while want not in shown:
            assert time.monotonic() < end, f"{want!r} is not in {shown!r}"
            if select.select([self._master], [], [], 0.2)[0]:
                shown += os.read(self._master, 4096).decode(errors="replace")

    def close(self) -> None:
        """End it."""
        self.process.kill()
        self.process.wait()
        os.close(self._master)


@pytest.mark.parametrize("shell", INTERACTIVE)
def test_tab_in_a_real_shell(home: dict[str, str], tmp_path: Path, shell: str) -> None:
    """Installed by the command, a new shell completes commands, revisions, names with a colon, and
    files where there is no name.
    """
    started, prompt = INTERACTIVE[shell]
    if shutil.which(shell) is None:
        pytest.skip(f"NOT TESTED: {shell} is not installed")
    command: list[str | Path] = [BIN / "moorage", "completion", shell, "--install"]
    subprocess.run(command, env=home, check=True, capture_output=True)
    if shell == "bash":  # as bash-completion does when the command is first completed
        script = shells.place(shell, tmp_path, home).script
        (tmp_path / ".bashrc").write_text(f"source '{script}'\n")
    (tmp_path / "profile.yaml").write_text("")
    with contextlib.closing(Terminal(started, home, tmp_path)) as terminal:
        terminal.typed(prompt, READY)
        for begun, rest in (
            ("moorage hist", "ory"),
            ("moorage diff binpack@9", REVISION[1:]),
            ("moorage history --context pie", "r:west"),
            ("moorage check prof", "ile.yaml"),
        ):
            terminal.typed(f"{begun}\t", rest)
            terminal.typed("\x01echo \r", f"{begun}{rest}\r\n")  # Ctrl-A: to the begin


@pytest.mark.parametrize("shell", sorted(shells.SCRIPTS))
def test_installing_twice_changes_nothing(tmp_path: Path, shell: str) -> None:
    """It says what it wrote, and keeps what stands in a shell's own file."""
    place = shells.place(shell, tmp_path, {})
    if place.startup is not None:
        place.startup.write_text("alias ll='ls -l'")
    told = shells.install(shell, tmp_path, {})
    assert told[0] == f"Wrote {place.script}."
    assert place.script.read_text() == shells.SCRIPTS[shell]
    before = place.startup.read_text() if place.startup else ""
    assert shells.install(shell, tmp_path, {}) == [
        f"Nothing to do: {place.script} is there already."
    ]
    if place.startup is not None:
        assert place.startup.read_text() == before
        assert before == f"alias ll='ls -l'\n{place.line}\n"


@pytest.mark.parametrize(("loader", "line"), [(True, ""), (False, "source ")])
def test_bash_with_and_without_its_loader(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, loader: bool, line: str
) -> None:
    """Where bash-completion is not installed, nobody would read the file."""
    monkeypatch.setattr(shells, "BASH_COMPLETION", (tmp_path / "bash_completion",))
    if loader:
        (tmp_path / "bash_completion").write_text("")
    assert shells.place("bash", tmp_path, {}).line.startswith(line)
    assert bool(shells.place("bash", tmp_path, {}).startup) == (not loader)
