"""What is wrong with a profile, in a sentence or two with the whole reason."""

from __future__ import annotations

import dataclasses
import datetime
from collections.abc import Callable, Mapping
from typing import Any, Final

from moorage.api import bodies
from moorage.api.bodies import Body
from moorage.apps.printing.amounts import counted

RUNNING: Final = "SoFarNoWorse"
"""The verdict of a trial that has not ended."""
_OF_TRIALS: Final = ("Trial", "RolledBack")
OBSERVING: Final = "Observing"
"""The state of a profile of an observer: as it is to be."""
_INACTIVE: Final = (*_OF_TRIALS, "LastGood", "Paused", "Suspended", OBSERVING)
"""Reasons of Active that are states; else it is only a matter of time."""
_DESCRIBE: Final = "kubectl describe sprof"
READY, _PENDING = "Ready", "Pending"


@dataclasses.dataclass(frozen=True, slots=True)
class ProfileProblem:
    """Why a profile needs a look, its state in a word (``state_of``), and the command that shows
    more. ``well``: it is as somebody wanted it to be, a trial that runs.
    """

    profile: str
    text: str
    command: str
    state: str
    well: bool = False


def state_of(problem: ProfileProblem | None) -> str:
    """Ready; Pending: nobody has looked, or no revision is ready yet; Refused, Unresolved or
    Forbidden: what is wrong with the spec; else why the spec's revision does not decide: Trial,
    RolledBack, LastGood, Paused, Suspended or Observing.
    """
    return READY if problem is None else problem.state


def problem_of(profile: Body) -> ProfileProblem | None:
    """The first thing to look at; None where the profile runs what its spec says."""
    name = str(profile["metadata"]["name"])
    found = conditions_of(profile)
    if found.get("Ready", {}).get("status") == "True":
        return None
    if "Ready" not in found:
        return ProfileProblem(name, _unseen(profile), f"{_DESCRIBE} {name}", _PENDING)
    for kind, (state, says, command) in _BY_CONDITION.items():
        condition = found.get(kind, {})
        if condition.get("status") != "True":
            tried = condition.get("reason") in _OF_TRIALS
            shown = f"moorage trial {name}" if tried else command.format(name)
            well = _trial(profile) is not None
            word = state or _why_inactive(condition)
            return ProfileProblem(name, says(profile, condition), shown, word, well)
    message = str(found["Ready"].get("message"))
    return ProfileProblem(name, message, f"{_DESCRIBE} {name}", _PENDING)


def conditions_of(profile: Body) -> Mapping[str, Mapping[str, Any]]:
    """A profile's conditions by type."""
    return {str(one["type"]): one for one in bodies.status(profile).get("conditions") or ()}


def running_trial(profile: Body) -> Mapping[str, Any] | None:
    """The trial of another revision, while it runs."""
    trial = bodies.status(profile).get("trial")
    return trial if isinstance(trial, Mapping) and trial.get("verdict") == RUNNING else None


def _trial(profile: Body) -> Mapping[str, Any] | None:
    """The same, where it is all there is to say."""
    active = conditions_of(profile).get("Active", {})
    return running_trial(profile) if active.get("reason") == "Trial" else None


def _unseen(profile: Body) -> str:
    controller = bodies.controller_name(profile)
    return (
        f"nobody has looked at it yet: no operator with controllerName {controller!r} leads; "
        f"its pods wait"
    )


def _refused(profile: Body, condition: Mapping[str, Any]) -> str:
    return f"spec refused: {_sentence(condition)} {_goes_on(profile)}"


def _unresolved(profile: Body, condition: Mapping[str, Any]) -> str:
    return f"a reference does not hold: {_sentence(condition)} {_goes_on(profile)}"


def _sentence(condition: Mapping[str, Any]) -> str:
    """Its message, which has no full stop, with an end: another sentence follows."""
    message = str(condition.get("message"))
    return message if message.endswith((".", "?", "!")) else f"{message}."


def _forbidden(_profile: Body, condition: Mapping[str, Any]) -> str:
    return f"the operator lacks a right: {condition.get('message')}"


def _inactive(profile: Body, condition: Mapping[str, Any]) -> str:
    trial = _trial(profile)
    return str(condition.get("message")) if trial is None else _tried(trial)


def _why_inactive(condition: Mapping[str, Any]) -> str:
    reason = condition.get("reason")
    return str(reason) if reason in _INACTIVE else _PENDING


def _tried(trial: Mapping[str, Any]) -> str:
    same, left = trial["agreed"] - trial["refused"], trial["pods"] - trial["decided"]
    to_go = f"; {left} to go" if left > 0 else ""
    return (
        f"{str(trial['strategy']).lower()} of {trial['revision']}: {trial['decided']} decided "
        f"twice, {same} same node, {counted(trial['regressions'], 'regression')}{to_go}."
    )


def _goes_on(profile: Body) -> str:
    """What decides all the same."""
    status = bodies.status(profile)
    if not status.get("activeRevision"):
        return "No revision of it has been good yet; its pods wait."
    try:
        since = datetime.datetime.fromisoformat(str(status.get("activeSince")))
    except ValueError:
        return f"{status['activeRevision']} goes on deciding."
    at = since.astimezone()
    return f"{status['activeRevision']}, which decides since {at:%-d %b %H:%M}, goes on."


_Says = Callable[[Body, Mapping[str, Any]], str]
_BY_CONDITION: Final[Mapping[str, tuple[str, _Says, str]]] = {
    "Accepted": ("Refused", _refused, "moorage diff {} --spec"),
    "ResolvedRefs": ("Unresolved", _unresolved, "kubectl get pcfg"),
    "Permitted": ("Forbidden", _forbidden, "kubectl describe sprof {}"),
    "Active": ("", _inactive, "kubectl describe sprof {}"),
}
"""In the order in which they count: the state, "" where the condition's reason is it; what is said,
and the command that shows more.
"""
