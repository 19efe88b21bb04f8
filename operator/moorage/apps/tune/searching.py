"""The search: optuna says where to look next, and each profile is tried on the first part alone.

Source: optuna's Tree-structured Parzen Estimator, with constraints for what must not get worse
(Bergstra et al., "Algorithms for Hyper-Parameter Optimization", NeurIPS 2011).
"""

from __future__ import annotations

import dataclasses
import importlib
import itertools
import math
import time
from collections.abc import Callable
from typing import Any, Final

from moorage.api.resolution import Resolver
from moorage.apps.exit_status import NoAnswer
from moorage.apps.tune.profile_space import Point, ProfileSpace
from moorage.core.framework.revisions import Revision
from moorage.core.simulation.judgements import FINALISTS, Goals, SearchOutcome, best_few, outcome
from moorage.core.simulation.recorded_parts import RecordedPart
from moorage.core.simulation.windows import Windows

WANTED: Final = "moorage tune needs optuna: pip install 'moorage[tune]'"


@dataclasses.dataclass(frozen=True, slots=True)
class SearchLimits:
    """When to end. ``seconds``: None for no such end."""

    trials: int
    seconds: float | None
    seed: int


@dataclasses.dataclass(frozen=True, slots=True)
class TriedProfile:
    """A profile that was tried, and what it came to; ``number`` counts from 1."""

    number: int
    point: Point
    body: dict[str, Any]
    revision: Revision
    outcome: SearchOutcome


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class ProfileSearch:
    """Tries profiles of a space on a part of a recording, of which it alone knows.

    ``scheduler_name``: whose pods they are to place; ``present``: what the present profile comes
    to there.
    """

    space: ProfileSpace
    resolver: Resolver
    part: RecordedPart
    scheduler_name: str
    present: Windows
    goals: Goals
    _known: dict[str, SearchOutcome] = dataclasses.field(default_factory=dict, init=False)
    """By revision: what was tried already."""

    def run(self, limits: SearchLimits, tell: Callable[[float], None]) -> list[TriedProfile]:
        """All that was tried, in order; ``tell`` hears the share that is done. The same for the
        same seed, unless time ends it.
        """
        study = _study(limits.seed, len(self.goals.gains))
        for point in itertools.islice(self.space.beginnings(), limits.trials):
            study.enqueue_trial(point)
        found: list[TriedProfile] = []
        begin = time.monotonic()
        while len(found) < limits.trials:
            spent = (time.monotonic() - begin) / (limits.seconds or math.inf)
            if spent >= 1:
                return found
            tell(max(len(found) / limits.trials, spent))
            trial = study.ask()
            tried = self._try(len(found) + 1, self.space.choose(trial))
            for i, loss in enumerate(tried.outcome.losses):
                trial.set_constraint(str(i), loss)
            study.tell(trial, tried.outcome.gains)
            found.append(tried)
        for i in best_few([one.outcome for one in found], FINALISTS):
            found += self._simpler(found[i], len(found))
        return found

    # ---- inside ----------------------------------------------------------------------------------

    def _simpler(self, tried: TriedProfile, number: int) -> list[TriedProfile]:
        """Steps to one without the changes that gain nothing: they may do harm that is not
        measured. ``number``: how many were tried before.
        """
        steps = [tried]
        for name, value in self.space.present().items():
            point = {**steps[-1].point, name: value}
            if steps[-1].point[name] != value:
                step = self._try(number + len(steps), point)
                if step.outcome.no_worse_than(steps[-1].outcome):
                    steps.append(step)
        return steps[1:]

    def _try(self, number: int, point: Point) -> TriedProfile:
        body = self.space.profile(point)
        revision = self.resolver(body, {}).revision
        if revision.id not in self._known:
            windows = self.part.rerun({self.scheduler_name: revision}).windows
            changes = self.space.changes(point)
            self._known[revision.id] = outcome(self.present, windows, self.goals, changes)
        return TriedProfile(number, point, body, revision, self._known[revision.id])


def require_optuna() -> None:
    """Raises NoAnswer where it is not installed."""
    try:
        _optuna()
    except ModuleNotFoundError as error:
        raise NoAnswer(WANTED) from error


def _study(seed: int, goals: int) -> Any:
    optuna = _optuna()
    optuna.logging.set_verbosity(optuna.logging.ERROR)
    sampler = optuna.samplers.TPESampler(seed=seed)
    return optuna.create_study(sampler=sampler, directions=["maximize"] * goals)


def _optuna() -> Any:
    """By name: mypy's daemon crashes on SQLAlchemy, which it brings along."""
    return importlib.import_module("optuna")
