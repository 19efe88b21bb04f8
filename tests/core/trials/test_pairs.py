"""Pairs, shares and unbound revisions."""

from __future__ import annotations

import itertools

import pytest

from moorage.core.cycle.context import Decision, Diagnosis, ScheduleResult
from moorage.core.framework.interfaces import ExtensionPoint
from moorage.core.framework.registry import build_registry
from moorage.core.framework.revisions import RequestedProfile, resolve
from moorage.core.framework.status import Code
from moorage.core.plugins.intree import INTREE, PRESETS
from moorage.core.trials.pairs import PairCounts, PairOutcome, compare
from moorage.core.trials.shares import in_share
from moorage.core.trials.unbound import unbound
from tests.builders import make_pod

REVISION = resolve(RequestedProfile("test"), build_registry(INTREE), PRESETS)


def placed(node: str) -> Decision:
    """A placement."""
    return ScheduleResult(make_pod("a"), node, REVISION, 1)


REFUSED = Diagnosis(
    pod=make_pod("a"), revision=REVISION, code=Code.UNSCHEDULABLE, message="0/1 nodes are available"
)
FAILED = Diagnosis.error(make_pod("a"), REVISION, "a bug")


@pytest.mark.parametrize(
    ("live", "trial", "want"),
    [
        (placed("n1"), placed("n1"), PairOutcome.SAME_NODE),
        (placed("n1"), placed("n2"), PairOutcome.OTHER_NODE),
        (REFUSED, REFUSED, PairOutcome.NEITHER),
        (REFUSED, FAILED, PairOutcome.NEITHER),
        (placed("n1"), REFUSED, PairOutcome.REGRESSION),
        (placed("n1"), FAILED, PairOutcome.REGRESSION),
        (REFUSED, placed("n1"), PairOutcome.IMPROVEMENT),
    ],
)
def test_what_a_pair_comes_to(live: Decision, trial: Decision, want: PairOutcome) -> None:
    """An error is a refusal."""
    assert compare(live, trial) is want


def test_each_outcome_is_counted_by_itself() -> None:
    """And the sums are those of the parts."""
    counts = PairCounts()
    for outcome, times in zip(PairOutcome, itertools.count(1)):
        for _ in range(times):
            counts = counts.with_(outcome)
    assert counts == PairCounts(1, 2, 3, 4, 5)
    assert (counts.decided, counts.agreed, counts.concordant) == (15, 4, 6)


def test_shares_are_of_the_size_that_is_asked_for() -> None:
    """A pod's side is the same each time; all of a smaller share are in a larger one, and another
    revision has other pods.
    """
    uids = [f"uid-{i}" for i in range(20_000)]
    ten = {uid for uid in uids if in_share(uid, "3f9c1b2a", 10)}
    assert abs(len(ten) - 2000) < 200
    assert ten == {uid for uid in uids if in_share(uid, "3f9c1b2a", 10)}
    assert ten < {uid for uid in uids if in_share(uid, "3f9c1b2a", 20)}
    assert abs(len(ten & {uid for uid in uids if in_share(uid, "9d02aa71", 10)}) - 200) < 70
    assert [in_share("a", "b", percent) for percent in (0, 100)] == [False, True]


def test_unbound_revisions_make_no_room() -> None:
    """All else is the same."""
    made = unbound(REVISION)
    assert REVISION.points[ExtensionPoint.POST_FILTER]
    nobody = {ExtensionPoint.POST_FILTER: (), ExtensionPoint.POD_GROUP_POST_FILTER: ()}
    assert made.points == {**REVISION.points, **nobody}
    assert (made.id, made.deciders) == (REVISION.id, REVISION.deciders)
