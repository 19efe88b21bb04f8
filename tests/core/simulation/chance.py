"""Worlds that differ by chance alone: any node that fits takes a pod, in either of them."""

from __future__ import annotations

import dataclasses
import random
from typing import Any, ClassVar, Final

import numpy as np

from moorage.api.resolution import Resolver
from moorage.core.columns.nodes.node_table import Aspect, Rows
from moorage.core.columns.snapshot import Snapshot
from moorage.core.framework.interfaces import PreFilterResult, Scores
from moorage.core.framework.registry import PluginSpec, build_registry
from moorage.core.framework.status import SUCCESS
from moorage.core.objects.pods import Pod
from moorage.core.plugins.intree import INTREE, PRESETS
from moorage.core.simulation.recorded_times import Timed
from moorage.core.simulation.world_comparisons import WorldComparison
from tests.builders import make_node
from tests.core.simulation.clusters import a_context
from tests.core.simulation.comparisons import compare
from tests.core.simulation.recordings import crowds, recorded
from tests.engine.worlds import a_body


@dataclasses.dataclass(frozen=True)
class Dice:
    """Ranks nodes by chance, each time otherwise: so its worlds owe nothing to how ties end."""

    name: ClassVar[str] = "Dice"
    events_to_register: ClassVar[tuple[()]] = ()
    reads: ClassVar[frozenset[Aspect]] = frozenset({Aspect.RESOURCES})
    rng: ClassVar[random.Random] = random.Random()

    def pre_score(self, pod: Pod, snapshot: Snapshot) -> PreFilterResult:
        """Nobody ranks for two pods."""
        return PreFilterResult(SUCCESS, pod.metadata.uid)

    def score(self, state: Any, snapshot: Snapshot, rows: Rows) -> Scores:
        """0 to 100."""
        return np.array([self.rng.randrange(101) for _ in snapshot.nodes.live[rows]], np.int64)


_RESOLVER: Final = Resolver(build_registry((*INTREE, PluginSpec("Dice", Dice))), PRESETS)
_DICE: Final = {point: {"enabled": [{"name": "Dice"}]} for point in ("preScore", "score")}
ANY: Final = {"test": _RESOLVER(a_body("test", preset="NoScoring"), {}).revision}
"""Any node that fits, as ties end."""
_OTHER: Final = a_body("test", preset="NoScoring", plugins=_DICE)
ANY_OTHER: Final = {"test": _RESOLVER(_OTHER, {}).revision}
"""Any node that fits, but another one."""


def crowded(seed: int, seconds: float, end: float) -> list[Timed]:
    """A recording of ten nodes, of which any takes a pod; pods run for this long on average."""
    nodes = [make_node(f"n{i}", cpu="8", memory="16Gi") for i in range(10)]
    return recorded(a_context(nodes), crowds(seed, seconds, end), end, ANY)


def compared_by_chance(seed: int, seconds: float, end: float) -> WorldComparison:
    """No difference is one. The same for the same seed."""
    Dice.rng.seed(seed)
    return compare(crowded(seed, seconds, end), seed, ANY_OTHER)
