"""What people read of a trial."""

from __future__ import annotations

import datetime
from collections.abc import Iterator, Mapping
from typing import Any, Final

from rich.console import RenderableType

from moorage.api.bodies import Body
from moorage.apps.printing.amounts import age, counted
from moorage.apps.printing.terminal import Style, new_table, sentence

_VERDICTS: Final = {
    "SoFarNoWorse": ("So far no worse", Style.TRIAL),
    "Passed": ("Passed", Style.WELL),
    "Regressed": ("Regressed, rolled back", Style.REFUSED),
    "TooFewPods": ("No verdict: too few pods", Style.WAITS),
    "Stopped": ("Stopped", Style.WAITS),
}


def no_trial(name: str, *, stop: bool) -> str:
    """Where there is none, or none to stop."""
    if stop:
        return f"No trial of {name} runs, so there is nothing to stop."
    return "No trial runs. Start one: spec.rollout.strategy: Canary"


def trial_answer(profile: Body, trial: Mapping[str, Any]) -> str:
    """The verdict and what it comes from, in a sentence."""
    verdict = str(trial["verdict"])
    words, _ = _VERDICTS.get(verdict, (verdict, ""))
    return f"{words}: {_counts(profile, trial)}"


def stopped(name: str, trial: Mapping[str, Any]) -> str:
    """It was just told to end."""
    return f"{name}: the trial of {trial['revision']} ends; {trial['against']} goes on deciding."


def trial_parts(
    profile: Body, trial: Mapping[str, Any], now: datetime.datetime, *, pods: bool
) -> Iterator[RenderableType]:
    """The verdict, what it comes from, the pods that regressed, and what to do next."""
    verdict = str(trial["verdict"])
    _, style = _VERDICTS.get(verdict, ("", ""))
    yield sentence(trial_answer(profile, trial), style)
    yield _facts(profile, trial, now)
    if pods or verdict == "Regressed":
        yield from _regressed(trial)
    if pods:
        yield from _elsewhere(trial)
    name = profile["metadata"]["name"]
    if verdict == "SoFarNoWorse":
        yield sentence(f"Next: moorage trial {name} --pods   moorage trial {name} --stop")
    elif verdict != "Passed":
        yield sentence(f"Next: edit the spec to try again, or: moorage rollback {name}")


def _rollout(profile: Body) -> Mapping[str, Any]:
    found = (profile.get("spec") or {}).get("rollout")
    return found if isinstance(found, Mapping) else {}


def _counts(profile: Body, trial: Mapping[str, Any]) -> str:
    most, regressions = _rollout(profile).get("maxRegressions"), trial["regressions"]
    allowed = "" if most is None else f" ({most or 'none'} allowed)"
    decided = f"{trial['decided']} pods decided by both"
    text = f"{decided}, {counted(regressions, 'regression')}{allowed}."
    left = trial["pods"] - trial["decided"]
    return f"{text} {left} to go." if trial["verdict"] == "SoFarNoWorse" and left > 0 else text


def _facts(profile: Body, trial: Mapping[str, Any], now: datetime.datetime) -> RenderableType:
    table = new_table("", "", wide="")
    table.show_header = False
    table.columns[0].no_wrap = True
    rollout = _rollout(profile)
    since = datetime.datetime.fromisoformat(str(trial["since"]))
    began = f"since {age((now - since).total_seconds())}"
    of = f", {_percent(rollout)} % of the pods" if trial["strategy"] == "Canary" else ", all pods"
    ends = f"; ends when {age(_deadline(rollout))} pass without pods"
    running = trial["verdict"] == "SoFarNoWorse"
    table.add_row(
        f"  {str(trial['strategy']).lower()}",
        f"{trial['revision']} beside {trial['against']}{of}, {began}{ends if running else ''}",
    )
    placed_alike = trial["agreed"] - trial["refused"]
    table.add_row(
        "  same", f"{counted(placed_alike, 'pod')} on the same node; {_moved(trial)} elsewhere"
    )
    table.add_row(
        "  refused",
        f"{counted(trial['refused'], 'pod')} by both, {trial['improvements']} only by the former; "
        f"the new one refuses at most {trial['worseByAtMost']} points more (95 %), allowed are "
        f"{rollout.get('marginPercent', 0)}",
    )
    return table


def _regressed(trial: Mapping[str, Any]) -> Iterator[RenderableType]:
    named = trial.get("regressed") or ()
    if not named:
        yield sentence("No pod has regressed.")
        return
    table = new_table("POD", "FORMER", "NEW", wide="NEW")
    for one in named:
        table.add_row(one["pod"], one["node"], sentence(str(one["message"])))
    yield table
    if (more := trial["regressions"] - len(named)) > 0:
        yield sentence(f"and {more} more")


def _moved(trial: Mapping[str, Any]) -> int:
    """Pods to which both gave a node, and not the same one."""
    alike, one_alone = trial["agreed"], trial["regressions"] + trial["improvements"]
    return int(trial["decided"] - alike - one_alone)


def _elsewhere(trial: Mapping[str, Any]) -> Iterator[RenderableType]:
    """The last of them, as the status keeps them."""
    named = trial.get("elsewhere") or ()
    if not named:
        return
    table = new_table("ELSEWHERE", "FORMER", "NEW", wide="NEW")
    for one in named:
        table.add_row(one["pod"], one["node"], one["triedNode"])
    yield table
    if (more := _moved(trial) - len(named)) > 0:
        yield sentence(f"and {more} elsewhere before")


def _percent(rollout: Mapping[str, Any]) -> int:
    return int((rollout.get("canary") or {}).get("percent", 10))


def _deadline(rollout: Mapping[str, Any]) -> int:
    return int(rollout.get("progressDeadlineSeconds", 600))
