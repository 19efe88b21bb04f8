"""The search, on a part of which it is known what each profile comes to."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from moorage.apps.tune.profile_space import space_of
from moorage.apps.tune.searching import ProfileSearch, SearchLimits, TriedProfile
from moorage.core.framework.revisions import Revision
from moorage.core.simulation.judgements import Goal, Goals, best_few
from moorage.core.simulation.measures import EMPTY_NODES, WAITING
from moorage.core.simulation.recorded_parts import (
    LookListener,
    MeasuredRerun,
    RecordedPart,
    nobody_listens,
)
from tests.apps.worlds.recordings import RESOLVER
from tests.engine.worlds import a_body

FIT, IMAGES = "NodeResourcesFit", "ImageLocality"
GOALS = Goals((Goal(EMPTY_NODES, more=True),), (Goal(WAITING, more=False),))
Rule = Callable[[Revision], tuple[float, float]]


class RuledPart(RecordedPart):
    """How many nodes are empty and how many pods wait follows from the revision alone."""

    def __init__(self, rule: Rule) -> None:
        self._rule = rule
        self.reruns = 0

    def rerun(
        self,
        candidates: Mapping[str, Revision],
        replica: int = 0,
        look: LookListener = nobody_listens,
    ) -> MeasuredRerun:
        """As the rule says."""
        self.reruns += 1
        empty, waiting = self._rule(candidates["test"])
        return MeasuredRerun({EMPTY_NODES: [empty] * 20, WAITING: [waiting] * 20}, {}, (), 0)


def searched(rule: Rule, trials: int, seed: int = 0) -> tuple[list[TriedProfile], RuledPart]:
    """What is tried from preset Default on, by this rule."""
    part, present = RuledPart(rule), RESOLVER(a_body("test"), {})
    search = ProfileSearch(
        space=space_of(present.document, present.revision, ("cpu", "memory"), ()),
        resolver=RESOLVER,
        part=part,
        scheduler_name="test",
        present=part.rerun({"test": present.revision}).windows,
        goals=GOALS,
    )
    heard: list[float] = []
    found = search.run(SearchLimits(trials, None, seed), heard.append)
    assert heard == sorted(heard) and all(0 <= one < 1 for one in heard)
    return found, part


def best(found: list[TriedProfile]) -> TriedProfile:
    """The one that is judged first."""
    return found[best_few([one.outcome for one in found], 1)[0]]


def test_a_weight_that_is_best_is_found() -> None:
    """34 is, whatever else is changed; and nothing else is changed in the end."""

    def rule(revision: Revision) -> tuple[float, float]:
        return 50 - abs(revision.weights.get(FIT, 0) - 34), 0

    for seed in range(3):
        spec = best(searched(rule, 60, seed)[0]).body["spec"]
        assert list(spec) == ["weights"] and list(spec["weights"]) == [FIT]
        assert 30 <= spec["weights"][FIT] <= 38


def test_what_is_guarded_bounds_the_search() -> None:
    """The heavier the better, but pods wait from 20 on."""

    def rule(revision: Revision) -> tuple[float, float]:
        weight = revision.weights.get(FIT, 0)
        return float(weight), float(weight > 20)

    found, _ = searched(rule, 60)
    assert 15 <= best(found).body["spec"]["weights"][FIT] <= 20
    assert any(one.outcome.losses[0] for one in found)


def test_the_same_profile_is_had_again_once() -> None:
    """However often it is tried; the present one is no candidate."""
    found, part = searched(lambda revision: (float(FIT in revision.weights), 0.0), 40)
    assert part.reruns - 1 == len({one.revision.id for one in found})
    assert [one.number for one in found] == list(range(1, len(found) + 1))
