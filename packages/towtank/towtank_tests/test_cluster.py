"""The embedded cluster as a process: it says where it is, serves, and ends with whoever started
it.
"""

import json
import os
import re
import socket
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from tests.suites import ROOT
from tests.tools import assets
from towtank.cli import main

KUBECTL = assets.folder() / "kubectl"
COMMAND = (sys.executable, "-m", "towtank")


@contextmanager
def started(*arguments: str) -> Iterator[tuple[subprocess.Popen[str], dict[str, Any]]]:
    """A process that is ready, and what it said."""
    environment = {**os.environ, "PYTHONPATH": str(ROOT / "operator")}
    process = subprocess.Popen(
        (*COMMAND, *arguments),
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
        env=environment,
    )
    with process:
        try:
            assert process.stdout
            yield process, json.loads(process.stdout.readline())
        finally:
            if process.stdin and not process.stdin.closed:
                process.stdin.close()
            process.wait(20)


def test_it_ends_when_its_input_closes(tmp_path: Path) -> None:
    """With nothing left of its files but the copy that was asked for."""
    copy = tmp_path / "kubeconfig"
    with started("--nodes=2", f"--kubeconfig-file={copy}") as (process, ready):
        assert ready["pid"] == process.pid
        own = Path(ready["kubeconfig"])
        assert own.read_text() == copy.read_text()
        assert copy.stat().st_mode & 0o777 == 0o600
        assert process.stdin
        process.stdin.close()
        assert process.wait(20) == 0
    assert not own.parent.exists()


def test_without_input_a_signal_ends_it() -> None:
    """As a service may be started."""
    words = ("sh", "-c", 'exec "$@" <&-', "sh", *COMMAND)
    with subprocess.Popen(
        words, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    ) as process:
        assert process.stdout and process.stderr
        assert json.loads(process.stdout.readline())["pid"] == process.pid
        process.terminate()
        assert (process.wait(20), process.stderr.read()) == (0, "")


def test_it_ends_when_it_is_told_to() -> None:
    """By SIGTERM, with a watch of its input still going on."""
    with started() as (process, ready):
        process.terminate()
        assert process.wait(20) == 0
    assert not Path(ready["kubeconfig"]).exists()


def test_a_wrong_file_of_nodes_is_told_of(tmp_path: Path) -> None:
    """Without a traceback."""
    file = tmp_path / "nodes.yaml"
    file.write_text("- {count: x}")
    environment = {**os.environ, "PYTHONPATH": str(ROOT / "operator")}
    done = subprocess.run(
        (*COMMAND, f"--shape={file}"), capture_output=True, text=True, env=environment, check=False
    )
    assert done.returncode == 2
    assert str(file) in done.stderr
    assert "Traceback" not in done.stderr


@pytest.mark.parametrize(
    "word",
    [
        "--zones=0",
        "--nodes=-5",
        "--nodes=x",
        "--nodes=9999999",
        "--port=99999",
        "--port=-1",
        "--start-after=-1",
        "--stop-after=nan",
    ],
)
def test_wrong_use_is_told_of(word: str, capsys: pytest.CaptureFixture[str]) -> None:
    """In one line that names the option and what it takes."""
    with pytest.raises(SystemExit) as end:
        main([word])
    assert end.value.code == 2
    option, _, value = word.partition("=")
    assert re.search(
        rf"error: argument {option}: '{value}' is no .* from \d+ to \d+$",
        capsys.readouterr().err.strip(),
    )


def test_what_the_system_refuses_is_told_of(tmp_path: Path) -> None:
    """In one line: a port in use, a kubeconfig in a folder that is not there, or that is itself a
    folder.
    """
    environment = {**os.environ, "PYTHONPATH": str(ROOT / "operator")}
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        for word, named in (
            (f"--port={port}", str(port)),
            (f"--kubeconfig-file={tmp_path}/none/file", f"{tmp_path}/none"),
            (f"--kubeconfig-file={tmp_path}", str(tmp_path)),
        ):
            done = subprocess.run(
                (*COMMAND, word),
                stdin=subprocess.DEVNULL,
                capture_output=True,
                text=True,
                env=environment,
                check=False,
            )
            assert (done.returncode, done.stdout, done.stderr.count("\n")) == (1, "", 1)
            assert named in done.stderr
    assert list(tmp_path.parent.glob(f".{tmp_path.name}.*")) == []


def test_a_file_that_others_may_read_gets_no_key(tmp_path: Path) -> None:
    """Not even for a moment: it is another file then."""
    copy = tmp_path / "kubeconfig"
    copy.touch(mode=0o644)
    with copy.open() as before, started(f"--kubeconfig-file={copy}"):
        assert copy.stat().st_mode & 0o777 == 0o600
        assert "client-key-data" in copy.read_text()
        assert before.read() == ""
    assert [file.name for file in tmp_path.iterdir()] == ["kubeconfig"]


DEPLOYMENT = """
apiVersion: apps/v1
kind: Deployment
metadata: {name: web}
spec:
  replicas: 2
  selector: {matchLabels: {app: web}}
  template:
    metadata: {labels: {app: web}}
    spec: {nodeName: node-a1, containers: [{name: c, image: nginx}]}
"""


@pytest.mark.skipif(not KUBECTL.exists(), reason="there is no kubectl yet: `make assets` builds it")
def test_kubectl_is_content(tmp_path: Path) -> None:
    """What a person does first."""
    manifest = tmp_path / "web.yaml"
    manifest.write_text(DEPLOYMENT)
    with started("--nodes=3", "--zones=3", "--start-after=0.1", "--stop-after=0.1") as (_, ready):

        def kubectl(*words: str) -> str:
            command = (
                str(KUBECTL),
                f"--kubeconfig={ready['kubeconfig']}",
                f"--cache-dir={tmp_path}",
                *words,
            )
            done = subprocess.run(command, capture_output=True, text=True, timeout=60, check=False)
            assert done.returncode == 0, done.stderr
            return done.stdout

        assert "deployments" in kubectl("api-resources")
        assert len(kubectl("get", "nodes", "--no-headers").splitlines()) == 3
        kubectl("apply", "-k", str(ROOT / "crds"))
        assert "created" in kubectl("apply", "-f", str(manifest))
        assert "successfully rolled out" in kubectl(
            "rollout", "status", "deployment/web", "--timeout=20s"
        )
        assert "unchanged" in kubectl("apply", "-f", str(manifest))
        assert kubectl("get", "deploy", "web", "-o", "jsonpath={.status.readyReplicas}") == "2"
        assert "FIELD: containers" in kubectl("explain", "pod.spec.containers")
        assert "schedulerName" in kubectl("explain", "schedulerprofiles.spec")
        assert kubectl("auth", "can-i", "get", "pods").strip() == "yes"
        kubectl("create", "namespace", "a")
        kubectl("drain", "node-a1", "--timeout=20s", "--force")
        kubectl("delete", "namespace", "a", "--timeout=20s")
        kubectl("delete", "deployment", "web", "--timeout=20s")
