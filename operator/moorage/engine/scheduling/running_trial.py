"""Running trials: of each pair of decisions one is bound and one is only heard.

Whatever becomes of the unbound side, a fault or too much time, costs the trial and not the pod.
"""

from __future__ import annotations

from moorage.core.cycle import cycle
from moorage.core.cycle.context import CycleContext, Decision, Diagnosis, ScheduleResult
from moorage.core.cycle.extender_cycle import extenders_interested
from moorage.core.framework.revisions import Revision
from moorage.core.objects.meta import key
from moorage.core.objects.pod_groups import membership_of
from moorage.core.objects.pods import Pod
from moorage.core.structures.budget import OutOfTime, TimeBudget
from moorage.core.trials.pairs import PairOutcome, compare
from moorage.core.trials.plans import verdict
from moorage.core.trials.shares import in_share
from moorage.core.trials.trial import PodElsewhere, ProfileTrial, RegressedPod
from moorage.core.trials.unbound import unbound
from moorage.ports.bundle import Ports
from moorage.ports.guards import FAULTS, guard, log_bug

MAX_REGRESSED = 20
"""Regressed pods whose names are kept."""
MAX_MOVED = 20
"""The same for those that go elsewhere."""
MAX_MESSAGE_CHARACTERS = 256
ALLOWANCE_SECONDS = 1.0
"""Seconds that unbound decisions may take beyond those that the bound ones took."""
_RESULTS = {
    PairOutcome.SAME_NODE: "same",
    PairOutcome.OTHER_NODE: "elsewhere",
    PairOutcome.NEITHER: "neither",
    PairOutcome.REGRESSION: "regression",
    PairOutcome.IMPROVEMENT: "improvement",
}
"""As the metric has it."""


class RunningTrial:
    """``LiveTrial``. Counts and verdict are written into ``trial``; once that is final the live
    revision decides about all pods.
    """

    def __init__(
        self,
        trial: ProfileTrial,
        live: Revision,
        tried: Revision,
        bound: CycleContext,
        ports: Ports,
    ) -> None:
        """``bound``: the context of the bound decisions."""
        self._trial = trial
        self._live = live
        self._tried = tried
        self._unbound = {revision: unbound(revision) for revision in (live, tried)}
        self._clock = ports.clock
        self._telemetry = ports.telemetry
        self._budget = TimeBudget(ports.clock.boottime)
        self._bound = bound
        self._context = CycleContext(bound.cache, bound.seed, budget=self._budget)
        self._compared = {pod.uid for pod in trial.regressed}
        """Pods (UIDs) that count already."""
        self._seconds_left = ALLOWANCE_SECONDS
        """Of unbound decisions."""
        self.paired_at = ports.clock.boottime()
        """When the last pair was made, or the trial began here."""

    def revision_for(self, pod: Pod) -> Revision:
        """Under Canary the tried one for its share of the pods, where it can be compared."""
        trial, uid = self._trial, pod.metadata.uid
        if (
            trial.plan.strategy == "Canary"
            and not trial.final
            and in_share(uid, trial.revision, trial.plan.percent)
            and (self._seconds_left > 0 or uid in self._compared)
            and not self._goes_unpaired(pod)
        ):
            return self._tried
        return self._live

    def compare(self, outcome: Decision, seconds: float) -> None:
        """Hear the revision that has not decided, and count the pair; each pod counts once."""
        self._seconds_left = min(self._seconds_left + seconds, ALLOWANCE_SECONDS)
        pod, tried = outcome.pod, outcome.revision is self._tried
        with guard("comparing two revisions", pod=key(pod)):
            if (
                (tried or self._trial.plan.strategy == "Shadow")
                and not self._trial.final
                and pod.metadata.uid not in self._compared
                and self._seconds_left > 0
                and not self._goes_unpaired(pod)
            ):
                other = self._decide(pod, self._live if tried else self._tried)
                if other is not None:
                    self._count(*((other, outcome) if tried else (outcome, other)))

    # ---- inside ----------------------------------------------------------------------------------

    def _goes_unpaired(self, pod: Pod) -> bool:
        """Whether it is a member of a group, all of which one revision decides about, or extenders
        have a say about it, who are not asked twice.
        """
        return membership_of(pod) is not None or any(
            revision.extenders and extenders_interested(pod, revision)
            for revision in (self._live, self._tried)
        )

    def _decide(self, pod: Pod, revision: Revision) -> Decision | None:
        """What it says; None where that takes longer than a slice."""
        began = self._clock.boottime()
        try:
            self._context.makes_room = self._bound.makes_room
            with self._budget:
                return cycle.decide(pod, self._unbound[revision], self._context)
        except OutOfTime:
            return None
        except FAULTS as error:  # a plugin's bug is a refusal by its revision
            log_bug("an unbound decision", error, pod=key(pod), revision=revision.id)
            return Diagnosis.error(pod, revision, f"scheduling failed: {error!r}")
        finally:
            self._seconds_left -= self._clock.boottime() - began

    def _count(self, live: Decision, tried: Decision) -> None:
        trial, outcome = self._trial, compare(live, tried)
        self._compared.add(live.pod.metadata.uid)
        self.paired_at = self._clock.boottime()
        trial.counts = trial.counts.with_(outcome)
        trial.verdict = verdict(trial.plan, trial.counts)
        if len(trial.regressed) < MAX_REGRESSED:
            trial.regressed += _regressed(live, tried)
        trial.moved = (*trial.moved, *_moved(live, tried))[-MAX_MOVED:]
        self._telemetry.trial_pair(self._live.scheduler_name, _RESULTS[outcome])


def _regressed(live: Decision, tried: Decision) -> tuple[RegressedPod, ...]:
    """The pod, where only the live revision places it."""
    if not isinstance(live, ScheduleResult) or not isinstance(tried, Diagnosis):
        return ()
    pod, message = live.pod, tried.message[:MAX_MESSAGE_CHARACTERS]
    return (RegressedPod(key(pod), pod.metadata.uid, live.node, message),)


def _moved(live: Decision, tried: Decision) -> tuple[PodElsewhere, ...]:
    """The pod, where both place it, on different nodes."""
    if not isinstance(live, ScheduleResult) or not isinstance(tried, ScheduleResult):
        return ()
    pod = live.pod
    moved = PodElsewhere(key(pod), pod.metadata.uid, live.node, tried.node)
    return () if live.node == tried.node else (moved,)
