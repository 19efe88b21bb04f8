"""`make demo` as a user sees it: it comes up by itself, says what to type, and leaves nothing."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

from tests.rig.operators import ROOT, until


def started(demo: subprocess.Popen[str]) -> str:
    """What the demo prints until it says how to end it."""
    assert demo.stdout is not None
    printed = ""
    for line in demo.stdout:
        printed += line
        if line.startswith("Ctrl-C ends all"):
            return printed
    raise AssertionError(f"the demo ended early:\n{printed}")


def processes(word: str) -> Iterator[int]:
    """Ids of running processes whose command line holds this word."""
    for process in Path("/proc").glob("[0-9]*"):
        try:
            command = (process / "cmdline").read_bytes().replace(b"\0", b" ").decode(errors="replace")
        except OSError:
            continue  # it has just ended
        if word in command:
            yield int(process.name)


def test_demo(assets: Path) -> None:
    """Pods are where their profiles put them, kubectl works as printed, a killed replica comes back, Ctrl-C ends all."""
    command = [sys.executable, "-m", "tests.rig.demo"]
    environment = {**os.environ, "PYTHONUNBUFFERED": "1"}
    with subprocess.Popen(command, cwd=ROOT, env=environment, stdout=subprocess.PIPE, text=True) as demo:
        try:
            printed = started(demo)
            assert re.search(r"^pods of binpack +6 on node-..$", printed, re.MULTILINE)
            assert len(re.search(r"^pods of spread +(.*)$", printed, re.MULTILINE)[1].split(",")) > 1  # type: ignore[index]
            (kubeconfig,) = re.findall(r"export KUBECONFIG=(\S+)", printed)
            kubectl = [str(assets / "kubectl"), f"--kubeconfig={kubeconfig}"]
            assert "binpack" in subprocess.check_output([*kubectl, "get", "sprof"], text=True, timeout=30)
            folder = str(Path(kubeconfig).parent)
            assert len(list(processes(folder))) >= 5, "etcd, kube-apiserver, kwok and two replicas"
            victim = int(re.findall(r"moorage-0 is process (\d+)", printed)[0])
            os.kill(victim, signal.SIGKILL)
            until(lambda: set(processes("moorage-0.yaml")) - {victim}, "the killed replica's restart", 20)
            demo.send_signal(signal.SIGINT)
            assert demo.wait(20) == 0
        finally:
            demo.kill()
    assert not Path(folder).exists()
    assert list(processes(folder)) == []
