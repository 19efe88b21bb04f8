"""A plugin that raises: the attempt fails, and whatever was kept from pod to pod is as right
afterwards as if it never had.
"""

from __future__ import annotations

import contextlib
import dataclasses
from typing import Any, ClassVar

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from moorage.core.columns.cache import Cache
from moorage.core.columns.change_log import Versioned
from moorage.core.columns.nodes.node_table import Aspect, Rows
from moorage.core.columns.snapshot import Snapshot
from moorage.core.cycle.context import CycleContext, Diagnosis, ScheduleResult
from moorage.core.cycle.cycle import decide
from moorage.core.framework.interfaces import Codes, PreFilterResult, Scores
from moorage.core.framework.presets import Preset
from moorage.core.framework.registry import PluginSpec, build_registry
from moorage.core.framework.revisions import RequestedProfile, Revision, resolve
from moorage.core.framework.status import SUCCESS, Code, Reason
from moorage.core.objects.pods import Pod
from tests.builders import make_node, make_pod
from tests.core.framework.plugins import REGISTRY, Plain


@dataclasses.dataclass(frozen=True)
class Moody(Plain):
    """Refuses small nodes, prefers big ones; raises in the methods that are in ``moods``."""

    name = "Moody"
    reads: ClassVar[frozenset[Aspect]] = frozenset({Aspect.RESOURCES})
    moods: ClassVar[set[str]] = set()

    def _maybe(self, method: str) -> None:
        if method in self.moods:
            raise ZeroDivisionError(method)

    def pre_filter(self, pod: Pod, snapshot: Snapshot) -> PreFilterResult:
        """How much is small: 2000 millicores."""
        self._maybe("pre_filter")
        return PreFilterResult(SUCCESS, 2000)

    def filter(self, state: Any, snapshot: Snapshot, rows: Rows) -> Codes:
        """1 for small nodes; without ``pre_filter``'s state, nothing would be small."""
        self._maybe("filter")
        small = snapshot.nodes.allocatable[0][rows] < (state if isinstance(state, int) else 0)
        codes: Codes = small.astype(np.int64)
        return codes

    def explain(self, state: Any, code: int) -> tuple[tuple[Reason, str], ...]:
        """One reason."""
        self._maybe("explain")
        return ((Reason("Small", "small", Code.UNSCHEDULABLE), ""),)

    def pre_score(self, pod: Pod, snapshot: Snapshot) -> PreFilterResult:
        """A sign."""
        self._maybe("pre_score")
        return PreFilterResult(SUCCESS, 1)

    def score(self, state: Any, snapshot: Snapshot, rows: Rows) -> Scores:
        """Millicores; without ``pre_score``'s state, fewer are better."""
        self._maybe("score")
        scores: Scores = snapshot.nodes.allocatable[0][rows] * (1 if state == 1 else -1)
        return scores

    def normalize_score(self, state: Any, raw: Scores) -> Scores:
        """The least becomes 0, the most 100."""
        self._maybe("normalize")
        low = raw.min(initial=0)
        stretched: Scores = (raw - low) * 100 // max(1, int(raw.max(initial=0) - low))
        return stretched

    def depends_on(self, snapshot: Snapshot) -> tuple[Versioned, ...]:
        """Cordons."""
        self._maybe("depends")
        return (snapshot.nodes.logs[Aspect.TAINTS],)


METHODS = ("pre_filter", "filter", "explain", "pre_score", "score", "normalize", "depends")


def moody() -> Revision:
    """A revision with the plugin."""
    registry = build_registry(REGISTRY.values(), [PluginSpec("Moody", Moody)])
    return resolve(
        RequestedProfile("test"),
        registry,
        {"Default": Preset("Default", (("Sort", 1), ("Moody", 1), ("Bind", 1)))},
    )


def brief(outcome: ScheduleResult | Diagnosis) -> tuple[Any, ...]:
    """What counts of an outcome."""
    return (
        (outcome.node, outcome.score)
        if isinstance(outcome, ScheduleResult)
        else (outcome.code, outcome.message)
    )


STEPS = st.tuples(
    st.lists(st.tuples(st.sampled_from("abcde"), st.integers(1, 6), st.booleans()), max_size=3),
    st.sets(st.sampled_from(METHODS), max_size=2),
)


@given(st.lists(STEPS, min_size=1, max_size=8))
def test_what_is_kept_survives_a_fault(
    steps: list[tuple[list[tuple[str, int, bool]], set[str]]],
) -> None:
    """Nodes come and change, methods raise at any time; as soon as none does, the decision is that
    of a scheduler without a past.
    """
    revision, cache = moody(), Cache()
    context = CycleContext(cache)
    for changes, moods in steps:
        for name, cores, cordoned in changes:
            cache.put_node(make_node(name, cpu=str(cores), unschedulable=cordoned))
        Moody.moods.update(moods)
        with contextlib.suppress(ZeroDivisionError):
            decide(make_pod("x"), revision, context)
        Moody.moods.clear()
        assert brief(decide(make_pod("x"), revision, context)) == brief(
            decide(make_pod("x"), revision, CycleContext(cache))
        )


@pytest.mark.parametrize("method", METHODS)
def test_a_fault_repeats_until_the_plugin_is_well(method: str) -> None:
    """Attempts on an unchanged cluster do not pass for lack of news; when it is well, what changed
    before the fault counts.
    """
    revision, cache = moody(), Cache()
    context = CycleContext(cache)
    sizes = (
        {"a": 1, "b": 3, "c": 4, "d": 5, "e": 4, "f": 3}
        if method != "explain"
        else {"a": 1, "b": 1, "c": 1}
    )
    for name, cores in sizes.items():
        cache.put_node(make_node(name, cpu=str(cores)))
    if method not in ("pre_filter", "pre_score", "explain"):
        decide(make_pod("x"), revision, context)
    cache.put_node(make_node("b", cpu="8" if method != "explain" else "1", unschedulable=True))
    Moody.moods.add(method)
    try:
        for _ in range(3):
            with pytest.raises(ZeroDivisionError):
                decide(make_pod("x"), revision, context)
    finally:
        Moody.moods.clear()
    assert brief(decide(make_pod("x"), revision, context)) == brief(
        decide(make_pod("x"), revision, CycleContext(cache))
    )
