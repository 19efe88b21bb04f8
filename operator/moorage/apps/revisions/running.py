"""The commands history, diff and rollback: what they look at, and what they print."""

from __future__ import annotations

import asyncio
import datetime
import sys
import time
from collections.abc import Mapping
from typing import Any

from moorage.apps.commands.consent import confirmed
from moorage.apps.exit_status import ExitStatus, WrongUse
from moorage.apps.plugin_resolver import resolver_of
from moorage.apps.printing import documents, terminal
from moorage.apps.printing.progress_line import working
from moorage.apps.printing.terminal import Style
from moorage.apps.revisions import diff as comparing
from moorage.apps.revisions import history as past
from moorage.apps.revisions import rollback as planning
from moorage.apps.revisions import writing
from moorage.apps.revisions.diff import DiffSide
from moorage.apps.revisions.profile_view import ProfileView, view
from moorage.apps.revisions.rollback import NotReached, Plan
from moorage.apps.worlds.cluster_choice import ClusterChoice
from moorage.apps.worlds.reaching import Connection, connected

Flags = Mapping[str, Any]


def history(name: str, flags: Flags) -> int:
    """`moorage history NAME`; its exit status. This one and the others raise CommandError."""
    return asyncio.run(_history(name, flags))


def diff(names: list[str], flags: Flags) -> int:
    """`moorage diff A B`."""
    return asyncio.run(_diff(names, flags))


def rollback(name: str, flags: Flags) -> int:
    """`moorage rollback NAME`."""
    return asyncio.run(_rollback(name, flags))


def _cluster(flags: Flags) -> ClusterChoice:
    return ClusterChoice(flags["kubeconfig"], flags["context"])


# ---- history -------------------------------------------------------------------------------------


async def _history(name: str, flags: Flags) -> ExitStatus:
    form, resolver = flags["output"], resolver_of(flags["config"])
    async with connected(_cluster(flags)) as connection:
        found = await view(connection, name)
    entries = past.entries(found, resolver, datetime.datetime.now(datetime.UTC))
    if not documents.is_for_people(form):
        print(documents.document("History", past.document(found, entries), form), end="")
    elif entries:
        past.table(entries, terminal.open_console(sys.stdout), wide=form == "wide")
    else:
        answer = terminal.sentence(past.answer(found), Style.REFUSED)
        terminal.write(terminal.open_console(sys.stdout), answer)
    return ExitStatus.YES if entries else ExitStatus.NO


# ---- diff ----------------------------------------------------------------------------------------


async def _diff(names: list[str], flags: Flags) -> ExitStatus:
    form, resolver = flags["output"], resolver_of(flags["config"])
    if len(names) != (1 if flags["spec"] else 2):
        raise WrongUse("diff: name two profiles, revisions or files; with --spec, one profile")
    found = comparing.compared(*await _sides(names, flags), resolver)
    if not documents.is_for_people(form):
        print(documents.document("Diff", comparing.document(found), form), end="")
    elif flags["yaml"]:
        for line in comparing.unified(found.a, found.b):
            print(terminal.sentence(line).plain)
    else:
        comparing.table(found, terminal.open_console(sys.stdout))
    return ExitStatus.NO if found.differ else ExitStatus.YES


async def _sides(names: list[str], flags: Flags) -> tuple[DiffSide, DiffSide]:
    """What is to be compared; no cluster is asked about files alone."""
    profiles = {_split(name)[0] for name in names if not comparing.is_file(name)}
    views: dict[str, ProfileView] = {}
    if profiles:
        async with connected(_cluster(flags)) as connection:
            views = {name: await view(connection, name) for name in sorted(profiles)}
    if flags["spec"]:
        (found,) = views.values()
        return comparing.from_cluster(found, ""), comparing.from_spec(found)
    a, b = (_side(name, views) for name in names)
    return a, b if a.label != b.label else DiffSide(f"{b.label} of {names[1]}", b.said)


def _side(name: str, views: Mapping[str, ProfileView]) -> DiffSide:
    if not comparing.is_file(name):
        profile, revision = _split(name)
        return comparing.from_cluster(views[profile], revision)
    other = next(iter(views.values()), None)
    configs = other.said.configs if other is not None else {}
    return comparing.from_file(name, other.name if other is not None else "", configs)


def _split(name: str) -> tuple[str, str]:
    profile, _, revision = name.partition("@")
    return profile, revision


# ---- rollback ------------------------------------------------------------------------------------


async def _rollback(name: str, flags: Flags) -> ExitStatus:
    form = flags["output"]
    if flags["pause"] and flags["to"]:
        raise WrongUse("rollback: --pause holds what decides: leave out --to")
    async with connected(_cluster(flags)) as connection:
        found = await view(connection, name)
        if flags["pause"]:
            return await _pause(connection, found, flags, form)
        plan = planning.planned(found, flags["to"])
        _say(form, *_lines(plan))
        since = found.status.get("activeSince")
        if plan.changes:
            since = await _go_back(connection, plan, flags, form)
    if not documents.is_for_people(form):
        print(documents.document("Rollback", planning.document(plan, since), form), end="")
    return ExitStatus.YES


async def _go_back(connection: Connection, plan: Plan, flags: Flags, form: str) -> str | None:
    """Write it, unless it is a dry run or nobody wants it; since when it decides. Raises
    NotReached.
    """
    if flags["dry_run"]:
        await writing.replace(connection, plan.body, dry_run=True)
        _say(form, "Nothing was written; the API server would take it.")
        return None
    _confirm(flags)
    generation, began = await writing.replace(connection, plan.body), time.monotonic()
    with working("Waiting until it decides"):
        reached = await writing.settled(connection, plan.profile, generation)
    since, seconds = str(reached.status.get("activeSince")), time.monotonic() - began
    _say(form, f"{plan.profile} decides with {reached.active} since {since} ({seconds:.1f} s).")
    return since


async def _pause(connection: Connection, found: ProfileView, flags: Flags, form: str) -> ExitStatus:
    """Have what decides go on whatever the spec says."""
    if not found.active:
        raise NotReached(f"{found.name} has no good revision that could go on")
    waits = f"; {found.desired} waits" if found.desired not in ("", found.active) else ""
    answer = f"{found.name} goes on with {found.active} whatever its spec says{waits}."
    _say(form, answer)
    since = found.status.get("activeSince")
    if not flags["dry_run"]:
        _confirm(flags)
        generation = await writing.pause(connection, found.name)
        with working("Waiting until it is held"):
            reached = await writing.settled(connection, found.name, generation)
        since = reached.status.get("activeSince")
        patch = '{"spec":{"paused":false}}'
        _say(form, f"Next: kubectl patch sprof {found.name} --type merge -p '{patch}'")
    if not documents.is_for_people(form):
        body = {
            "answer": answer,
            "profile": found.name,
            "held": found.active,
            "activeSince": since,
        }
        print(documents.document("Pause", body, form), end="")
    return ExitStatus.YES


def _lines(plan: Plan) -> list[str]:
    return [
        plan.sentence,
        *(f"  {change.sentence}" for change in plan.changes),
        *(
            f"  PluginConfig {name} has changed since: its old arguments are written inline"
            for name in plan.inlined
        ),
        *(f"  {owner.sentence}" for owner in plan.owners if owner.sentence),
    ]


def _say(form: str, *lines: str) -> None:
    """For people: where programs read stdout, nothing."""
    if documents.is_for_people(form):
        terminal.write(terminal.open_console(sys.stdout), *map(terminal.sentence, lines))


def _confirm(flags: Flags) -> None:
    """Raises NotReached where nobody wants it, WrongUse where nobody can be asked."""
    if not flags["yes"] and not confirmed("rollback"):
        raise NotReached("nothing was written")
