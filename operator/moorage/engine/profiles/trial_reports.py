"""Trial reports: what is said of a trial, in events, conditions and status."""

from __future__ import annotations

from moorage.api.conditions import ConditionReason, ConditionResult, ConditionType
from moorage.core.trials.evidence import largest_increase
from moorage.core.trials.plans import Verdict
from moorage.core.trials.trial import ProfileTrial

StatusBody = dict[str, object]
_SENTENCES = {
    Verdict.SO_FAR_NO_WORSE: "revision {0} is tried, and so far no worse than {1}, which decides",
    Verdict.PASSED: "revision {0} is no worse than {1}",
    Verdict.REGRESSED: "revision {0} is worse than {1}, which goes on deciding",
    Verdict.TOO_FEW_PODS: "too few pods came to try revision {0}; {1} goes on deciding",
    Verdict.STOPPED: "the trial of revision {0} was stopped; {1} goes on deciding",
}
_PROGRESSING = {
    Verdict.SO_FAR_NO_WORSE: ConditionReason.TRIAL,
    Verdict.PASSED: ConditionReason.TRIAL_PASSED,
    Verdict.REGRESSED: ConditionReason.TRIAL_FAILED,
    Verdict.TOO_FEW_PODS: ConditionReason.DEADLINE,
    Verdict.STOPPED: ConditionReason.TRIAL_FAILED,
}


def trial_sentence(trial: ProfileTrial) -> str:
    """How it stands."""
    return _SENTENCES[trial.verdict].format(trial.revision, trial.against)


def trial_summary(trial: ProfileTrial) -> str:
    """The same, with numbers."""
    counts = trial.counts
    return (
        f"{trial_sentence(trial)}: {counts.decided} of {trial.plan.pods} pods decided by both, "
        f"{counts.regressions} regressions, {counts.improvements} improvements"
    )


def activity(trial: ProfileTrial) -> tuple[ConditionReason, str]:
    """The reason, and message, for Active while another revision than the tried one decides."""
    goes_on = trial.verdict in (Verdict.SO_FAR_NO_WORSE, Verdict.PASSED)
    reason = ConditionReason.TRIAL if goes_on else ConditionReason.ROLLED_BACK
    return reason, trial_sentence(trial)


def progressing(trial: ProfileTrial) -> ConditionResult:
    """The condition."""
    reason = _PROGRESSING[trial.verdict]
    return ConditionResult(
        ConditionType.PROGRESSING, not trial.final, reason, trial_sentence(trial)
    )


def trial_status(trial: ProfileTrial | None) -> StatusBody | None:
    """For status.trial."""
    if trial is None:
        return None
    plan, counts = trial.plan, trial.counts
    return {
        "strategy": plan.strategy,
        "revision": trial.revision,
        "against": trial.against,
        "pods": plan.pods,
        "decided": counts.decided,
        "agreed": counts.agreed,
        "refused": counts.neither,
        "regressions": counts.regressions,
        "improvements": counts.improvements,
        "worseByAtMost": f"{100 * largest_increase(counts):.1f}",
        "since": trial.since,
        "verdict": str(trial.verdict),
        "regressed": [
            {"pod": one.pod, "uid": one.uid, "node": one.node, "message": one.message}
            for one in trial.regressed
        ],
        "elsewhere": [
            {"pod": one.pod, "uid": one.uid, "node": one.node, "triedNode": one.tried_node}
            for one in trial.moved
        ],
    }
