"""How long simulations take, load included: ``python -m tests.bench.simulation``.

Two snapshots are written first, which is not counted: 5,000 nodes with 20,000 pods that wait, and
1,000 nodes with 20,000 pods on them. Then `moorage simulate` places the pods of the one and drains
each node of the other, each in a process of its own. Bars: 12 and 20 seconds. Exit status 1 where
one is missed.
"""

from __future__ import annotations

import subprocess
import sys
import tempfile
import time
from collections.abc import Iterable, Iterator
from pathlib import Path

from moorage.adapters.recording import Recorder, RecordingHeader, SingleFile
from moorage.apps.worlds.deciding import DEFAULT_SCHEDULER, default_profile, in_tree_resolver
from moorage.core.columns.changes import Entry
from moorage.core.cycle.context import CycleContext
from moorage.core.objects.nodes import Node
from moorage.core.objects.pods import Pod
from moorage.core.recording.key_frames import key_frame
from moorage.core.recording.wire import EntryEncoder
from tests.builders import make_node
from tests.core.simulation.clusters import HOST, ZONE, a_context, a_pod

CPU, MEMORY = ("250m", "500m", "1", "2"), ("512Mi", "1Gi", "4Gi")
APPS = 200
RESOLVER = in_tree_resolver()


def node(i: int) -> Node:
    """A node of 32 processors in one of three zones."""
    labels = {ZONE: f"z{i % 3}", HOST: f"n{i}"}
    return make_node(f"n{i}", cpu="32", memory="128Gi", labels=labels)


def pod(i: int, on: str = "") -> Pod:
    """A pod of one of 200 applications, which come in twelve sizes."""
    return a_pod(
        f"p{i}",
        on,
        cpu=CPU[i % len(CPU)],
        memory=MEMORY[i % len(MEMORY)],
        labels={"app": f"a{i % APPS}"},
        scheduler_name=DEFAULT_SCHEDULER,
    )


def write(path: Path, entries: Iterable[Entry]) -> None:
    """A snapshot with this state."""
    header = RecordingHeader(versions={"moorage": "bench"})
    encoder = EntryEncoder(RESOLVER.document)
    recorder = Recorder(SingleFile(path), header, encoder, time.time)
    recorder.start()
    recorder.put_key_frame(entries)
    recorder.close(600)
    if recorder.failure is not None:
        raise recorder.failure


def state(context: CycleContext) -> Iterator[Entry]:
    """With preset Default."""
    default = default_profile(RESOLVER)
    return key_frame(context.cache, {default.scheduler_name: default.revision})


def seconds(*words: str) -> float:
    """How long a command takes, from its start to its end."""
    began = time.monotonic()
    command = [sys.executable, "-I", "-m", "moorage", "simulate", *words]
    done = subprocess.run(command, check=False, capture_output=True, text=True)
    if done.returncode not in (0, 1):
        raise SystemExit(done.stderr)
    print(done.stdout.splitlines()[0])
    return time.monotonic() - began


def main() -> int:
    """Measure both."""
    with tempfile.TemporaryDirectory() as folder:
        waiting, placed = Path(folder) / "waiting.snap", Path(folder) / "placed.snap"
        write(waiting, state(a_context(map(node, range(5_000)), map(pod, range(20_000)))))
        nodes = range(1_000)
        on_nodes = (pod(i, f"n{i % len(nodes)}") for i in range(20_000))
        write(placed, state(a_context(map(node, nodes), on_nodes)))
        found = {
            "20,000 pods placed on 5,000 nodes": (seconds(str(waiting)), 12),
            "1,000 nodes drained, 20 pods each": (
                seconds(str(placed), "--each-node-drained"),
                20,
            ),
        }
    for what, (took, bar) in found.items():
        print(f"{what}: {took:.1f} s (at most {bar})")
    return int(any(took > bar for took, bar in found.values()))


if __name__ == "__main__":
    raise SystemExit(main())
