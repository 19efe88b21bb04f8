"""`moorage uninstall`: look, say what goes, ask, and see it gone."""

from __future__ import annotations

import asyncio
import dataclasses
import datetime
from collections.abc import Awaitable, Callable, Iterator, Sequence

from kubefacts.names import dns_label
from moorage.apps.authority.authority_setting import Installed
from moorage.apps.commands.consent import confirmed
from moorage.apps.exit_status import CommandError, ExitStatus, NoAnswer, WrongUse
from moorage.apps.install.clearing import Clearing
from moorage.apps.install.departures import Departure, departure
from moorage.apps.install.findings import HELM
from moorage.apps.install.inventories import CRD, Inventory
from moorage.apps.install.neighbours import Leaver, leaver
from moorage.apps.install.object_keys import Document, key_of
from moorage.apps.install.removing import NotGone, Removal, names
from moorage.apps.printing.amounts import counted
from moorage.apps.printing.progress_line import working
from moorage.apps.worlds.cluster_choice import ClusterChoice
from moorage.apps.worlds.reaching import Connection, connected, with_right
from moorage.ports.errors import EdgeError
from moorage.ports.texts import printable

_SHOWN = 10
"""Pods that wait, by name."""
_RIGHT = "the rights of a cluster's administrator"


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
    for flag, value in (("--namespace", asked.place.namespace), ("--name", asked.place.name)):
        if faults := dns_label(value):
            raise WrongUse(f"{flag} {value}: {faults[0]}")
    return asyncio.run(_run(cluster, asked))


async def _run(cluster: ClusterChoice, asked: Leaving) -> ExitStatus:
    async with connected(cluster) as connection:
        try:
            await _leave(connection, asked)
        except EdgeError as error:
            raise NoAnswer(with_right(error, _RIGHT)) from error
    return ExitStatus.YES


async def _leave(connection: Connection, asked: Leaving) -> None:
    clearing = Clearing(connection.session)
    with working("Looking"):
        found = await _found(clearing, asked)
        who = leaver(found, asked.place)
        plan = _planned(found, asked, who)
        waiting = await clearing.waiting(plan.schedulers) if plan.profiles else []
    _say(*_told(plan, waiting, f"{asked.place} at {connection.name}"))
    if not plan.steps or asked.dry_run:
        return
    if not asked.yes and not confirmed("uninstall"):
        raise NotGone("nothing was removed")

    async def look() -> Departure:
        return _planned(await _found(clearing, asked), asked, who)

    await _carry_out(plan, clearing, asked.seconds, look)


async def _carry_out(
    plan: Departure, clearing: Clearing, seconds: float, look: Callable[[], Awaitable[Departure]]
) -> None:
    """See it gone, and say how that went. Raises CommandError."""
    with working("Removing") as line:
        removal = Removal(clearing, line.say, seconds=seconds)
        try:
            back, stays = await _removed(plan, removal, look)
        except (EdgeError, NotGone) as error:
            raise _half_way(error, plan, removal.removed) from error
    _say(*(f"Stays: {why}" for why in dict.fromkeys(stays) if why not in plan.stays))
    if back:
        who = "Does GitOps, or an operator elsewhere, write it? If not, type the same command again"
        raise NotGone(f"it has come back: {names(back)}. {who}")
    _say("Nothing else of it is left." if stays else "Nothing of it is left.")


async def _removed(
    plan: Departure, removal: Removal, look: Callable[[], Awaitable[Departure]]
) -> tuple[list[Document], tuple[str, ...]]:
    """Do it; what is there again afterwards, and what has stayed. No more goes than was planned,
    and less where somebody has come since who needs it. Raises NotGone, EdgeError.
    """
    kept, stays = set(plan.kept), plan.stays
    for step in plan.steps:
        since = await look()
        kept |= since.kept
        stays = (*stays, *since.stays)
        await removal.step(plan.narrowed(step, since))
    # what a replica wrote while it ended, or what somebody else has put back
    await removal.run(plan.written_again(await look()))
    return [one for one in (await look()).documents if key_of(one) not in kept], stays


def _half_way(error: Exception, plan: Departure, removed: Sequence[Document]) -> CommandError:
    """An error, with how far it went and what to do."""
    gone = {key_of(one) for one in removed}
    left = [one for one in plan.documents if key_of(one) not in gone]
    lines = (
        with_right(error, _RIGHT) if isinstance(error, EdgeError) else str(error),
        f"Removed so far: {names(removed) or 'nothing'}",
        f"Left: {names(left) or 'nothing that was to go'}",
        "Once that is mended, type the same command again.",
    )
    kind = NoAnswer if isinstance(error, EdgeError) else NotGone
    return kind("\n".join(lines))


async def _found(clearing: Clearing, asked: Leaving) -> Inventory:
    """What is there now. Raises NotGone where Helm manages it."""
    found = await clearing.inventory(asked.place)
    _refuse_helm(found, asked.place)
    return found


def _planned(found: Inventory, asked: Leaving, who: Leaver) -> Departure:
    now = datetime.datetime.now(datetime.UTC)
    return departure(found, asked.place, now, keep_profiles=asked.keep_profiles, who=who)


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
    for kind, going in (("SchedulerProfile", plan.profiles), ("PluginConfig", plan.configs)):
        if going:
            found = ", ".join(sorted(one["metadata"]["name"] for one in going))
            yield f"{counted(len(going), kind)}: {found}"
    if waiting:
        more = ", …" if len(waiting) > _SHOWN else ""
        who = counted(len(waiting), "pod waits", "pods wait")
        yield f"{who} for these, and will for ever: {', '.join(waiting[:_SHOWN])}{more}"


def _say(*lines: str) -> None:
    for line in lines:
        print(printable(line), flush=True)
