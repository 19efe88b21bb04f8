"""Of the invented cluster: what was, and what would have been."""

from __future__ import annotations

import math
import random
from collections.abc import Sequence
from typing import Any

from tests.apps.ui.harbor import NOW, SEED, TRIAL, Document, moment, told

END = NOW.timestamp()
BEGIN, STEP = END - 6 * 3600, 60.0
PLACED_BY = {"batch": 0.163, "binpack": 0.563, "gpu-jobs": 0.016, "spread": 0.258}
"""What part of the pods each schedulerName has."""
POINTS = int((END - BEGIN) / STEP)


def timeline_document() -> Document:
    """Six hours: a leader dies at 11:47, a burst comes at 14:32."""
    draw = random.Random(SEED)
    calm = [math.sin(i / 29) for i in range(POINTS)]
    died = int(POINTS * 0.54)
    placed = [38 + 9 * one + draw.gauss(0, 2) for one in calm]
    waiting = [70 + 20 * one + draw.gauss(0, 6) for one in calm]
    for i in range(12):
        placed[died + i] = 0.0 if i == 0 else 70 - 3 * i
        waiting[died + i] += 300 - 25 * i
    waiting[-1] = 196
    return told(
        "Timeline",
        "6 h of decisions: 2 swaps, 1 change of leader, no gap.",
        begin=BEGIN,
        end=END,
        step=STEP,
        placed=[round(one, 1) for one in placed],
        placedBy={
            name: [round(max(0.0, one * share + draw.gauss(0, 0.08 + share)), 1) for one in placed]
            for name, share in PLACED_BY.items()
        },
        waiting=[round(one) for one in waiting],
        cpu=[round(0.73 + 0.02 * one + draw.gauss(0, 0.004), 3) for one in calm],
        p99=[round(0.3 + max(0.0, one - 100) / 120 + draw.random() / 10, 2) for one in waiting],
        marks=[
            _mark(BEGIN + died * STEP, "leader", None, "moorage-1 leads; no pod is bound twice"),
            _mark(END - 3000, "removed", "night", "nobody decides for night any more"),
            _mark(END - 2048, "swap", "spread", "spread runs ec6fb6b9"),
            _mark(END - 840, "trial", "binpack", "binpack tries 3f9c1b2a"),
            _mark(END - 480, "refused", "batch", "batch was edited and refused; 7a40d3e8 goes on"),
            _mark(END - 8, "burst", "batch", "640 pods of batch in 1 s"),
        ],
        worlds=["binpack@3f9c1b2a", "spread@c0ffee12"],
        progress=1.0,
    )


def _mark(time: float, what: str, profile: str | None, text: str) -> Document:
    return {"time": time, "what": what, "profile": profile, "text": text}


def decisions_document() -> Document:
    """Around the moment."""
    rows: Sequence[tuple[str, str, str | None, int | None, str]] = (
        ("shop/checkout-7c9d5b8f64-lm4vd", "binpack", "general-2210", 2452, ""),
        ("shop/checkout-7c9d5b8f64-c9k2p", "binpack", "general-2210", 2452, ""),
        ("reports/hourly-13-77xkd", "batch", "general-1001", 2110, ""),
        ("ml/tune-sweep-04", "gpu-jobs", None, None, "Insufficient nvidia.com/gpu"),
        ("ops/otel-agent-xw8zr", "spread", "general-0311", 1612, ""),
    )
    found = [
        {
            "time": END - 4 + 0.004 * i,
            "pod": pod,
            "profile": profile,
            "revision": {"binpack": "9d02aa71", "batch": "7a40d3e8", "gpu-jobs": "51be07c4"}.get(
                profile, "ec6fb6b9"
            ),
            "node": node,
            "score": score,
            "message": message,
        }
        for i, (pod, profile, node, score, message) in enumerate(rows)
    ]
    return told("Decisions", "5 decisions from here.", before=found[:2], decisions=found[2:])


# ---- revisions -----------------------------------------------------------------------------------


def history_documents() -> dict[str, Document]:
    """By profile."""
    return {
        "binpack": told(
            "History",
            "binpack decides with 9d02aa71 since 24 Nov; 3f9c1b2a is on trial.",
            profile="binpack",
            revisions=[
                _revision(
                    "3f9c1b2a", "trial", 0.6, "kubectl", "NodeResourcesFit x20 -> x30", "cpu 3 -> 2"
                ),
                _revision("9d02aa71", "active", 77, "kubectl", "weights.NodeAffinity 4 -> 2"),
                _revision("c7715e0d", "-", 222, "argocd", "mostly-cpu: memory 2 -> 1"),
                _revision(
                    "4b1a90f3", "rolled back", 222, "argocd", "3 regressions in 41 decided pods"
                ),
                _revision("0e88d1c6", "-", 960, "argocd", "first that is kept"),
            ],
        ),
        **{
            name: told(
                "History",
                f"{name} decides with {revision} since 24 Nov.",
                profile=name,
                revisions=[_revision(revision, "active", 77, "argocd", "first that is kept")],
            )
            for name, revision in (
                ("batch", "7a40d3e8"),
                ("gpu", "51be07c4"),
                ("spread", "ec6fb6b9"),
            )
        },
    }


def _revision(name: str, state: str, hours: float, changed_by: str, *changes: str) -> Document:
    return {
        "revision": name,
        "state": state,
        "since": moment(hours=hours),
        "seconds": hours * 3600,
        "changedBy": changed_by,
        "number": None if state == "trial" else 1,
        "changes": list(changes),
    }


def trial_documents() -> dict[str, Document]:
    """By profile."""
    running = told(
        "Trial",
        "So far no worse: 312 pods decided by both, 0 regressions (none allowed). About 90 to go.",
        profile="binpack",
        trial=TRIAL,
        pairs=[],
        elsewhere=TRIAL["elsewhere"],
        toGo=90,
    )
    none = {
        name: told(
            "Trial",
            "No trial runs. Start one: spec.rollout.strategy: Canary",
            profile=name,
            trial=None,
            pairs=[],
            elsewhere=[],
            toGo=None,
        )
        for name in ("batch", "gpu", "spread")
    }
    return {"binpack": running, **none}


def difference_documents() -> dict[str, Document]:
    """By ``A B``."""
    a, b = "binpack@9d02aa71", "binpack@3f9c1b2a"
    return {
        f"{a} {b}": told(
            "Difference",
            "2 settings differ in effect, 13 are the same.",
            a=a,
            b=b,
            same=13,
            differences=[
                _setting("weight of NodeResourcesFit", "20", "30", "spec.weights"),
                _setting("NodeResourcesFit resources cpu", "3", "2", "PluginConfig mostly-cpu"),
            ],
            errors={},
        )
    }


def _setting(name: str, a: str, b: str, said_by: str) -> Document:
    sides = {side: {"value": value, "saidBy": said_by} for side, value in (("a", a), ("b", b))}
    return {"setting": name, **sides}


# ---- two worlds ----------------------------------------------------------------------------------


def compare_documents() -> dict[str, Document]:
    """By world B: one that is done, one under way."""
    a, b = "as it was", "binpack@3f9c1b2a"
    text = "B leaves 286 more nodes empty; the wait shows no clear difference."
    done = told(
        "Comparison",
        f"{text} 186,402 arrivals over 6 h.",
        a=a,
        b=b,
        progress=1.0,
        seconds=21_600.0,
        arrivals=186_402,
        measures=list(_measures()),
        placedInBoth=184_760,
        elsewhere=38_799,
        waitingA=14,
        waitingB=17,
        onlyB=[{"pod": f"ml/late-{i}", "reason": "Insufficient memory"} for i in range(3)],
        notes=["Elsewhere: 38,799 pods (21 %). No node only in B: 3."],
        cannotKnow="Cannot know: how users and controllers react (autoscalers too), what extenders "
        "and admission would say, and retries at other times.",
        windowSeconds=900.0,
        windows=_windows(),
    )
    empty = {key: type(done[key])() for key in ("measures", "onlyB", "notes", "windows")}
    under_way = {**done, **empty, "b": "spread@c0ffee12", "progress": 0.4}
    under_way |= {"answer": "World B is being made: 40 %.", "elsewhere": 0}
    return {b: done, "spread@c0ffee12": under_way}


def _measures() -> Any:
    for name, unit, a, b, difference, interval in (
        ("CPU requested, of used", "%", 76.1, 79.6, 3.5, (3.2, 3.8)),
        ("nodes left empty", "", 212.0, 498.0, 286.0, (251.0, 322.0)),
        ("stranded GPUs", "", 118.0, 96.0, -22.0, (-30.0, -13.0)),
        ("wait, p99", "s", 2.1, 2.4, 0.3, (-0.1, 0.7)),
        ("without a node at the end", "", 14.0, 17.0, 3.0, (-2.0, 8.0)),
        ("preempted", "", 31.0, 33.0, 2.0, (-4.0, 8.0)),
    ):
        low, high = interval
        end = f" {unit}" if unit else ""
        yield {
            "name": name,
            "unit": unit,
            "a": a,
            "b": b,
            "difference": difference,
            "interval": [low, high],
            "clear": low > 0 or high < 0,
            "text": {
                "a": f"{a:g}{end}",
                "b": f"{b:g}{end}",
                "difference": f"{difference:+g}",
                "interval": f"{low:+g} .. {high:+g}",
            },
        }


def _windows() -> Document:
    draw = random.Random(SEED)
    return {
        name: {
            "A": [round(a + draw.gauss(0, a / 30), 2) for _ in range(24)],
            "B": [round(b + draw.gauss(0, b / 30), 2) for _ in range(24)],
        }
        for name, a, b in (
            ("CPU requested, of used", 76.1, 79.6),
            ("nodes left empty", 212.0, 498.0),
        )
    }
