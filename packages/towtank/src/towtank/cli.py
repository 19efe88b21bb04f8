"""The command ``towtank``: a cluster until standard input closes, or until a signal ends it."""

from __future__ import annotations

import argparse
import asyncio
import contextlib
import errno
import json
import logging
import os
import signal
import sys
import tempfile
import threading
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, Final

from towtank import node_shapes
from towtank.cluster import Cluster, ClusterSettings
from towtank.controllers import manager
from towtank.model.kinds import Body

_MAX_SECONDS: Final = 86_400


def _arguments(words: Sequence[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        "python -m towtank", description="A small Kubernetes API server in memory, on loopback."
    )
    for name, settings in _OPTIONS.items():
        parser.add_argument(name, **settings)
    return parser.parse_args(words)


def _number(least: int, most: int) -> Callable[[str], int]:
    def number(word: str) -> int:
        if not (
            word.isascii() and word.isdigit() and len(word) < 10 and least <= int(word) <= most
        ):
            raise argparse.ArgumentTypeError(f"{word!r} is no whole number from {least} to {most}")
        return int(word)

    return number


def _seconds(word: str) -> float:
    try:
        seconds = float(word)
    except ValueError:
        seconds = -1
    if not 0 <= seconds <= _MAX_SECONDS:
        raise argparse.ArgumentTypeError(
            f"{word!r} is no number of seconds from 0 to {_MAX_SECONDS}"
        )
    return seconds


_OPTIONS: Final[Mapping[str, Mapping[str, Any]]] = {
    "--port": {"type": _number(0, 65535), "default": 0, "help": "0 takes any"},
    "--nodes": {
        "type": _number(0, node_shapes.MAX_NODES),
        "default": 0,
        "help": "how many like nodes there are at the start",
    },
    "--zones": {
        "type": _number(1, node_shapes.MAX_NODES),
        "default": 3,
        "help": "over how many zones they are spread",
    },
    "--shape": {
        "type": Path,
        "help": "a YAML file of nodes, or of groups of like nodes, instead",
    },
    "--kubeconfig-file": {"type": Path, "help": "write the kubeconfig here too"},
    "--start-after": {
        "type": _seconds,
        "default": 1.0,
        "help": "seconds from a pod's binding until it runs",
    },
    "--stop-after": {
        "type": _seconds,
        "default": 1.0,
        "help": "seconds from a pod's deletion until it is gone",
    },
    "--no-kubelet": {"action": "store_true", "help": "nobody starts pods"},
    "--no-controllers": {
        "action": "store_true",
        "help": "an API server alone: no kubelets either",
    },
}


def _nodes(arguments: argparse.Namespace) -> list[Body]:
    if arguments.shape:
        return node_shapes.read_shape(
            arguments.shape.read_text(encoding="utf-8"), str(arguments.shape)
        )
    return node_shapes.like_nodes(arguments.nodes, arguments.zones) if arguments.nodes else []


def _controllers(arguments: argparse.Namespace) -> manager.ControllerSettings:
    if arguments.no_controllers:
        return manager.ControllerSettings.none()
    return manager.ControllerSettings(
        arguments.start_after, arguments.stop_after, kubelets=not arguments.no_kubelet
    )


async def _run(arguments: argparse.Namespace, nodes: Sequence[Body]) -> None:
    stop = _end_of_the_run()
    settings = ClusterSettings(arguments.port, nodes, _controllers(arguments))
    async with Cluster(settings) as cluster:
        if arguments.kubeconfig_file:
            _write_secret(arguments.kubeconfig_file, cluster.kubeconfig.read_text())
        ready = {
            "server": cluster.server,
            "kubeconfig": str(cluster.kubeconfig),
            "pid": os.getpid(),
        }
        sys.stdout.write(json.dumps(ready) + "\n")
        sys.stdout.flush()
        await stop.wait()


def _end_of_the_run() -> asyncio.Event:
    """Set by a signal, or when standard input closes."""
    stop, loop = asyncio.Event(), asyncio.get_running_loop()
    # on Windows: there, the end of input and Ctrl-C end us
    with contextlib.suppress(NotImplementedError):
        for signum in (signal.SIGTERM, signal.SIGINT):
            loop.add_signal_handler(signum, stop.set)
    # it is None where it was closed from the start: then a signal ends us
    if sys.stdin is not None:
        threading.Thread(target=_wait_for_end_of_input, args=(loop, stop), daemon=True).start()
    return stop


def _write_secret(file: Path, text: str) -> None:
    """For our own eyes, whoever may read the file that was there before."""
    handle, name = tempfile.mkstemp(prefix=f".{file.name}.", dir=file.parent)  # of mode 0600
    try:
        with os.fdopen(handle, "w", encoding="utf-8") as made:
            made.write(text)
        Path(name).replace(file)
    except OSError:
        Path(name).unlink()
        raise


def _wait_for_end_of_input(loop: asyncio.AbstractEventLoop, stop: asyncio.Event) -> None:
    """Whoever started this and dies closes our input, on every system."""
    # not through Python's buffer, whose lock would be held when the process ends
    while os.read(sys.stdin.fileno(), 4096):
        pass
    with contextlib.suppress(RuntimeError):  # the loop has ended already
        loop.call_soon_threadsafe(stop.set)


def _told(fault: OSError, port: int) -> str:
    if fault.errno == errno.EADDRINUSE:
        return f"port {port} is taken by another process; --port 0 takes a free one"
    path = fault.filename2 or fault.filename  # the second one is where a file was to be moved
    where = f"{path}: " if path else ""
    return f"{where}{fault.strerror or fault}"


def main(words: Sequence[str] | None = None) -> int:
    """Run. 2: the command or the nodes' file is wrong; 1: the system refuses something."""
    logging.basicConfig(level=logging.WARNING, format="%(levelname)s %(name)s: %(message)s")
    arguments = _arguments(words)
    try:
        nodes = _nodes(arguments)
    except (OSError, UnicodeError, node_shapes.ShapeError) as fault:
        sys.stderr.write(f"{fault}\n")
        return 2
    try:
        asyncio.run(_run(arguments, nodes))
    except OSError as fault:  # a port in use, a kubeconfig that cannot be written
        sys.stderr.write(f"{_told(fault, arguments.port)}\n")
        return 1
    except KeyboardInterrupt:
        return 130
    return 0
