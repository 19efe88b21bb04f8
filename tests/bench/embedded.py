"""How fast the embedded cluster is: ``python -m tests.bench.embedded [--nodes N] [--pods N] [--rate
N] [--seconds N]``.

Over HTTP and TLS, from another process: nodes and pods are created, the nodes listed as JSON and as
a Table, and the pods' status written at a rate while three clients watch all pods. A write is late
by the time from its answer to the moment when the last client has its event.
"""

from __future__ import annotations

import argparse
import asyncio
import contextlib
import dataclasses
import os
import ssl
import statistics
import sys
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Iterable, Mapping
from pathlib import Path
from typing import Any, Final

import aiohttp
import msgspec

from tests.rig import DevRig
from tests.rig.base import ControlPlane
from towtank import node_shapes

NODES: Final = "/api/v1/nodes"
PODS: Final = "/api/v1/namespaces/default/pods"
TABLE: Final = "application/json;as=Table;v=v1;g=meta.k8s.io"
CONNECTIONS: Final = 8
WATCHERS: Final = 3
_PATIENCE: Final = 30.0
"""Seconds in which watchers must have caught up with the last write."""


class _Metadata(msgspec.Struct, frozen=True, rename="camel"):
    resource_version: str


class _Object(msgspec.Struct, frozen=True):
    metadata: _Metadata


class _Event(msgspec.Struct, frozen=True):
    type: str
    object: _Object


_EVENTS: Final = msgspec.json.Decoder(_Event)
_OBJECTS: Final = msgspec.json.Decoder(_Object)


class Watcher:
    """Watches all pods, and notes when it had which version."""

    def __init__(self) -> None:
        self.had: dict[str, float] = {}
        """Version -> when, in the order in which they came."""

    async def run(self, session: aiohttp.ClientSession, since: str) -> None:
        """Until cancelled."""
        async with session.get(
            "/api/v1/pods", params={"watch": "true", "resourceVersion": since}
        ) as response:
            response.raise_for_status()
            async for line in response.content:
                event = _EVENTS.decode(line)
                self.had[event.object.metadata.resource_version] = time.perf_counter()


@dataclasses.dataclass(frozen=True)
class Watched:
    """What became of writes that were watched."""

    seconds: float
    answered: Mapping[str, float]
    """Version -> when the writer had its answer."""
    had: tuple[Mapping[str, float], ...]
    """Of each watcher: version -> when it had it, in the order in which they came."""

    @property
    def rate(self) -> float:
        """Writes a second."""
        return len(self.answered) / self.seconds

    @property
    def delays(self) -> list[float]:
        """Of each write the seconds until the last watcher had it; 0 where that was before its
        answer.
        """
        return [
            max(0.0, max(had[version] for had in self.had) - when)
            for version, when in self.answered.items()
        ]


@contextlib.asynccontextmanager
async def connected(rig: ControlPlane) -> AsyncIterator[aiohttp.ClientSession]:
    """A session as the administrator."""
    context = ssl.create_default_context(cafile=str(rig.authority_file))
    context.load_cert_chain(*rig.credentials)
    connector = aiohttp.TCPConnector(ssl=context, limit=0)
    async with aiohttp.ClientSession(
        rig.server,
        connector=connector,
        timeout=aiohttp.ClientTimeout(total=300),
        read_bufsize=2**20,
    ) as session:
        yield session


async def load(session: aiohttp.ClientSession, nodes: int, pods: int) -> float:
    """Create so many; returns the seconds."""
    bodies = [(NODES, body) for body in node_shapes.like_nodes(nodes, 3)]
    container = {
        "name": "main",
        "image": "registry.example/app:1",
        "resources": {"requests": {"cpu": "100m", "memory": "64Mi"}},
    }
    spec = {"schedulerName": "nobody", "containers": [container]}
    bodies += [
        (PODS, {"metadata": {"name": f"pod-{i}", "labels": {"app": f"app-{i % 50}"}}, "spec": spec})
        for i in range(pods)
    ]

    async def create(job: tuple[str, Any]) -> None:
        async with session.post(job[0], json=job[1]) as response:
            response.raise_for_status()
            await response.read()

    started = time.perf_counter()
    await _by_workers(bodies, create)
    return time.perf_counter() - started


async def listed(
    session: aiohttp.ClientSession, accept: str = "application/json"
) -> tuple[float, int]:
    """(the seconds that a list of all nodes takes, how many they are)."""
    started = time.perf_counter()
    async with session.get(NODES, headers={"Accept": accept}) as response:
        response.raise_for_status()
        text = await response.read()
    seconds = time.perf_counter() - started
    found = msgspec.json.decode(text)
    return seconds, len(found["rows" if "rows" in found else "items"])


async def watched_writes(
    session: aiohttp.ClientSession, pods: int, rate: float, seconds: float
) -> Watched:
    """Write pods' status at this rate, one after another, while three clients watch them."""
    async with session.get("/api/v1/pods", params={"limit": "1"}) as response:
        since = _OBJECTS.decode(await response.read()).metadata.resource_version
    watchers = [Watcher() for _ in range(WATCHERS)]
    tasks = [asyncio.create_task(watcher.run(session, since)) for watcher in watchers]
    answered: dict[str, float] = {}
    begun = time.perf_counter()

    async def write(number: int) -> None:
        await asyncio.sleep(max(0.0, begun + number / rate - time.perf_counter()))
        patch = msgspec.json.encode({"status": {"message": f"write {number}"}})
        headers = {"Content-Type": "application/merge-patch+json"}
        async with session.patch(
            f"{PODS}/pod-{number % pods}/status", data=patch, headers=headers
        ) as response:
            response.raise_for_status()
            text = await response.read()
        when = time.perf_counter()
        answered[_OBJECTS.decode(text).metadata.resource_version] = when

    await _by_workers(range(int(rate * seconds)), write)
    took = time.perf_counter() - begun
    try:
        async with asyncio.timeout(_PATIENCE):
            while not all(answered.keys() <= watcher.had.keys() for watcher in watchers):
                for task in tasks:
                    if task.done():
                        task.result()
                await asyncio.sleep(0.05)
    finally:
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
    return Watched(took, answered, tuple(watcher.had for watcher in watchers))


async def _by_workers(jobs: Iterable[Any], work: Callable[[Any], Awaitable[None]]) -> None:
    """Do the jobs in order, some at a time."""
    left = iter(jobs)

    async def run() -> None:
        for job in left:
            await work(job)

    async with asyncio.TaskGroup() as group:
        for _ in range(CONNECTIONS):
            group.create_task(run())


def processor(rig: ControlPlane) -> float:
    """Seconds of a processor that the API server's process has used."""
    user, system = (
        Path(f"/proc/{rig.pids()[-1]}/stat")
        .read_text(encoding="ascii")
        .rsplit(")", 1)[1]
        .split()[11:13]
    )
    return (int(user) + int(system)) / os.sysconf("SC_CLK_TCK")


def rss(rig: ControlPlane) -> float:
    """MB of memory that the API server's process has."""
    lines = Path(f"/proc/{rig.pids()[-1]}/status").read_text(encoding="ascii").splitlines()
    return next(int(line.split()[1]) for line in lines if line.startswith("VmRSS")) / 1024


async def measure(rig: ControlPlane, options: argparse.Namespace) -> None:
    """Everything, printed."""
    async with connected(rig) as session:
        print(f"{rss(rig):.0f} MB at the start")
        took = await load(session, options.nodes, options.pods)
        print(
            f"{took:.1f} s to create {options.nodes} nodes and {options.pods} pods: "
            f"{(options.nodes + options.pods) / took:.0f} a second"
        )
        print(f"{rss(rig):.0f} MB with them")
        for name, accept in (("JSON", "application/json"), ("a Table", TABLE)):
            for again in ("first", "then"):
                seconds, count = await listed(session, accept)
                print(f"{seconds:.2f} s to list {count} nodes as {name}, {again}")
        used = processor(rig)
        done = await watched_writes(session, options.pods, options.rate, options.seconds)
        delays = sorted(done.delays)
        print(
            f"{done.rate:.0f} writes a second while {WATCHERS} clients watch, of "
            f"{options.rate:.0f} wanted"
        )
        print(
            f"{(processor(rig) - used) / len(done.answered) * 1000:.2f} ms of a processor for one"
        )
        print(
            f"{statistics.median(delays) * 1000:.1f} ms from a write's answer until the last one "
            f"had it (median), "
            f"{delays[int(len(delays) * 0.99)] * 1000:.1f} ms (99th percentile), "
            f"{delays[-1] * 1000:.1f} ms (longest)"
        )
        print(f"{rss(rig):.0f} MB at the end")


def main(arguments: list[str]) -> None:
    """The command line."""
    parser = argparse.ArgumentParser(prog="python -m tests.bench.embedded")
    parser.add_argument("--nodes", type=int, default=5000)
    parser.add_argument("--pods", type=int, default=10000)
    parser.add_argument("--rate", type=float, default=500)
    parser.add_argument("--seconds", type=float, default=10)
    options = parser.parse_args(arguments)
    with DevRig() as rig:
        asyncio.run(measure(rig, options))


if __name__ == "__main__":
    main(sys.argv[1:])
