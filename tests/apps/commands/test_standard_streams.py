"""`-` wherever a command takes a file: stdin for those that are read, stdout for the others."""

from __future__ import annotations

import atexit
import functools
import gzip
import io
import os
import re
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any, Final, NamedTuple

import pytest
import typer

from moorage.apps.cli import app
from moorage.core.columns.changes import NodePut
from tests.apps.worlds.recordings import write_recording
from tests.builders import make_node
from tests.rig.embedded import DevRig

SECONDS: Final = 60
RECORDING: Final = "(recording)"
"""For stdin: bytes of a recording."""
PROFILE: Final = """\
apiVersion: moorage.dev/v1alpha1
kind: SchedulerProfile
metadata: {name: given}
spec: {schedulerName: default-scheduler, preset: BinPack}
"""
CONFIG: Final = "apiVersion: config.moorage.dev/v1alpha1\nkind: OperatorConfiguration\n"
WRONG: Final = f"{CONFIG}odd: 1\n"
UNKNOWN: Final = "odd: 1: unknown field"
NO_PROFILE: Final = "there is no SchedulerProfile"
NODE: Final = """\
apiVersion: v1
kind: Node
metadata: {name: given}
status: {allocatable: {cpu: "4", memory: 8Gi, pods: "10"}}
"""
POD: Final = """\
apiVersion: v1
kind: Pod
metadata: {name: given, namespace: default}
spec: {schedulerName: default-scheduler, containers: [{name: c, image: i}]}
"""
POLICY: Final = '{"kind": "Policy", "apiVersion": "v1"}'


class Taken(NamedTuple):
    """A command with `-` for a file, what comes by stdin, and what stdout has then. Of the words,
    NAME.yaml are files with the text of that name above; None: it is written to stdout. ``shown``
    is on stderr where there is no answer.
    """

    words: str
    stdin: str | None
    shown: str
    status: int = 0


_SEVERAL: Final = re.compile(r"\bFILE\b|\b[Ff]iles\b")
TAKEN: Final = {
    ("bundle", "--output"): Taken("bundle --output - {cluster}", None, "contents.txt"),
    ("check", "files"): Taken("check -", PROFILE, "1 object checked: no errors"),
    ("check", "--config"): Taken("check profile.yaml --config -", CONFIG, "no errors"),
    ("convert", "files"): Taken("convert -", POLICY, "kind: SchedulerProfile"),
    ("demo", "--shape"): Taken(
        "demo --shape -", "- {name: n, cpu: 1}", "memory: None: it is missing", 2
    ),
    ("demo", "--config"): Taken("demo --config -", "bogus: 1", "bogus: 1: unknown field", 2),
    ("diff", "names"): Taken("diff - profile.yaml", PROFILE, "No difference."),
    ("diff", "--config"): Taken("diff profile.yaml profile.yaml --config -", CONFIG, "No diff"),
    ("explain", "--file"): Taken("explain pod given -f -", NODE + "---\n" + POD, "fits"),
    ("explain", "--profile"): Taken(
        "explain pod given -f node.yaml -f pod.yaml --profile -", PROFILE, "Would be placed"
    ),
    ("explain", "--recording"): Taken(
        "explain pod no --recording -", RECORDING, "there is no pod default/no", 2
    ),
    ("explain", "--config"): Taken("explain pod given -f both.yaml --config -", CONFIG, "fits"),
    ("fit", "--file"): Taken("fit -f - --from node.yaml", POD, "1 of 1 fit"),
    ("fit", "--from"): Taken("fit -f pod.yaml --from -", RECORDING, "1 of 1 fit"),
    ("fit", "--config"): Taken("fit -f pod.yaml --from node.yaml --config -", CONFIG, "1 of 1"),
    ("history", "--config"): Taken("history given --config -", WRONG, UNKNOWN, 2),
    ("record", "--output"): Taken("record --output - --for 1s {cluster}", None, "moorage record"),
    ("record", "--config"): Taken("record -o b.rec --config -", WRONG, UNKNOWN, 2),
    ("replay", "file"): Taken("replay -", RECORDING, "0 decisions of ours"),
    ("replay", "--config"): Taken("replay a.rec --config -", CONFIG, "0 decisions of ours"),
    ("run", "--config"): Taken("run --config - --write-config-to out.yaml", CONFIG, ""),
    ("run", "--write-config-to"): Taken("run --write-config-to -", None, "leaderElection:"),
    ("simulate", "files"): Taken("simulate - --pods pod.yaml", RECORDING, "1 pod placed"),
    ("simulate", "--pods"): Taken("simulate node.yaml --pods -", POD, "1 pod placed"),
    ("simulate", "--profile"): Taken(
        "simulate node.yaml --pods pod.yaml --profile default-scheduler=-", PROFILE, "as many as"
    ),
    ("simulate", "--report"): Taken("simulate node.yaml --report -", None, "<h1>"),
    ("simulate", "--config"): Taken("simulate node.yaml --config -", CONFIG, "0 pods placed"),
    ("snapshot", "--output"): Taken("snapshot --output - {cluster}", None, "moorage record"),
    ("snapshot", "--config"): Taken("snapshot --config -", WRONG, UNKNOWN, 2),
    ("tune", "recording"): Taken("tune - --for waits", RECORDING, "profile is looked for", 2),
    ("tune", "--profile"): Taken("tune a.rec --for x --profile a=-", POD, NO_PROFILE, 2),
    ("tune", "--write"): Taken(
        "tune a.rec --for x --profile profile.yaml --write -", None, "--for x", 2
    ),
    ("tune", "--config"): Taken("tune a.rec --for x --config -", WRONG, UNKNOWN, 2),
    ("ui", "--recording"): Taken("ui --recording - --profile pod.yaml", RECORDING, NO_PROFILE, 2),
    ("ui", "--profile"): Taken("ui --recording a.rec --profile x=-", POD, f"-: {NO_PROFILE}", 2),
    ("ui", "--config"): Taken("ui --config -", WRONG, UNKNOWN, 2),
}


def parameters() -> set[tuple[str, str]]:
    """All that take files of which commands are about; of credentials there is none by stdin, as
    with kubectl.
    """
    commands: Any = typer.main.get_command(app)
    return {
        (command.name, one.opts[0])
        for command in commands.commands.values()
        for one in command.params
        if "Path" in str(one.type_descriptor) or _SEVERAL.search(one.help or "")
    }


def test_every_file_is_in_the_table() -> None:
    """A new one is tried here, too."""
    assert parameters() == TAKEN.keys()


@pytest.fixture(scope="module")
def cluster() -> Iterator[str]:
    """The words that lead to a cluster."""
    with DevRig() as rig:
        yield f"--kubeconfig {rig.kubeconfig}"


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Where the files are."""
    texts = {"profile": PROFILE, "node": NODE, "pod": POD, "both": NODE + "---\n" + POD}
    for name, text in texts.items():
        (tmp_path / f"{name}.yaml").write_text(text)
    node = NodePut(make_node("given"))
    write_recording(tmp_path / "a.rec", [node], (60, node))
    return tmp_path


@pytest.mark.parametrize("taken", TAKEN.values(), ids=[" ".join(one) for one in TAKEN])
def test_a_dash_is_a_file(
    taken: Taken, folder: Path, request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What is read comes by stdin, what is written goes to stdout, and nothing else does."""
    words = taken.words
    if "{cluster}" in words:
        words = words.format(cluster=request.getfixturevalue("cluster"))
    given = (taken.stdin or "").encode()
    if taken.stdin == RECORDING:
        given = (folder / "a.rec").read_bytes()
    run = _started if taken in _REAL else functools.partial(_called, monkeypatch=monkeypatch)
    status, out, told = run(words.split(), given, folder)
    assert status == taken.status, told
    shown = out if out[:2] != b"\x1f\x8b" else gzip.decompress(out)
    assert taken.shown in (told if taken.status > 1 else shown.decode(errors="replace"))
    assert "stdin is empty" not in told and "No such file" not in told
    assert list(folder.glob("-*")) == []
    assert list(folder.glob("moorage-*")) == []


_REAL: Final = [
    TAKEN[one]
    for one in (
        ("bundle", "--output"),
        ("check", "files"),
        ("record", "--output"),
        ("replay", "file"),
        ("run", "--write-config-to"),
        ("simulate", "files"),
        ("snapshot", "--output"),
    )
]
"""Processes with pipes, one of each sort; they take a second to start, so the others have none."""


def _started(words: Sequence[str], given: bytes, folder: Path) -> tuple[int, bytes, str]:
    """Exit status, stdout and stderr of the program."""
    done = subprocess.run(
        [sys.executable, "-I", "-m", "moorage", *words],
        check=False,
        input=given,
        capture_output=True,
        cwd=folder,
        env={**os.environ, "KUBECONFIG": str(folder / "none"), "TMPDIR": str(folder)},
        timeout=SECONDS,
    )
    return done.returncode, done.stdout, done.stderr.decode()


def _called(
    words: Sequence[str], given: bytes, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> tuple[int, bytes, str]:
    """The same of the command, called here with such streams."""
    at_exit: list[Callable[[], object]] = []
    out, told = io.BytesIO(), io.BytesIO()
    monkeypatch.chdir(folder)
    monkeypatch.setenv("KUBECONFIG", str(folder / "none"))
    monkeypatch.setattr(tempfile, "tempdir", str(folder))
    monkeypatch.setattr(
        atexit, "register", lambda *call, **more: at_exit.append(functools.partial(*call, **more))
    )
    pipe: Any = io.BufferedReader(io.BytesIO(given))
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(pipe, encoding="utf-8"))
    for name, written in (("stdout", out), ("stderr", told)):
        monkeypatch.setattr(sys, name, io.TextIOWrapper(written, encoding="utf-8"))
    with pytest.raises(SystemExit) as ended:
        app(words)
    for stream in (sys.stdout, sys.stderr):
        stream.flush()
    for end in at_exit:
        end()
    return int(ended.value.code or 0), out.getvalue(), told.getvalue().decode()
