"""A cluster for the demo's board, and a program that shows it: ``python -m tests.apps.demo.boards
SECONDS``, whose feed stands still so many seconds after its beginning, until Enter is pressed.
"""

from __future__ import annotations

import dataclasses
import datetime
import sys
import time
from typing import Final

from rich.console import Console

from moorage.apps.demo.cluster_state import (
    ClusterState,
    DecisionRow,
    GatedPod,
    NodeUse,
    ProfileRow,
    ReplicaRow,
)
from moorage.apps.demo.screen import Screen

NOW: Final = datetime.datetime(2026, 11, 27, 14, 32, 8, tzinfo=datetime.UTC)
EXPORT: Final = "export KUBECONFIG=/tmp/moorage-demo-3hx1/kubeconfig"
PROBLEM: Final = (
    "spec.weights[NodeResourcesFitt]: no plugin has this name; did you mean "
    '"NodeResourcesFit"? ae890778 goes on deciding.'
)
HELP: Final = "\n".join(f"help {number}" for number in range(20))


def ago(seconds: float) -> datetime.datetime:
    """A time."""
    return NOW - datetime.timedelta(seconds=seconds)


def harbor() -> ClusterState:
    """A refused profile, six nodes, decisions that repeat each other, gated pods."""
    spread = [DecisionRow(ago(1), "demo/spread-mv78r", "node-c1", "spread", "ec6fb6b9")]
    large = [
        DecisionRow(ago(2 + number), f"demo/large-{number}", "", "binpack", "ae890778")
        for number in range(3)
    ]
    return ClusterState(
        profiles=(
            ProfileRow("binpack", 2, "ae890778cc", False, PROBLEM, 3, 0),
            ProfileRow("spread", 1, "ec6fb6b9cc", True, "", 0, 0, 2),
        ),
        nodes=tuple(
            NodeUse(f"node-{zone}{number}", zone, 0.1 * number, 0.05, number)
            for zone in "abc"
            for number in (1, 2)
        ),
        decisions=(*spread, *large),
        replicas=(
            ReplicaRow("moorage-0", 17, leads=False),
            ReplicaRow("moorage-1", 18, leads=True),
        ),
        places={"binpack": {"demo/binpack-656n9": "node-a1"}},
        refused={row.pod: "6 Insufficient cpu" for row in large},
        owners={row.pod: "demo/large" for row in large}
        | {f"demo/web-{number}": "demo/web-5c6f" for number in range(2)},
        gated=tuple(
            GatedPod(ago(4 + number), f"demo/web-{number}", "example.com/quota")
            for number in range(2)
        ),
        placed_per_second=22.0,
    )


def main(fresh_seconds: float) -> None:
    """Until Enter is pressed."""
    console = Console()
    screen = Screen(console)
    screen.say("before")
    state = dataclasses.replace(harbor(), read_at=time.monotonic(), fresh_seconds=fresh_seconds)
    screen.show(state)
    with screen.board(EXPORT, HELP):
        screen.say("\nsaid meanwhile")
        while not screen.key():
            screen.show(state)
            time.sleep(0.02)
    screen.say("after")


if __name__ == "__main__":
    main(float(sys.argv[1]))
