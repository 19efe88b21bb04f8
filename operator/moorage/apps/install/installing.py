"""`moorage install`: look, apply, see it work, and say so."""

from __future__ import annotations

import asyncio
import dataclasses
import datetime
import functools
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Final

from moorage.adapters.system_clock import SystemClock
from moorage.api import yaml_documents
from moorage.apps import resources
from moorage.apps.authority.authority_setting import Installed, Steps, authorized, believed
from moorage.apps.exit_status import CommandError, ExitStatus, NoAnswer
from moorage.apps.install.applying import (
    WEBHOOKS,
    AppliedChanges,
    Applying,
    in_order,
    stale,
)
from moorage.apps.install.cluster_objects import ClusterObjects
from moorage.apps.install.findings import Obstacle, neighbours
from moorage.apps.install.inventories import NAMESPACE, Inventory, of
from moorage.apps.install.object_keys import INSTANCE, Document, installation_of, key_of
from moorage.apps.install.preflight import preflight
from moorage.apps.install.readiness import NotRunning, Sight, faults, running, suspects
from moorage.apps.install.sights import last_lines, sight
from moorage.apps.install.variants import Options, documents, every_kind
from moorage.apps.install.webhook_answers import answered
from moorage.apps.printing.amounts import counted
from moorage.apps.printing.progress_line import working
from moorage.apps.worlds.cluster_choice import ClusterChoice
from moorage.apps.worlds.reaching import Connection, connected, with_right
from moorage.ports.clock import Clock
from moorage.ports.errors import EdgeError
from moorage.ports.texts import printable

_AGAIN: Final = "Next: mend what is wrong, and type the same again; what is done stays done."
_RIGHT: Final = "the rights of a cluster's administrator"


@dataclasses.dataclass(frozen=True, slots=True)
class Asked:
    """What was typed. ``seconds``: until the operator answers."""

    variant: str
    components: tuple[str, ...]
    options: Options
    seconds: float
    skip_preflight: bool = False
    force_conflicts: bool = False

    @property
    def documents(self) -> list[Document]:
        """The objects, each after what it needs. Raises WrongUse."""
        return in_order(documents(self.variant, self.components, self.options))


def print_documents(asked: Asked) -> ExitStatus:
    """The objects as YAML. Raises WrongUse."""
    print("---\n".join(map(yaml_documents.dump, asked.documents)), end="")
    return ExitStatus.YES


def run(cluster: ClusterChoice, asked: Asked) -> ExitStatus:
    """The command. Raises CommandError."""
    wanted = asked.documents  # before anybody is asked
    return asyncio.run(_run(cluster, asked, wanted))


async def _run(cluster: ClusterChoice, asked: Asked, wanted: Sequence[Document]) -> ExitStatus:
    async with connected(cluster) as connection:
        try:
            return await _install(connection, asked, wanted)
        except EdgeError as error:
            raise NoAnswer(with_right(error, _RIGHT)) from error


async def _install(connection: Connection, asked: Asked, wanted: Sequence[Document]) -> ExitStatus:
    obstacles = [] if asked.skip_preflight else await _obstacles(connection, asked, wanted)
    if stopping := [one for one in obstacles if one.stops]:
        _say(*_refusal(stopping, connection.name))
        return ExitStatus.NO
    with working("Installing") as line:
        installer = Installer(connection, asked, SystemClock(), line.say)
        sights = await _brought_about(installer, wanted, connection.name)
    if sights is None:
        return ExitStatus.NO
    _say(*_success(sights, connection.name))
    _say(*_indented((*_told(installer.changes), *installer.notes)))
    _say(*_indented(f"{one.what}: {one.do}" for one in obstacles))
    _say(*_next(asked))
    return ExitStatus.YES


async def _brought_about(
    installer: Installer, wanted: Sequence[Document], where: str
) -> list[Sight] | None:
    """The installations; None where they do not work. What was done is said, however it ends."""
    try:
        _say(*_going(await installer.stale(wanted)))
        return await installer.install(wanted)
    except NotRunning as error:
        _say(*_failure(error, await installer.why(error), installer.changes))
        return None
    except (CommandError, EdgeError, asyncio.CancelledError):
        _say(*_unfinished(where, installer.changes))
        raise


async def _obstacles(
    connection: Connection, asked: Asked, wanted: Sequence[Document]
) -> list[Obstacle]:
    """What is in the way, or may be. Raises EdgeError, also for who may not see what is there."""
    with working("Looking whether it can work"):
        await ClusterObjects(connection.session).list_ours(every_kind())
        now = datetime.datetime.now(datetime.UTC)
        force = asked.force_conflicts
        return await preflight(connection.session, connection.version, wanted, now, force=force)


class Installer:
    """Brings an installation about, step by step. ``say`` is told what is done."""

    def __init__(
        self, connection: Connection, asked: Asked, clock: Clock, say: Callable[[str], None]
    ) -> None:
        self._session = connection.session
        self._objects = ClusterObjects(connection.session)
        self._asked = asked
        self._clock = clock
        self._say = say
        self._applying = Applying(self._objects, clock, say, force=asked.force_conflicts)
        self.changes: AppliedChanges = self._applying.changes
        self.notes: list[str] = []
        """What is not as sure as it should be."""

    async def install(self, wanted: Sequence[Document]) -> list[Sight]:
        """All of it; the installations as they are then. Webhooks that are no more go first, so
        that nobody asks a server that is gone; those that are to be come last. Raises NotRunning,
        InstallationFailed, EdgeError.
        """
        wanted = _without_others_namespace(wanted, (await self._there()).objects)
        webhooks = [one for one in wanted if one["kind"] in WEBHOOKS]
        deployments = [one for one in wanted if one["kind"] == "Deployment"]
        gone = await self.stale(wanted)
        await self._applying.remove(one for one in gone if one["kind"] in WEBHOOKS)
        await self._applying.apply([one for one in wanted if one not in (*webhooks, *deployments)])
        webhooks = await self._believing(webhooks, wanted)
        await self._applying.apply(deployments)
        sights = [await self._running(one) for one in deployments]
        await self._applying.apply(webhooks)
        for one in webhooks:
            why = await answered(self._objects, self._clock, one, self._asked.options)
            self.notes += [why] if why else []
        await self._applying.remove(await self.stale(wanted))
        return sights

    async def why(self, error: NotRunning) -> list[str]:
        """What is wrong, a line each."""
        if error.sight is None:
            return []
        logs = await last_lines(self._session, suspects(error.sight))
        return [*faults(error.sight, logs)]

    async def stale(self, wanted: Sequence[Document]) -> list[Document]:
        """What goes, as the set has it no more. Raises EdgeError."""
        options = self._asked.options
        return stale((await self._there()).of(Installed(options.namespace, options.name)), wanted)

    async def _there(self) -> Inventory:
        return Inventory(await self._objects.list_ours(every_kind()))

    async def _believing(
        self, webhooks: list[Document], wanted: Sequence[Document]
    ) -> list[Document]:
        """The webhooks, each with the authority in the Secret of its installation, which is made
        before a replica looks for it; as they are where cert-manager sees to that.
        """
        if any(one["kind"] == "Certificate" for one in wanted):
            return webhooks
        found = []
        for one in webhooks:
            instance = one["metadata"]["labels"][INSTANCE]
            place = Installed(self._asked.options.namespace, instance)
            bundle, _ = await authorized(self._session, place, Steps(), has_webhooks=False)
            found.append(believed(one, bundle))
        return found

    async def _running(self, deployment: Document) -> Sight:
        key = key_of(deployment)
        lease = self._asked.options.lease_namespace or key.namespace
        look = functools.partial(sight, self._session, self._clock, key, lease)
        if deployment["spec"]["replicas"] == 0:
            return await look()
        return await running(
            look, self._clock, self._asked.seconds, lambda text: self._say(f"{key}: {text}")
        )


def _without_others_namespace(
    wanted: Iterable[Document], there: Sequence[Document]
) -> list[Document]:
    """Without a Namespace that is another installation's, which runs in it, by what is ``there``:
    it keeps its labels.
    """
    spaces = {key_of(one): installation_of(one) for one in of(there, NAMESPACE)}
    return [
        one
        for one in wanted
        if (key := key_of(one)) not in spaces or spaces[key] not in neighbours(one, there)
    ]


# ---- what is said --------------------------------------------------------------------------------


def _refusal(obstacles: Sequence[Obstacle], where: str) -> Iterator[str]:
    count = counted(len(obstacles), "thing is", "things are")
    yield f"Nothing was installed at {where}: {count} in the way."
    for one in obstacles:
        yield f"  {one.what}"
        yield f"    {one.do}"
    yield "Next: mend that, and type the same again. --skip-preflight begins without this look."


def _success(sights: Sequence[Sight], where: str) -> Iterator[str]:
    for one in sights:
        place = f"{one.installation.namespace}/{one.installation.lease}"
        if not one.wanted:
            yield f"Moorage is installed as {place} at {where}, with no replica."
            continue
        ready = f"{len(one.ready)} of {one.wanted} replicas answer"
        yield f"Moorage works as {place} at {where}: {one.leader} leads, {ready}."


def _going(gone: Sequence[Document]) -> Iterator[str]:
    if gone:
        keys = ", ".join(str(key_of(one)) for one in gone)
        yield f"To be removed, as what was asked for has it no more: {keys}"


def _unfinished(where: str, changes: AppliedChanges) -> Iterator[str]:
    yield f"Moorage is not wholly installed at {where}. So far:"
    yield from _indented(_told(changes))
    yield _AGAIN


def _failure(error: NotRunning, why: Iterable[str], changes: AppliedChanges) -> Iterator[str]:
    yield f"Moorage does not work, {error}."
    yield from _indented(why)
    yield from _indented(_told(changes))
    yield _AGAIN


def _told(changes: AppliedChanges) -> Iterator[str]:
    rows = {
        "made": changes.made,
        "changed": changes.changed,
        "removed": changes.removed,
        "left out, not served": changes.left_out,
    }
    for what, keys in rows.items():
        if keys:
            yield f"{what}: {', '.join(map(str, keys))}"
    if not any(rows.values()):
        yield f"nothing has changed: {counted(len(changes.unchanged), 'object')} as before"


def _next(asked: Asked) -> Iterator[str]:
    profile = resources.next_profile(asked.variant)
    options = asked.options
    if profile:
        yield "Next: this profile, by kubectl apply -f -"
        yield from profile.splitlines()
    else:
        yield "Next: a profile of yours, then moorage status"
    if options.shards or options.controller_name:
        names = ", ".join(map(options.controller_of, options.instances))
        yield f"Profiles choose it by spec.controllerName: {names}"


def _indented(lines: Iterable[str]) -> Iterator[str]:
    return (f"  {line}" for line in lines)


def _say(*lines: str) -> None:
    for line in lines:
        print(printable(line), flush=True)
