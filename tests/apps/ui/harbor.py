"""An invented cluster, harbor-prod: 5,000 nodes, 61,480 pods, four profiles, at 14:32:08 of 27
November 2026. Its documents are consistent with each other.
"""

from __future__ import annotations

import datetime
import math
import random
from collections.abc import Mapping
from typing import Any, Final

from moorage.apps.printing.documents import API_VERSION

Document = dict[str, Any]
Files = dict[str, Document]
"""By the path's last part, or a table of documents by parameter."""

NOW: Final = datetime.datetime(2026, 11, 27, 14, 32, 8, tzinfo=datetime.UTC)
SEED: Final = 20261127
ZONES: Final = ("fra1-a", "fra1-b", "fra1-c")
GI: Final = 1024**3
PROFILES: Final = ("batch", "binpack", "gpu", "spread")
SCHEDULERS: Final = {name: name for name in PROFILES} | {"gpu": "gpu-jobs"}
"""The schedulerName of each profile."""
GPU: Final = "nvidia.com/gpu"


def told(kind: str, answer: str, source: str = "", **more: Any) -> Document:
    """A document."""
    return {
        "apiVersion": API_VERSION,
        "kind": kind,
        "answer": answer,
        "at": moment(),
        "source": source or "the operator, moorage-1_77ab",
        "leftOut": [],
        **more,
    }


def moment(**ago: float) -> str:
    """So long ago, in RFC 3339."""
    when = NOW - datetime.timedelta(**ago)
    return when.isoformat(timespec="milliseconds").replace("+00:00", "Z")


# ---- nodes ---------------------------------------------------------------------------------------

POOLS: Final = {
    # name: nodes, millicores, GiB, GPUs
    "general": (4200, 16_000, 64, 0),
    "gpu-a100": (240, 96_000, 1100, 8),
    "highmem": (560, 32_000, 256, 0),
}
CLASSES: Final = (
    ({"cpu": 500, "memory": GI, "pods": 1}, 38_214, 3),
    ({"cpu": 2000, "memory": 8 * GI, "pods": 1}, 22_100, 163),
    ({"cpu": 12_000, "memory": 96 * GI, "pods": 1, GPU: 4}, 820, 14),
    ({"cpu": 24_000, "memory": 200 * GI, "pods": 1, GPU: 8}, 346, 16),
)
"""What pods ask for, how many there are, and how many of them wait."""


def nodes_document(share: float = 1.0) -> Document:
    """Nodes; the first of each pool and zone are full, the last empty. ``share`` of the usual
    load.
    """
    draw = random.Random(SEED)
    names, zones, pools, flags, pods = [], [], [], [], []
    columns: dict[str, dict[str, list[int]]] = {
        name: {"allocatable": [], "requested": [], "stranded": []}
        for name in ("cpu", "memory", "pods", GPU)
    }
    for pool, (pool_name, (count, cpu, memory, gpus)) in enumerate(POOLS.items()):
        for number in range(1, count + 1):
            names.append(f"{pool_name}-{number:04}")
            zones.append(number % 3)
            pools.append(pool)
            flags.append(_flag(pool_name, number))
            load = _load(draw, number / count) * share
            uses = {
                "cpu": (cpu, round(cpu * load * draw.uniform(0.85, 1) / 100) * 100),
                "memory": (memory * GI, round(memory * load * draw.uniform(0.55, 1)) * GI),
                "pods": (
                    110,
                    math.ceil(18 * load) if pool_name == "general" else math.ceil(9 * load),
                ),
                GPU: (gpus, min(gpus, round(gpus * load * draw.uniform(0.6, 1.1)))),
            }
            for name, (allocatable, requested) in uses.items():
                columns[name]["allocatable"].append(allocatable)
                columns[name]["requested"].append(min(requested, allocatable))
            pods.append(uses["pods"][1])
    _strand(columns, len(names))
    return told(
        "Nodes",
        "5,000 nodes: 73 % of the cpu is asked for; 212 nodes are empty, 16 take no pods.",
        names=names,
        zones=zones,
        zoneNames=list(ZONES),
        pools=pools,
        poolNames=list(POOLS),
        poolLabel="node.kubernetes.io/pool",
        resources=columns,
        pods=pods,
        flags=flags,
        classes=[
            {"asks": asks, "pods": pods, "waiting": waiting} for asks, pods, waiting in CLASSES
        ],
        stranded=[
            _stranded_room(columns, "cpu", "cpu out of reach: memory is full"),
            _stranded_room(columns, "memory", "memory out of reach: cpu is full"),
            _stranded_room(
                columns, GPU, "GPUs out of reach: cpu or memory is short, or too few are together"
            ),
        ],
    )


def _load(draw: random.Random, place: float) -> float:
    if place > 0.957:
        return 0.0
    return (
        draw.uniform(0.93, 1)
        if place < 0.6
        else max(0.05, 1.9 - 1.6 * place + draw.gauss(0, 0.1)) * 0.8
    )


def _flag(pool: str, number: int) -> int:
    if pool != "gpu-a100":
        return 0
    return 1 if number % 20 == 7 else 2 if number % 60 == 3 else 0


def _strand(columns: Mapping[str, dict[str, list[int]]], count: int) -> None:
    """As ``page_documents.ColumnItem`` says."""
    for row in range(count):
        free = {
            name: column["allocatable"][row] - column["requested"][row]
            for name, column in columns.items()
        }
        for name, column in columns.items():
            asking = [(asks, pods) for asks, pods, _ in CLASSES if name in asks]
            short = sum(
                pods for asks, pods in asking if any(free[each] < asks[each] for each in asks)
            )
            column["stranded"].append(free[name] * short // sum(pods for _, pods in asking))


def _stranded_room(columns: Mapping[str, dict[str, list[int]]], name: str, text: str) -> Document:
    column = columns[name]
    free = sum(column["allocatable"]) - sum(column["requested"])
    amount, nodes = sum(column["stranded"]), sum(map(bool, column["stranded"]))
    return {"resource": name, "text": text, "amount": amount, "free": free, "nodes": nodes}


def node_documents(nodes: Document) -> Document:
    """Some of them."""
    chosen = ("general-0001", "general-1843", "general-4200", "gpu-a100-0117", "highmem-0052")
    return {name: _node_document(nodes, name) for name in chosen if name in nodes["names"]}


def _node_document(nodes: Document, name: str) -> Document:
    row = nodes["names"].index(name)
    draw = random.Random(name)
    amounts = {
        resource: {part: column[part][row] for part in ("allocatable", "requested")}
        for resource, column in nodes["resources"].items()
    }
    count = nodes["pods"][row]
    asked = amounts["cpu"]["requested"] // count if count else 0
    pods = [
        {
            "pod": f"shop/checkout-7c9d5b8f64-{_suffix(draw)}",
            "profile": draw.choice(("binpack", "binpack", "spread")),
            "priority": 5000,
            "asks": {"cpu": f"{asked}m", "memory": "2Gi"},
        }
        for _ in range(count)
    ]
    return told(
        "Node",
        f"{name} has {_free(amounts['cpu']) / 1000:g} cores free.",
        name=name,
        zone=ZONES[nodes["zones"][row]],
        pool=nodes["poolNames"][nodes["pools"][row]],
        flags=nodes["flags"][row],
        taints=[],
        labels={"topology.kubernetes.io/zone": ZONES[nodes["zones"][row]]},
        resources=amounts,
        profiles={one: sum(pod["profile"] == one for pod in pods) for one in ("binpack", "spread")},
        pods=pods,
    )


def _free(amount: Mapping[str, int]) -> int:
    return amount["allocatable"] - amount["requested"]


def _suffix(draw: random.Random) -> str:
    return "".join(draw.choices("bcdfghjklmnpqrstvwxz2456789", k=5))


# ---- status and queue ----------------------------------------------------------------------------

TRIAL: Final = {
    "revision": "3f9c1b2a",
    "strategy": "Canary",
    "against": "9d02aa71",
    "pods": 402,
    "since": moment(minutes=14),
    "verdict": "SoFarNoWorse",
    "decided": 312,
    "agreed": 291,
    "refused": 4,
    "regressions": 0,
    "improvements": 0,
    "worseByAtMost": "1.6",
    "regressed": [],
    "elsewhere": [
        {"pod": pod, "uid": f"u-{pod}", "node": node, "triedNode": tried}
        for pod, node, tried in (
            ("ops/loki-write-2", "highmem-0052", "highmem-0127"),
            ("shop/search-6f7b9c9d44-vv2xk", "general-0406", "general-2210"),
            ("shop/checkout-7c9d5b8f64-x2lqp", "general-1843", "general-2210"),
        )
    ],
}


def status_document() -> Document:
    """Two profiles need a look."""
    refused = (
        'spec.weights[NodeResourcesFitt]: no plugin has this name; did you mean "NodeResourcesFit"?'
    )
    return told(
        "Status",
        "2 of 4 profiles need a look. 38 pods/s find a node, 196 wait.",
        problems=[
            {
                "severity": "bad",
                "profile": "batch",
                "text": f"spec refused: {refused} 7a40d3e8 goes on deciding since 24 Nov.",
                "since": moment(minutes=8),
                "next": "moorage diff batch --spec",
            },
            {
                "severity": "trial",
                "profile": "binpack",
                "text": "canary of 3f9c1b2a: 312 decided twice, 287 same node, 0 regressions; "
                "about 90 to go.",
                "since": moment(minutes=14),
                "next": "moorage trial binpack",
            },
        ],
        profiles=[
            _profile("batch", "BinPack", "7a40d3e8", (41, 0, 0, 120), (6.2, 0.48), 3940)
            | {"ready": "False", "state": "Refused", "reason": "LastGood", "message": refused}
            | {"desiredRevision": None},
            _profile("binpack", "BinPack", "9d02aa71", (3, 1, 0, 0), (21.4, 0.19), 38_214)
            | {"ready": "Unknown", "state": "Trial", "reason": "TrialRunning", "trial": TRIAL}
            | {"desiredRevision": "3f9c1b2a"},
            _profile("gpu", "BinPack", "51be07c4", (0, 4, 9, 16), (0.6, 0.24), 1386),
            _profile("spread", "Spread", "ec6fb6b9", (0, 0, 2, 0), (9.8, 0.17), 17_940),
        ],
        groups=[
            _group("ml/train-llm", (16, 0, 24), 7860, "16 of 24 members are here"),
            _group("ml/tune-sweep", (3, 1, 4), 380, f"240 Insufficient {GPU}")
            | {"roomHeldUntil": moment(seconds=-204)},
        ],
        replicas=[
            _replica("moorage-1_77ab", "Leader"),
            _replica("moorage-0_1c2d", "Standby"),
        ],
        rates={"placed": 38.0, "p99": 0.21},
    )


def _profile(
    name: str,
    preset: str,
    revision: str,
    depth: tuple[int, int, int, int],
    rates: tuple[float, float],
    pods: int,
) -> Document:
    return {
        "name": name,
        "schedulerName": SCHEDULERS[name],
        "preset": preset,
        "created": moment(days=40 + 10 * len(name)),
        "ready": "True",
        "state": "Ready",
        "reason": "Ready",
        "message": "",
        "activeRevision": revision,
        "activeSince": moment(days=3, hours=5),
        "desiredRevision": revision,
        "trial": None,
        "queue": dict(zip(("active", "backoff", "unschedulable", "gated"), depth, strict=True)),
        "rates": dict(zip(("placed", "p99"), rates, strict=True)),
        "pods": pods,
    }


def _group(name: str, members: tuple[int, int, int], seconds: float, why: str) -> Document:
    waiting, placed, least = members
    return {
        "group": name,
        "api": "scheduling.k8s.io/v1beta1",
        "schedulerName": SCHEDULERS["gpu"],
        "waiting": waiting,
        "placed": placed,
        "minCount": least,
        "since": moment(seconds=seconds),
        "why": why,
        "roomHeldUntil": None,
    }


def _replica(name: str, role: str) -> Document:
    since = moment(hours=25)
    return {"name": name, "role": role, "revisions": "4 of 4", "watches": "fresh", "since": since}


GROUPS: Final = ("ml/train-llm", "ml/tune-sweep")


def queue_document() -> Document:
    """196 pods: 44 next, 5 in backoff, 11 without a node, 136 gated."""
    draw = random.Random(SEED)
    rows = [
        *(
            _row(draw, f"shop/{name}", [f"shop/{name}"], "binpack", 5000, "active", 0.1, "next")
            for name in (
                "checkout-7c9d5b8f64-k8wnd",
                "checkout-7c9d5b8f64-p4r7s",
                "search-6f7b9c9d44-vv2xk",
            )
        ),
        _row(draw, "reports/nightly-0412", 41, "batch", 0, "active", 0.9, "next"),
        _row(
            draw, "ml/tune-sweep-17", ["ml/tune-sweep-17"], "gpu", 1000, "backoff", 360, "backoff"
        ),
        _row(draw, "ml/tune-sweep", 3, "gpu", 1000, "backoff", 380, "backoff"),
        _row(draw, "shop/cart-5d8f6b7c9-zz9p2", 1, "binpack", 5000, "backoff", 12, "backoff"),
        _row(draw, "ml/eval-vision", 9, "gpu", 1000, "unschedulable", 2820, f"Insufficient {GPU}"),
        _row(
            draw,
            "shop/cart-5d8f6b7c9",
            2,
            "spread",
            5000,
            "unschedulable",
            180,
            "zone spread wants fra1-a: no room",
        ),
        _row(
            draw, "ml/train-llm", 16, "gpu", 2000, "gated", 7860, "group waits for 8 more members"
        ),
        _row(
            draw,
            "reports/backfill",
            120,
            "batch",
            0,
            "gated",
            1080,
            "gate kueue.x-k8s.io/admission",
        ),
    ]
    pods = _numbered(rows)
    return told(
        "Queue",
        "196 pods wait. The next 44 will be tried within 2 s; 11 find no node; 136 are gated.",
        ordered=True,
        depth={"active": 44, "backoff": 5, "unschedulable": 11, "gated": 136},
        pods=pods,
        rows=rows,
    )


def _row(
    draw: random.Random,
    name: str,
    pods: list[str] | int,
    profile: str,
    priority: int,
    queue: str,
    seconds: float,
    why: str,
) -> Document:
    if isinstance(pods, int):
        pods = [
            f"{name}-{i}" if name.startswith("ml/") else f"{name}-{_suffix(draw)}"
            for i in range(pods)
        ]
    until = {
        "active": None,
        "backoff": moment(seconds=-4),
        "unschedulable": moment(seconds=-290),
        "gated": None,
    }[queue]
    return {
        "name": name,
        "pods": pods,
        "schedulerName": SCHEDULERS[profile],
        "priority": priority,
        "queue": queue,
        "first": None,
        "last": None,
        "since": moment(seconds=seconds),
        "why": why,
        "until": until,
    }


def _numbered(rows: list[Document]) -> list[Document]:
    """Every pod, and positions in both, for those that are tried by themselves."""
    pods: list[Document] = []
    for row in rows:
        has_place = row["queue"] in ("active", "backoff")
        if has_place:
            row["first"], row["last"] = len(pods) + 1, len(pods) + len(row["pods"])
        pods += [
            {
                "pod": pod,
                "schedulerName": row["schedulerName"],
                "priority": row["priority"],
                "queue": row["queue"],
                "position": row["first"] + i if has_place else None,
                "attempts": {"active": 0, "backoff": 4, "unschedulable": 7, "gated": 0}[
                    row["queue"]
                ],
                "since": row["since"],
                "until": row["until"],
                "reasons": [row["why"]] if row["queue"] != "active" else [],
                "wakesOn": ["Pod/Delete", "Node/Add"] if row["queue"] == "unschedulable" else [],
                "group": row["name"] if row["name"] in GROUPS else None,
                "roomHeldUntil": None,
            }
            for i, pod in enumerate(row["pods"])
        ]
    return pods
