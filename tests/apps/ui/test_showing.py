"""`moorage ui` as a process: what it prints, how it ends, and what is wrong use."""

from __future__ import annotations

import signal
import socket
import subprocess
import sys
import urllib.error
import urllib.request
from pathlib import Path

import pytest

from moorage.apps.exit_status import NoAnswer, WrongUse
from moorage.apps.ui.showing import UiOptions, run
from moorage.apps.worlds.cluster_choice import ClusterChoice
from tests.apps.ui.worlds import recorded

UI = (sys.executable, "-m", "moorage", "ui", "--no-browser")


def test_a_recording_is_shown_until_it_is_interrupted(tmp_path: Path) -> None:
    """The address opens; without it nothing does; nothing is left on stderr."""
    path = recorded(tmp_path / "a.rec")
    with subprocess.Popen(
        (*UI, "--recording", str(path)), stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    ) as process:
        try:
            assert process.stdout is not None
            first = process.stdout.readline()
            assert first.startswith(f"{path} is shown at http://127.0.0.1:")
            address = first.split()[-1]
            with urllib.request.urlopen(address) as answer:
                assert "HttpOnly" in answer.headers["Set-Cookie"]
            with pytest.raises(urllib.error.HTTPError, match="403") as refused:
                urllib.request.urlopen(f"{address.partition('/open/')[0]}/ui/")
            refused.value.close()
            process.send_signal(signal.SIGINT)
            assert process.communicate(timeout=30)[1] == ""
            assert process.returncode == 0
        finally:
            process.kill()


def test_an_interrupt_is_heard_while_a_cluster_is_listed(tmp_path: Path) -> None:
    """An API server that says nothing holds nobody up."""
    with socket.create_server(("127.0.0.1", 0)) as silent:
        port = silent.getsockname()[1]
        access = tmp_path / "kubeconfig"
        access.write_text(
            f'{{"current-context": "c", "users": [], "contexts": [{{"name": "c", "context": '
            f'{{"cluster": "c"}}}}], "clusters": [{{"name": "c", "cluster": '
            f'{{"server": "http://127.0.0.1:{port}"}}}}]}}'
        )
        with subprocess.Popen(
            (*UI, "--kubeconfig", str(access)),
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        ) as process:
            try:
                asking, _ = silent.accept()
                asking.recv(1)
                process.send_signal(signal.SIGINT)
                printed = process.communicate(timeout=4)
                asking.close()
                assert (process.returncode, printed) == (0, ("", ""))
            finally:
                process.kill()


def test_wrong_use(tmp_path: Path) -> None:
    """A port that is taken, a world without a recording, a file that is none."""
    nobody = ClusterChoice(str(tmp_path / "none"))
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        with pytest.raises(NoAnswer, match=f"--port {port}: "):
            run(UiOptions(cluster=nobody, port=port))
    with pytest.raises(WrongUse, match="name one by --recording"):
        run(UiOptions(cluster=nobody, candidates=("a.yaml",)))
    with pytest.raises(NoAnswer, match="no such file"):
        run(UiOptions(cluster=nobody, browser=False))
    (tmp_path / "a.rec").write_text("nothing")
    with pytest.raises(NoAnswer, match="recording"):
        run(UiOptions(cluster=nobody, recording=tmp_path / "a.rec", browser=False))
