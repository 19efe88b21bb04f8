"""`moorage demo` as a user sees it: it comes up by itself, says what to type, plays its tour, and
leaves nothing, however it ends.
"""

from __future__ import annotations

import contextlib
import os
import re
import signal
import subprocess
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path

import pytest

from moorage.apps.demo import samples
from moorage.apps.demo.kube_client import KubeClient
from tests.apps.demo import terminals
from tests.rig.operators import until

DEMO = (sys.executable, "-I", "-m", "moorage", "demo")
ROOT = Path(__file__).parents[2]
REAL = (sys.executable, "-m", "tests.tools.demo_real")
SEEN = "The tour is over; all effects were seen."
ENDED = "The demo has ended; nothing of it is left. While it runs, the same is a page: moorage ui"
SEEN_OF_ONE_NODE = "The tour is over; all effects that these nodes can show were seen."


class Demo:
    """A running demo, and what it has printed up to its last hint."""

    def __init__(self, process: subprocess.Popen[str]) -> None:
        assert process.stdout is not None
        self.process = process
        self.printed = ""
        for line in process.stdout:
            self.printed += line
            if "Ctrl-C ends all" in line:
                break
        else:
            raise AssertionError(f"the demo ended early:\n{self.printed}")
        (kubeconfig,) = re.findall(r"export KUBECONFIG=(\S+)", self.printed)
        self.kubeconfig = Path(kubeconfig)
        self.folder = Path(re.findall(r"Logs: (\S+)/", self.printed)[0])

    def pids(self) -> set[int]:
        """All processes that the demo started."""
        return {*processes(str(self.folder)), *descendants(self.process.pid)}


@contextlib.contextmanager
def demo(*options: str, program: Sequence[str] = DEMO) -> Iterator[Demo]:
    """A demo whose output is no terminal."""
    with subprocess.Popen(
        [*program, *options], cwd=ROOT, stdout=subprocess.PIPE, text=True
    ) as process:
        try:
            yield Demo(process)
        finally:
            process.terminate()


def processes(word: str) -> Iterator[int]:
    """Ids of running processes whose command line holds this word."""
    for process in Path("/proc").glob("[0-9]*"):
        with contextlib.suppress(OSError):  # it has just ended
            if word in (process / "cmdline").read_bytes().replace(b"\0", b" ").decode(
                errors="replace"
            ):
                yield int(process.name)


def descendants(pid: int) -> Iterator[int]:
    """Ids of a process' children, and theirs."""
    with contextlib.suppress(OSError):
        for thread in Path(f"/proc/{pid}/task").iterdir():
            for child in map(int, (thread / "children").read_text().split()):
                yield child
                yield from descendants(child)


def runs(pid: int) -> bool:
    """Whether there is such a process that is not a zombie."""
    try:
        return "State:\tZ" not in Path(f"/proc/{pid}/status").read_text()
    except OSError:
        return False


def leaves_nothing(shown: Demo, pids: set[int]) -> None:
    """Wait until no process and no file of it is left."""
    assert len(pids) >= 4, "a control plane, two replicas, a guard"
    until(lambda: not [pid for pid in pids if runs(pid)], "the end of all processes", 20)
    until(lambda: not shown.folder.exists(), "the end of the folder", 20)


@pytest.mark.parametrize(
    ("number", "ends_with"),
    [(signal.SIGINT, 0), (signal.SIGTERM, 0), (signal.SIGKILL, -signal.SIGKILL)],
)
def test_it_leaves_nothing(number: signal.Signals, ends_with: int) -> None:
    """Whether it is told to end or shot."""
    with demo() as shown:
        assert "\x1b" not in shown.printed
        assert re.search(r"^Ready after \d+\.\d s\.$", shown.printed, re.MULTILINE)
        pids = shown.pids()
        shown.process.send_signal(number)
        assert shown.process.wait(20) == ends_with
        leaves_nothing(shown, pids)


def test_what_it_shows() -> None:
    """As many nodes as are wanted; pods where their profiles put them; a killed replica comes
    back.
    """
    with demo("--nodes=8", "--zones=2") as shown:
        with contextlib.closing(KubeClient(shown.kubeconfig)) as api:
            assert len(api.items("/api/v1/nodes")) == 8
            places = until(lambda: first_places(api), "the nodes of the first pods", 20)
        assert len(set(places["binpack"])) == 1
        # The tide rises from here on: the eighth goes where one is, rather than to binpack's node.
        assert len(set(places["spread"])) >= min(len(places["spread"]), 7)
        replica = f"{shown.folder}/moorage-0.yaml"
        (victim,) = processes(replica)
        os.kill(victim, signal.SIGKILL)
        until(lambda: set(processes(replica)) - {victim}, "the killed replica's restart", 20)


def first_places(api: KubeClient) -> dict[str, list[str]] | None:
    """The nodes of each profile's pods, once as many have one as the demo begins with."""
    pods = api.items("/api/v1/namespaces/demo/pods")
    places = {
        profile: [
            pod["spec"]["nodeName"]
            for pod in pods
            if pod["spec"]["schedulerName"] == profile and "nodeName" in pod["spec"]
        ]
        for profile in samples.PROFILES
    }
    return places if min(map(len, places.values())) >= samples.FIRST_PODS else None


def test_tour() -> None:
    """All effects are seen, which the exit status says."""
    done = subprocess.run(
        [*DEMO, "--exit-after-tour"], capture_output=True, text=True, check=False, timeout=120
    )
    assert (done.returncode, done.stderr) == (0, ""), done.stdout
    assert SEEN in done.stdout
    assert "\x1b" not in done.stdout


def test_the_board() -> None:
    """On a terminal: what to type is its first line and works, gated pods are on it, and when the
    cluster stands still it says so. At the end the terminal is as it was before.
    """
    with terminals.shown(DEMO, 80, 24) as (terminal, process):
        terminal.until(lambda lines: lines[0].startswith("export KUBECONFIG="))
        kubeconfig = Path(terminal.lines[0].split()[1].partition("=")[2])
        held = samples.pod("spread", "held")
        held["spec"]["schedulingGates"] = [{"name": "example.com/quota"}]
        with contextlib.closing(KubeClient(kubeconfig)) as api:
            api.create(samples.path("Pod"), held)
        terminal.until(lambda lines: any("gated: example.com/quota" in line for line in lines))
        terminal.until(lambda lines: any(line.startswith("spread   yes") for line in lines))
        (control_plane,) = {*processes("-m towtank")} & {*descendants(process.pid)}
        os.kill(control_plane, signal.SIGSTOP)
        terminal.until(lambda lines: "what you see is old" in " ".join(lines[:3]))
        assert terminal.lines[0].startswith(f"export KUBECONFIG={kubeconfig}")
        os.kill(control_plane, signal.SIGCONT)
        terminal.until(lambda lines: " leads, " in " ".join(lines[:3]))
        process.send_signal(signal.SIGINT)
        assert process.wait(30) == 0
        assert ENDED.encode() in terminal.rest().rpartition(b"\x1b[?1049l")[2]


def test_an_early_end_is_no_success() -> None:
    """A signal before anything was shown: the shell's status for that, and no traceback."""
    with subprocess.Popen(
        [*DEMO], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    ) as process:
        assert process.stdout is not None
        process.stdout.readline()
        process.send_signal(signal.SIGINT)
        printed, complaints = process.communicate(timeout=20)
    assert (process.returncode, complaints) == (130, "")
    assert printed.endswith(f"{ENDED}\n")


def test_nodes_without_room(tmp_path: Path) -> None:
    """What finds no room is told; the tour makes some, or says what it needs."""
    shape = tmp_path / "nodes.yaml"
    for text, status, told in (
        ("[{name: mini, cpu: 2, memory: 4Gi}]", 0, SEEN_OF_ONE_NODE),
        ("{apiVersion: v1, kind: Node, metadata: {name: bare}}", 1, "the tour needs a node"),
    ):
        shape.write_text(text)
        command = [*DEMO, "--exit-after-tour", f"--shape={shape}"]
        done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=120)
        assert done.returncode == status
        assert "of the samples find no room on these nodes" in done.stdout
        assert told in done.stdout + done.stderr


def test_own_nodes(tmp_path: Path) -> None:
    """The shape of the user's own cluster."""
    shape = tmp_path / "nodes.yaml"
    shape.write_text(
        "- {count: 3, name: big, zone: x, cpu: 64, memory: 256Gi}\n- {name: small, zone: z, "
        "cpu: 2, memory: 4Gi}\n"
    )
    with demo(f"--shape={shape}") as shown, contextlib.closing(KubeClient(shown.kubeconfig)) as api:
        assert {node["metadata"]["name"] for node in api.items("/api/v1/nodes")} == {
            "big-1",
            "big-2",
            "big-3",
            "small",
        }


def test_real(assets: Path) -> None:
    """On a kube-apiserver: kubectl works as printed, the tour sees the same, and nothing is
    left.
    """
    with demo("--tour", "--pace=0", program=REAL) as shown:
        kubectl = [str(assets / "kubectl"), f"--kubeconfig={shown.kubeconfig}"]
        assert "binpack" in subprocess.check_output(
            [*kubectl, "get", "sprof"], text=True, timeout=30
        )
        assert shown.process.stdout is not None
        assert any(SEEN in line for line in shown.process.stdout)
        pids = shown.pids()
        shown.process.send_signal(signal.SIGINT)
        assert shown.process.wait(20) == 0
        leaves_nothing(shown, pids)
