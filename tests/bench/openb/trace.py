"""The trace: nodes, pods, orders of arrival, and what was published (README.md beside this)."""

from __future__ import annotations

import csv
import gzip
import io
from collections import Counter, defaultdict
from collections.abc import Iterator
from pathlib import Path
from typing import Final, NamedTuple

_HERE: Final = Path(__file__).resolve().parent
WHOLE: Final = 1000
"""Thousandths of one GPU."""


class TraceNode(NamedTuple):
    """A node: cpu in thousandths, memory in MiB, devices of one model."""

    name: str
    cpu: int
    memory: int
    gpus: int
    model: str


class TracePod(NamedTuple):
    """What a pod asks for; ``milli`` is of each device."""

    cpu: int
    memory: int
    gpus: int
    milli: int


def nodes() -> list[TraceNode]:
    """The nodes with GPUs."""
    return [
        TraceNode(
            row["sn"],
            int(row["cpu_milli"]),
            int(row["memory_mib"]),
            int(row["gpu"]),
            row["model"],
        )
        for row in _rows("nodes.csv.gz")
    ]


def pods() -> list[TracePod]:
    """The default list, in the order that arrivals refer to."""
    return [TracePod(*map(int, row.values())) for row in _rows("pods.csv.gz")]


def orders() -> dict[int, list[int]]:
    """By seed: the places of pods in the list as they arrive."""
    return {int(row["seed"]): [*map(int, row["pods"].split())] for row in _rows("orders.csv.gz")}


def published() -> dict[str, dict[int, float]]:
    """By policy and seed: percent of GPUs allocated at a demand of 130 %."""
    found: defaultdict[str, dict[int, float]] = defaultdict(dict)
    with (_HERE / "published.csv").open(encoding="utf-8") as file:
        for row in csv.DictReader(file):
            found[row["policy"]][int(row["seed"])] = float(row["allocated"])
    return found


def weights() -> Counter[TracePod]:
    """How often each request is in the list."""
    return Counter(pod for pod in pods() if pod.gpus)


def _rows(name: str) -> Iterator[dict[str, str]]:
    csv.field_size_limit(2**24)
    text = gzip.decompress((_HERE / name).read_bytes()).decode()
    yield from csv.DictReader(io.StringIO(text))
