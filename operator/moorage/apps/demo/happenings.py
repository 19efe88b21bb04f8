"""What happened last, in rows: decisions and gated pods, those that repeat each other in one row
with a count. Pure.
"""

from __future__ import annotations

import dataclasses
import datetime
from collections.abc import Iterable, Iterator

from moorage.apps.demo.cluster_state import ClusterState, DecisionRow, GatedPod


@dataclasses.dataclass(slots=True)
class Happening:
    """The same about one pod, or about some that one controller made; ``at``: the last time."""

    at: datetime.datetime
    owner: str
    text: str
    """The node, or why there is none."""
    profile: str
    """Of the decision; "" where there is none."""
    placed: bool = False
    pods: set[str] = dataclasses.field(default_factory=set)
    times: int = 0

    @property
    def name(self) -> str:
        """The pod, or what controls the pods; with how many these are, or how often it was."""
        if len(self.pods) > 1:
            return f"{self.owner} ({len(self.pods)} pods)"
        (pod,) = self.pods
        return f"{pod} ({self.times} times)" if self.times > 1 else pod


def decided(state: ClusterState) -> list[Happening]:
    """The decisions, the newest first."""
    return _folded(_of_decision(one, state) for one in state.decisions)


def gated(state: ClusterState) -> list[Happening]:
    """The pods that gates hold, the newest first."""
    return _folded(_of_gate(one, state) for one in state.gated)


def outcome(decision: DecisionRow, state: ClusterState) -> str:
    """The node that a pod got; or that there is none, or that it failed, and why when that is
    known.
    """
    if decision.node:
        return decision.node
    failed = state.failed.get(decision.pod, "")
    what, why = ("failed", failed) if failed else ("no node", state.refused.get(decision.pod, ""))
    return f"{what}: {why}" if why else what


def _of_decision(decision: DecisionRow, state: ClusterState) -> tuple[str, Happening]:
    owner = state.owners.get(decision.pod, decision.pod)
    text, placed = outcome(decision, state), bool(decision.node)
    return decision.pod, Happening(decision.at, owner, text, decision.profile, placed)


def _of_gate(gated: GatedPod, state: ClusterState) -> tuple[str, Happening]:
    owner = state.owners.get(gated.pod, gated.pod)
    return gated.pod, Happening(gated.at, owner, f"gated: {gated.gate}", "")


def _folded(found: Iterable[tuple[str, Happening]]) -> list[Happening]:
    rows: dict[tuple[str, str, str], Happening] = {}
    for pod, one in found:
        row = rows.setdefault((one.owner, one.text, one.profile), one)
        row.pods.add(pod)
        row.times += 1
    return list(rows.values())


def newest(state: ClusterState, most: int) -> Iterator[Happening]:
    """So many rows: what gates hold stays in sight, however much is decided meanwhile."""
    decisions, held = decided(state), gated(state)
    kept = held[: max(most // 2, most - len(decisions))]
    yield from decisions[: most - len(kept)]
    yield from kept
