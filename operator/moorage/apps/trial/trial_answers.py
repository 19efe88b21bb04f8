"""The command: a profile's trial, read from its status and printed, or stopped.

It needs the right to get the profile, and to patch it to stop its trial.
"""

from __future__ import annotations

import asyncio
import dataclasses
import datetime
import json
import sys
import urllib.parse
from collections.abc import Iterable, Mapping
from typing import Any, Final, TextIO

from rich.console import RenderableType

from moorage.adapters.answers import object_at
from moorage.api import bodies
from moorage.api.bodies import Body
from moorage.api.v1alpha1.common import PROFILES_PATH
from moorage.apps.exit_status import ExitStatus, NoAnswer
from moorage.apps.printing.documents import document, is_for_people
from moorage.apps.printing.terminal import Style, open_console, sentence, write
from moorage.apps.revisions.profile_view import items, unknown_profile
from moorage.apps.status.profile_problems import RUNNING
from moorage.apps.trial.trial_texts import no_trial, stopped, trial_answer, trial_parts
from moorage.apps.worlds.cluster_choice import ClusterChoice
from moorage.apps.worlds.reaching import Connection, connected, with_right
from moorage.ports.errors import EdgeError, NotFound
from moorage.ports.http_calls import MERGE_PATCH, HttpCall

FIELD_MANAGER: Final = "moorage-trial"
_NOT_WELL: Final = ("Regressed", "TooFewPods", "Stopped")
"""Verdicts that are a no."""


@dataclasses.dataclass(frozen=True, slots=True)
class TrialOptions:
    """What was typed. ``form`` is one of ``command_line.FORMATS``, "" for people."""

    name: str
    cluster: ClusterChoice
    form: str = ""
    pods: bool = False
    stop: bool = False


def run(options: TrialOptions, out: TextIO = sys.stdout) -> int:
    """Look, stop it if that is asked for, and print; the exit status. Raises CommandError."""
    return asyncio.run(_run(options, out))


async def _run(options: TrialOptions, out: TextIO) -> int:
    async with connected(options.cluster) as connection:
        profile = await _call(connection, HttpCall("GET", _path(options.name)), options.name)
        trial = bodies.status(profile).get("trial")
        found: Mapping[str, Any] = trial if isinstance(trial, Mapping) else {}
        ends = options.stop and found.get("verdict") == RUNNING
        if ends:
            patch = json.dumps({"spec": {"rollout": {"stopped": found["revision"]}}}).encode()
            call = HttpCall("PATCH", _path(options.name, FIELD_MANAGER), patch, MERGE_PATCH)
            profile = await _call(connection, call, options.name)
    if not is_for_people(options.form):
        out.write(document("Trial", _document(options, profile, found, ends=ends), options.form))
    else:
        write(open_console(out), *_parts(options, profile, found, ends=ends))
    well = found.get("verdict") not in _NOT_WELL if found else not options.stop
    return ExitStatus.YES if ends or (well and not (found and options.stop)) else ExitStatus.NO


def _document(
    options: TrialOptions, profile: Body, trial: Mapping[str, Any], *, ends: bool
) -> dict[str, Any]:
    """``ends``: it was just told to."""
    if ends:
        answer = stopped(options.name, trial)
    elif not trial or options.stop:
        answer = no_trial(options.name, stop=options.stop)
    else:
        answer = trial_answer(profile, trial)
    return {
        "answer": answer,
        "profile": options.name,
        "trial": trial or None,
        "pairs": list(trial.get("regressed") or ()),
        "pairsTotal": int(trial.get("regressions") or 0),
    }


def _parts(
    options: TrialOptions, profile: Body, trial: Mapping[str, Any], *, ends: bool
) -> Iterable[RenderableType]:
    if ends:
        return [sentence(stopped(options.name, trial), Style.WELL)]
    if not trial or options.stop:
        return [sentence(no_trial(options.name, stop=options.stop))]
    return trial_parts(profile, trial, datetime.datetime.now(datetime.UTC), pods=options.pods)


def _path(name: str, manager: str = "") -> str:
    query = f"?{urllib.parse.urlencode({'fieldManager': manager})}" if manager else ""
    return f"{PROFILES_PATH}/{urllib.parse.quote(name, safe='')}{query}"


async def _call(connection: Connection, call: HttpCall, name: str) -> Body:
    """Raises NoAnswer, and WrongUse where there is no such profile."""
    try:
        return await object_at(connection.session, call)
    except NotFound as error:
        known = [one["metadata"]["name"] for one in await items(connection, PROFILES_PATH)]
        raise unknown_profile(name, known) from error
    except EdgeError as error:
        why = with_right(error, f"{call.method.lower()} schedulerprofiles")
        raise NoAnswer(f"SchedulerProfile {name} at {connection.name}: {why}") from error
