"""What recording costs, and how fast decisions are made again: ``python -m tests.bench.recording
[--nodes N] [--pods N]``.

An operator that records serves an embedded cluster on which all pods are created as fast as it
takes them; each becomes Running as a kubelet would have it. Printed, with the bars of
docs/adr/0014-recording-and-replay.md:

* the share of the operator's CPU: the writer's thread, the steps in which whole states are taken,
  and what appending costs (its number times what one costs in a loop of these same entries);
* bytes of a file by the entries in it;
* decisions a second of a replay, and how long the last moment takes to open.
"""

from __future__ import annotations

import argparse
import asyncio
import dataclasses
import json
import math
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final
from unittest import mock

import aiohttp

from moorage.adapters.recording import Recorder, RecordingHeader, SingleFile, read_recording
from moorage.api.operator_config import load_config
from moorage.apps.run import operator_process, state_recording
from moorage.core.columns.changes import Entry
from moorage.core.recording.wire import EntryEncoder
from moorage.engine.recording import StateRecording
from tests.bench.embedded import NODES, PODS, connected
from tests.replaying import opened, replayed
from tests.rig import DevRig
from towtank import node_shapes

NAME: Final = "recorded"
MAX_SHARE, MAX_BYTES, MIN_DECISIONS, MAX_OPENING = 0.03, 150.0, 1500.0, 2.0
WORKERS: Final = 16
SAMPLE_SECONDS: Final = 0.1


@dataclasses.dataclass(frozen=True)
class Sample:
    """What an operator has used so far: seconds of CPU, but for ``appended`` and ``bytes``."""

    process: float
    writer: float
    states: float
    appended: int
    bytes: int

    def since(self, before: Sample) -> Sample:
        """What was used in between."""
        mine, others = dataclasses.astuple(self), dataclasses.astuple(before)
        return Sample(*(one - other for one, other in zip(mine, others, strict=True)))


# ---- the operator's process ----------------------------------------------------------------------


class SampledRecorder(Recorder):
    """Counts what is appended."""

    made: SampledRecorder
    appended = 0
    states = 0.0

    def __init__(self, *parts: Any) -> None:
        super().__init__(*parts)
        SampledRecorder.made = self

    def append(self, entry: Entry, /) -> None:
        """Counted."""
        self.appended += 1
        super().append(entry)

    def sample(self) -> Sample:
        """Now."""
        thread = self._writer._thread.ident
        clock = time.pthread_getcpuclockid(thread) if thread is not None else 0
        writer = time.clock_gettime(clock) if thread is not None else 0.0
        return Sample(time.process_time(), writer, self.states, self.appended, self.written)


class SampledRecording(StateRecording):
    """Measures the steps that are not appending."""

    def lead(self) -> None:
        """Measured."""
        begun = time.thread_time()
        super().lead()
        SampledRecorder.made.states += time.thread_time() - begun

    def _tick(self) -> None:
        begun = time.thread_time()
        super()._tick()
        SampledRecorder.made.states += time.thread_time() - begun


def operate(kubeconfig: str, folder: Path) -> int:
    """Run an operator that records, and write down what it uses."""
    flags = {
        "clientConnection.kubeconfig": kubeconfig,
        "serving.securePort": "0",
        "recording.directory": str(folder / "ring"),
    }

    def write() -> None:
        while True:
            time.sleep(SAMPLE_SECONDS)
            if hasattr(SampledRecorder, "made"):
                text = json.dumps(dataclasses.asdict(SampledRecorder.made.sample()))
                (folder / "next").write_text(text, encoding="ascii")
                (folder / "next").replace(folder / "sample")

    threading.Thread(target=write, daemon=True).start()
    with mock.patch.multiple(
        state_recording, Recorder=SampledRecorder, StateRecording=SampledRecording
    ):
        return operator_process.run(load_config(None, {}, flags))


# ---- the load ------------------------------------------------------------------------------------


def pod_bodies(count: int) -> Iterator[dict[str, Any]]:
    """Of 50 Deployments."""
    for i in range(count):
        app = f"app-{i % 50}"
        owner = {"apiVersion": "apps/v1", "kind": "ReplicaSet", "name": app, "uid": f"uid-{app}"}
        requests = {"cpu": f"{100 + 10 * (i % 50)}m", "memory": "64Mi"}
        yield {
            "metadata": {
                "name": f"pod-{i}",
                "labels": {"app": app, "pod-template-hash": f"{7919 * (i % 50):08x}"},
                "ownerReferences": [{**owner, "controller": True}],
            },
            "spec": {
                "schedulerName": NAME,
                "containers": [
                    {
                        "name": "main",
                        "image": f"registry.example/{app}:1",
                        "env": [{"name": "A", "value": "B"}],
                        "resources": {"requests": requests},
                    }
                ],
            },
        }


async def put(session: aiohttp.ClientSession, path: str, bodies: list[dict[str, Any]]) -> None:
    """Create them, some at a time."""
    left = iter(bodies)

    async def create() -> None:
        for body in left:
            async with session.post(path, json=body) as response:
                response.raise_for_status()

    await asyncio.gather(*(create() for _ in range(WORKERS)))


async def run_pods(session: aiohttp.ClientSession, count: int) -> None:
    """Have each pod Running once it is bound, until all are."""
    running, tasks = set[str](), list[asyncio.Task[None]]()
    patch = json.dumps({"status": {"phase": "Running"}})
    headers = {"Content-Type": "application/merge-patch+json"}

    async def run(name: str) -> None:
        async with session.patch(f"{PODS}/{name}/status", data=patch, headers=headers) as answer:
            answer.raise_for_status()

    async with session.get("/api/v1/pods", params={"watch": "true"}) as response:
        async for line in response.content:
            pod = json.loads(line)["object"]
            name = pod["metadata"]["name"]
            if pod["spec"].get("nodeName") and name not in running:
                running.add(name)
                tasks.append(asyncio.create_task(run(name)))
            if len(running) == count:
                break
    await asyncio.gather(*tasks)


async def load(rig: DevRig, folder: Path, nodes: int, pods: int) -> Sample:
    """What the operator used for so many pods."""
    async with connected(rig) as session:
        await put(session, NODES, list(node_shapes.like_nodes(nodes, 3)))
        while not (folder / "ring").exists():
            await asyncio.sleep(SAMPLE_SECONDS)  # it does not lead yet
        await asyncio.sleep(3)
        before = sample(folder)
        begun = time.perf_counter()
        runs = asyncio.create_task(run_pods(session, pods))
        await put(session, PODS, list(pod_bodies(pods)))
        await runs
        took = time.perf_counter() - begun
        await asyncio.sleep(3)
    print(f"{pods} pods placed in {took:.1f} s: {pods / took:.0f} a second")
    return sample(folder).since(before)


def sample(folder: Path) -> Sample:
    """The last one."""
    return Sample(**json.loads((folder / "sample").read_text(encoding="ascii")))


# ---- what is printed -----------------------------------------------------------------------------


def told(text: str, value: float, bar: float, *, at_most: bool = True) -> None:
    """A number beside its bar."""
    good = value <= bar if at_most else value >= bar
    print(f"{'ok  ' if good else 'FAIL'} {text} ({'at most' if at_most else 'at least'} {bar:g})")


def appending(entries: list[Entry], folder: Path) -> float:
    """Seconds of CPU of making and appending one of these."""
    recorder = Recorder(
        SingleFile(folder / "never"), RecordingHeader(), EntryEncoder(lambda _: {}), time.time
    )
    recorder.put_key_frame([])
    made = [(type(one), [getattr(one, name) for name in one.__struct_fields__]) for one in entries]
    begun = time.thread_time()
    for kind, fields in made:
        recorder.append(kind(*fields))
    return (time.thread_time() - begun) / len(entries)


def report(used: Sample, path: Path, folder: Path) -> None:
    """Everything, printed."""
    recording = read_recording(path)
    entries = [entry for seconds, entry in recording if seconds > recording.key_frames[0]]
    unit = appending(entries[:50_000], folder)
    seams = used.states + unit * used.appended
    share = (used.writer + seams) / used.process
    print(
        f"of {used.process:.2f} s of CPU: writer {used.writer:.3f} s, whole states "
        f"{used.states:.3f} s, {used.appended} times appending of {1e6 * unit:.2f} us"
    )
    told(f"{100 * share:.2f} % of the process's CPU", share, MAX_SHARE)
    each = used.bytes / used.appended
    told(f"{each:.0f} bytes a change, key frames included", each, MAX_BYTES)
    begun = time.perf_counter()
    again = replayed(path)
    rate = again.replay.decisions / (time.perf_counter() - begun)
    told(f"{rate:.0f} decisions a second, changes included", rate, MIN_DECISIONS, at_most=False)
    print(f"{again.replay.decisions} made again, {again.replay.not_made_again} could not be")
    print(*again.differences[:5], sep="\n", end="" if not again.differences else "\n")
    begun = time.perf_counter()
    opened(path, math.inf)
    opening = time.perf_counter() - begun
    told(f"{opening:.2f} s to open the end, from the last whole state", opening, MAX_OPENING)


def main(arguments: list[str]) -> None:
    """The command line."""
    parser = argparse.ArgumentParser(prog="python -m tests.bench.recording")
    parser.add_argument("--nodes", type=int, default=1000)
    parser.add_argument("--pods", type=int, default=5000)
    parser.add_argument("--operate", nargs=2, help=argparse.SUPPRESS)
    options = parser.parse_args(arguments)
    if options.operate:
        sys.exit(operate(options.operate[0], Path(options.operate[1])))
    with DevRig() as rig, tempfile.TemporaryDirectory(prefix="moorage-bench-") as home:
        prepare = Path(__file__).with_name("prepare.py")
        subprocess.run([sys.executable, str(prepare), str(rig.kubeconfig), NAME], check=True)
        command = [sys.executable, "-m", "tests.bench.recording", "--operate"]
        with (Path(home) / "log").open("wb") as log:
            operator = subprocess.Popen([*command, str(rig.kubeconfig), home], stderr=log)
        try:
            used = asyncio.run(load(rig, Path(home), options.nodes, options.pods))
        finally:
            operator.terminate()
            operator.wait(30)
        report(used, next((Path(home) / "ring").iterdir()), Path(home))


if __name__ == "__main__":
    main(sys.argv[1:])
