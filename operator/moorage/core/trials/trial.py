"""Trials: a revision is compared with the one that decides, from its begin to its verdict.

As JSON a trial is kept beside the stored revision that it is against. Whoever leads next takes it
up from there.
"""

from __future__ import annotations

import dataclasses

import msgspec

from moorage.core.trials.pairs import PairCounts
from moorage.core.trials.plans import TrialPlan, Verdict


@dataclasses.dataclass(frozen=True, slots=True)
class RegressedPod:
    """A pod (namespace/name) for which only the live revision found a node, and why the other one
    found none.
    """

    pod: str
    uid: str
    node: str
    message: str


@dataclasses.dataclass(frozen=True, slots=True)
class PodElsewhere:
    """A pod (namespace/name) that the two revisions place on different nodes."""

    pod: str
    uid: str
    node: str
    tried_node: str


@dataclasses.dataclass(slots=True, kw_only=True)
class ProfileTrial:
    """The trial of a revision. ``against``: the one that it is compared with. ``since``: as
    Kubernetes writes times.
    """

    plan: TrialPlan
    revision: str
    against: str
    since: str
    generation: int
    """Of the profile when it began: a trial that has ended is not begun again before that
    changes.
    """
    counts: PairCounts = dataclasses.field(default_factory=PairCounts)
    verdict: Verdict = Verdict.SO_FAR_NO_WORSE
    regressed: tuple[RegressedPod, ...] = ()
    """The first of them."""
    moved: tuple[PodElsewhere, ...] = ()
    """The last of those that both place, on different nodes."""

    @property
    def final(self) -> bool:
        """Whether it has ended."""
        return self.verdict is not Verdict.SO_FAR_NO_WORSE

    def continues(self, plan: TrialPlan, revision: str, against: str) -> bool:
        """Whether this is the trial of that revision by that plan against that one."""
        return (plan, revision, against) == (self.plan, self.revision, self.against)


def trial_document(trial: ProfileTrial) -> str:
    """The trial as JSON."""
    return msgspec.json.encode(trial).decode()


def read_trial(document: str) -> ProfileTrial | None:
    """The trial, None where this is none."""
    try:
        return msgspec.json.decode(document, type=ProfileTrial)
    except msgspec.DecodeError:
        return None
