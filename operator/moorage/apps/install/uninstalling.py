"""`moorage uninstall`: look, say what goes, ask, and see it gone."""

from __future__ import annotations

import asyncio
import dataclasses
import datetime
from collections.abc import Iterator, Sequence

from moorage.apps.authority.authority_setting import Installed
from moorage.apps.commands.consent import confirmed
from moorage.apps.exit_status import ExitStatus, NoAnswer
from moorage.apps.install.clearing import Clearing
from moorage.apps.install.departures import Departure, departure
from moorage.apps.install.findings import HELM
from moorage.apps.install.inventories import CRD, Inventory
from moorage.apps.install.object_keys import key_of
from moorage.apps.install.removing import NotGone, Removal, names
from moorage.apps.printing.amounts import counted
from moorage.apps.printing.progress_line import working
from moorage.apps.worlds.cluster_choice import ClusterChoice
from moorage.apps.worlds.reaching import Connection, connected, with_right
from moorage.ports.errors import EdgeError
from moorage.ports.texts import printable

_SHOWN = 10
"""Pods that wait, by name."""


@dataclasses.dataclass(frozen=True, slots=True)
class Leaving:
    """What was typed. ``seconds``: for each step."""

    place: Installed
    seconds: float
    yes: bool = False
    dry_run: bool = False
    keep_profiles: bool = False


def run(cluster: ClusterChoice, asked: Leaving) -> ExitStatus:
    """The command. Raises CommandError."""
    return asyncio.run(_run(cluster, asked))


async def _run(cluster: ClusterChoice, asked: Leaving) -> ExitStatus:
    async with connected(cluster) as connection:
        try:
            await _leave(connection, asked)
        except EdgeError as error:
            right = "the rights of a cluster's administrator"
            raise NoAnswer(with_right(error, right)) from error
    return ExitStatus.YES


async def _leave(connection: Connection, asked: Leaving) -> None:
    clearing = Clearing(connection.session)
    with working("Looking"):
        plan = await _planned(clearing, asked)
        waiting = await clearing.waiting(plan.schedulers) if plan.profiles else []
    _say(*_told(plan, waiting, f"{asked.place} at {connection.name}"))
    if not plan.steps or asked.dry_run:
        return
    if not asked.yes and not confirmed("uninstall"):
        raise NotGone("nothing was removed")
    with working("Removing") as line:
        removal = Removal(clearing, line.say, seconds=asked.seconds)
        await removal.run(plan)
        # what a replica wrote while it ended, or what somebody else has put back
        again = await _planned(clearing, asked)
        await removal.run(again)
        again = await _planned(clearing, asked)
    if again.steps:
        back = "; ".join(names(step.documents) for step in again.steps)
        raise NotGone(f"it has come back: {back}. Does GitOps, or an operator elsewhere, write it?")
    _say("Nothing of it is left.")


async def _planned(clearing: Clearing, asked: Leaving) -> Departure:
    """What is to go now. Raises NotGone where Helm manages it."""
    found = await clearing.inventory(asked.place)
    _refuse_helm(found, asked.place)
    now = datetime.datetime.now(datetime.UTC)
    return departure(found, asked.place, now, keep_profiles=asked.keep_profiles)


def _refuse_helm(found: Inventory, place: Installed) -> None:
    """CRDs outlive a release, so theirs does not count."""
    for one in found.of(place):
        release = (one["metadata"].get("annotations") or {}).get(HELM)
        if release and one["kind"] != CRD:
            command = f"helm uninstall {release} -n {place.namespace}"
            raise NotGone(f"Helm manages {key_of(one)}: {command}, then this again for the CRDs")


def _told(plan: Departure, waiting: Sequence[str], where: str) -> Iterator[str]:
    yield f"Removing {where}:" if plan.steps else f"Nothing of {where} is there."
    for step in plan.steps:
        yield f"  {step.what}: {names(step.documents)}"
    yield from (f"Stays: {why}" for why in plan.stays)
    if plan.profiles:
        found = ", ".join(sorted(one["metadata"]["name"] for one in plan.profiles))
        yield f"{counted(len(plan.profiles), 'SchedulerProfile')} with all PluginConfigs: {found}"
    if waiting:
        more = ", …" if len(waiting) > _SHOWN else ""
        who = counted(len(waiting), "pod waits", "pods wait")
        yield f"{who} for these, and will for ever: {', '.join(waiting[:_SHOWN])}{more}"


def _say(*lines: str) -> None:
    for line in lines:
        print(printable(line), flush=True)
