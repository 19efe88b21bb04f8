"""``python -m moorage.devcluster``: a cluster until standard input closes, or until it is told to stop."""

from __future__ import annotations

import argparse
import asyncio
import contextlib
import json
import logging
import os
import signal
import sys
import threading
from collections.abc import Sequence
from pathlib import Path

from moorage.devcluster import controllers, shapes
from moorage.devcluster.cluster import DevCluster, Settings
from moorage.devcluster.kinds import Body


def _arguments(words: Sequence[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser("python -m moorage.devcluster", description="A small Kubernetes API server in memory, on loopback.")
    parser.add_argument("--port", type=int, default=0, help="0 takes any")
    parser.add_argument("--nodes", type=int, default=0, help="how many like nodes there are at the start")
    parser.add_argument("--zones", type=int, default=3, help="over how many zones they are spread")
    parser.add_argument("--shape", type=Path, help="a YAML file of nodes, or of groups of like nodes, instead")
    parser.add_argument("--kubeconfig-file", type=Path, help="write the kubeconfig here too")
    parser.add_argument("--start-after", type=float, default=1.0, help="seconds from a pod's binding until it runs")
    parser.add_argument("--stop-after", type=float, default=1.0, help="seconds from a pod's deletion until it is gone")
    parser.add_argument("--no-kubelet", action="store_true", help="nobody starts pods")
    parser.add_argument("--no-controllers", action="store_true", help="an API server alone: no kubelets either")
    return parser.parse_args(words)


def _nodes(arguments: argparse.Namespace) -> list[Body]:
    if arguments.shape:
        return shapes.read(arguments.shape.read_text(encoding="utf-8"), str(arguments.shape))
    return shapes.nodes(arguments.nodes, arguments.zones) if arguments.nodes else []


async def _run(arguments: argparse.Namespace, nodes: Sequence[Body]) -> None:
    stop, loop = asyncio.Event(), asyncio.get_running_loop()
    for signum in (signal.SIGTERM, signal.SIGINT):
        loop.add_signal_handler(signum, stop.set)
    threading.Thread(target=_wait_for_the_end_of_input, args=(loop, stop), daemon=True).start()
    moving = controllers.Settings(arguments.start_after, arguments.stop_after, kubelets=not arguments.no_kubelet)
    if arguments.no_controllers:
        moving = controllers.Settings.bare()
    async with DevCluster(Settings(arguments.port, nodes, moving)) as cluster:
        if arguments.kubeconfig_file:
            arguments.kubeconfig_file.touch(mode=0o600)
            arguments.kubeconfig_file.write_text(cluster.kubeconfig.read_text())
        ready = {"server": cluster.server, "kubeconfig": str(cluster.kubeconfig), "pid": os.getpid()}
        sys.stdout.write(json.dumps(ready) + "\n")
        sys.stdout.flush()
        await stop.wait()


def _wait_for_the_end_of_input(loop: asyncio.AbstractEventLoop, stop: asyncio.Event) -> None:
    """Whoever started this and dies closes our input, on every system."""
    while os.read(sys.stdin.fileno(), 4096):  # not through Python's buffer, whose lock would be held when the process ends
        pass
    with contextlib.suppress(RuntimeError):  # the loop has ended already
        loop.call_soon_threadsafe(stop.set)


def main(words: Sequence[str] | None = None) -> int:
    """Run; 2 where the nodes' file is wrong."""
    logging.basicConfig(level=logging.WARNING, format="%(levelname)s %(name)s: %(message)s")
    arguments = _arguments(words)
    try:
        nodes = _nodes(arguments)
    except (OSError, shapes.ShapeError) as fault:
        sys.stderr.write(f"{fault}\n")
        return 2
    asyncio.run(_run(arguments, nodes))
    return 0


if __name__ == "__main__":
    sys.exit(main())
