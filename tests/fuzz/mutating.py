"""Objects mutated from those of kube-scheduler's cases, which are like real ones."""

from __future__ import annotations

import copy
import random
from collections.abc import Iterator
from typing import Any

from tests.vectors.families import BUILT
from tests.vectors.files import CASES, read_cases
from tests.vectors.scheduling import STORED, scheduling

ODD: tuple[Any, ...] = (
    *(
        None,
        "",
        0,
        -1,
        1,
        2**31,
        2**63,
        2**70,
        -(2**63),
        1.5,
        1e308,
        True,
        False,
        [],
        {},
        [None],
        {"": None},
        [[]],
        "0",
        "-1",
    ),
    *(
        "1e400",
        "9" * 40,
        "1Ki",
        "1.5",
        "-5m",
        "1000000000000000000000E",
        "None",
        "*",
        "a" * 300,
        "é",
        "\u202e",
        "\x00",
        "\ud7ff",
        "/",
        "=,",
    ),
    *(
        "In",
        "Exists",
        "Gt",
        "NoSchedule",
        "kubernetes.io/hostname",
        "n0",
        "default",
        "true",
        "2026-01-01T00:00:00Z",
        "2026-13-01",
    ),
)
"""Values for any place."""


def bodies() -> dict[str, list[dict[str, Any]]]:
    """List of a case (nodes, pods, ...) -> the objects of all cases; ``pods`` has the pods that are
    to be placed too.
    """
    found: dict[str, list[dict[str, Any]]] = {name: [] for name in ("nodes", "pods", *STORED)}
    for family in sorted(family for family, adapter in BUILT.items() if adapter is scheduling):
        for case in read_cases(CASES / f"{family}.jsonl.gz"):
            for name, objects in case.get("objects", {}).items():
                if name in found:
                    found[name] += objects
            found["pods"].append(case["pod"])
    return {name: objects for name, objects in found.items() if objects}


def mutated(body: dict[str, Any], chance: random.Random) -> dict[str, Any]:
    """The object with up to three places changed: another value, none at all, one more, or
    another's.
    """
    changed = copy.deepcopy(body)
    for _ in range(chance.choice((0, 1, 1, 2, 3))):
        places = [
            place for place in _places(changed) if place[0] is not changed or place[1] != "metadata"
        ]
        if not places:
            break
        parent, at = chance.choice(places)
        what = chance.random()
        if what < 0.6:
            parent[at] = copy.deepcopy(chance.choice(ODD))
        elif what < 0.75:
            del parent[at]
        elif what < 0.9 and isinstance(parent, list):
            parent.insert(at, copy.deepcopy(parent[at]))
        else:
            other, there = chance.choice(places)
            parent[at] = (
                copy.deepcopy(other[there])
                if (there in other if isinstance(other, dict) else there < len(other))
                else None
            )
    return changed


def _places(value: Any) -> Iterator[tuple[Any, Any]]:
    items = (
        value.items()
        if isinstance(value, dict)
        else enumerate(value)
        if isinstance(value, list)
        else ()
    )
    for at, one in list(items):
        yield value, at
        yield from _places(one)
