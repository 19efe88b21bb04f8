"""A world from the API server: every kind that plugins read, listed once, with get and list rights
alone.

What may not be listed, and what the API server does not have, is said and left out; without pods or
nodes there is no world.
"""

from __future__ import annotations

import asyncio
import dataclasses
import datetime
import json
from collections.abc import Collection, Coroutine, Iterable, Iterator
from typing import Any, Final

from moorage.adapters.answers import list_at
from moorage.adapters.kube_reads import HttpKubeReader
from moorage.adapters.reflector import ListWatch, Reflector
from moorage.adapters.system_clock import SystemClock
from moorage.api import bodies
from moorage.api.bodies import Body
from moorage.api.resolution import Resolver
from moorage.api.resolved_profile import Resolution
from moorage.apps.exit_status import NoAnswer
from moorage.apps.printing.amounts import counted
from moorage.apps.worlds import deciding, manifests
from moorage.apps.worlds.cluster_choice import ClusterChoice
from moorage.apps.worlds.deciding import ProfileSet
from moorage.apps.worlds.observed import ObservedCluster
from moorage.apps.worlds.reaching import Connection, connected, is_unknown, with_right
from moorage.apps.worlds.world import ProgressListener, World, empty_context, unheard
from moorage.ports.errors import EdgeError, Forbidden, NotFound
from moorage.ports.http_calls import HttpCall
from moorage.ports.kube import ReflectorSink
from moorage.ports.stored_kinds import POD_GROUPS, kinds_in
from moorage.ports.texts import MAX_NAME_CHARACTERS, shortened

NEEDED: Final = ("pods", "nodes")
"""Without these there is no world."""
TELL_SECONDS: Final = 0.2
PRIORITY_CLASSES: Final = "/apis/scheduling.k8s.io/v1/priorityclasses"


def from_cluster(
    choice: ClusterChoice, resolver: Resolver, listener: ProgressListener = unheard
) -> World:
    """The cluster as the API server has it now. Raises NoAnswer and WrongUse."""
    return asyncio.run(look(choice, resolver, listener))


async def look(
    choice: ClusterChoice, resolver: Resolver, listener: ProgressListener = unheard
) -> World:
    """The same, where a loop runs already."""
    observed = ObservedCluster(empty_context(), kinds_in(resolver.registry))
    async with connected(choice, waits_alone=False) as connection:
        unlisted = await list_whole(connection, observed, listener)
        found = await who_decides(connection, observed, resolver)
        classes = await _priority_classes(connection, unlisted)
    return World(
        observed.context,
        found.revisions(),
        f"the API server alone, {connection.name}",
        datetime.datetime.now(datetime.UTC),
        (*unlisted.warnings(), *found.warnings, *observed.set_aside()),
        deciding.holds(observed.profiles.bodies()),
        manifests.priorities(classes),
        found.left_out,
        unlisted.groups,
    )


async def list_whole(
    connection: Connection, observed: ObservedCluster, listener: ProgressListener = unheard
) -> Unlisted:
    """Fill the context with all that can be listed. Raises NoAnswer."""
    unlisted = await probe(connection, (what for what, _ in observed.watched()))
    telling = asyncio.create_task(_tell(observed, unlisted.nodes, listener))
    try:
        await list_all(feeds_of(connection, observed.watched(), unlisted.all))
    finally:
        telling.cancel()
    return unlisted


async def _tell(observed: ObservedCluster, nodes: int, listener: ProgressListener) -> None:
    """What is listed so far. How many pods there are no API server says, as those that have ended
    are not asked for.
    """
    while True:
        there = len(observed.nodes.objects)
        of = f"{there:,} of {nodes:,} nodes" if nodes > there else counted(there, "node")
        listener(f"{of}, {counted(len(observed.pods.objects), 'pod')}")
        await asyncio.sleep(TELL_SECONDS)


# ---- objects -------------------------------------------------------------------------------------


@dataclasses.dataclass(slots=True)
class Unlisted:
    """The resources that could not be listed."""

    forbidden: list[str] = dataclasses.field(default_factory=list)
    absent: list[str] = dataclasses.field(default_factory=list)
    nodes: int = 0
    """How many nodes there are, as far as the API server has said."""

    @property
    def all(self) -> list[str]:
        return self.forbidden + self.absent

    @property
    def groups(self) -> frozenset[str]:
        """The APIs of pod groups that the API server does not have."""
        return frozenset(kind.api for kind in POD_GROUPS if kind.name in self.absent)

    def warnings(self) -> Iterator[str]:
        """What is to be said of them."""
        if self.forbidden:
            yield f"no right to list {', '.join(self.forbidden)}: taken as if there were none"
        # a cluster without PodGroups, of whatever API, lacks nothing
        groups = {kind.name for kind in POD_GROUPS}
        if lacking := [name for name in self.absent if name not in groups]:
            yield f"the API server does not have {', '.join(lacking)}"


async def probe(connection: Connection, watched: Iterable[ListWatch[Any]]) -> Unlisted:
    """Ask for one object of each; what cannot be had. Raises NoAnswer."""
    unlisted = Unlisted()
    await _all(_probe(connection, what, unlisted) for what in watched)
    unlisted.forbidden.sort()
    unlisted.absent.sort()
    return unlisted


async def _probe(connection: Connection, what: ListWatch[Any], unlisted: Unlisted) -> None:
    try:
        answer = await connection.session.call(HttpCall("GET", what.url(limit=1)))
        if what.resource == "nodes":
            unlisted.nodes = _remaining(answer) + 1
    except (Forbidden, NotFound) as error:
        if what.resource in NEEDED or is_unknown(error):
            why = with_right(error, f"list and watch {what.resource}")
            text = f"{what.resource} cannot be listed at {connection.name}: {why}"
            raise NoAnswer(text) from error
        refused = unlisted.forbidden if isinstance(error, Forbidden) else unlisted.absent
        refused.append(what.resource)
    except EdgeError as error:
        raise _unanswered(what.resource, error) from error


async def _priority_classes(connection: Connection, unlisted: Unlisted) -> list[Body]:
    """For pods that are yet to come: those that are there have their priority."""
    try:
        found = await list_at(connection.session, HttpCall("GET", PRIORITY_CLASSES))
    except NotFound:
        return []
    except EdgeError as error:
        if not isinstance(error, Forbidden) or is_unknown(error):
            raise _unanswered("priorityclasses", error) from error
        unlisted.forbidden.append("priorityclasses")
        return []
    return [{**one, "kind": "PriorityClass"} for one in found.items or ()]


def _remaining(answer: bytes) -> int:
    """How many objects follow, as far as it says."""
    try:
        return int(json.loads(answer)["metadata"].get("remainingItemCount") or 0)
    except (ValueError, TypeError, KeyError, AttributeError):
        return 0  # the list itself tells what is wrong


def feeds_of(
    connection: Connection,
    watched: Iterable[tuple[ListWatch[Any], ReflectorSink[Any]]],
    without: Collection[str],
) -> list[Reflector[Any]]:
    """What lists, and can watch, for these sinks, but for the resources to leave out."""
    clock = SystemClock()
    return [
        Reflector(connection.session, clock, what, sink)
        for what, sink in watched
        if what.resource not in without
    ]


async def list_all(feeds: Iterable[Reflector[Any]]) -> None:
    """List everything once. Raises NoAnswer."""
    await _all(map(_list, feeds))


async def _all(work: Iterable[Coroutine[Any, Any, None]]) -> None:
    """Have it done side by side; when one raises, the others are over before that is told."""
    tasks = [asyncio.create_task(each) for each in work]
    try:
        await asyncio.gather(*tasks)
    finally:
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)


async def _list(feed: Reflector[Any]) -> None:
    try:
        await feed.list_all()
    except EdgeError as error:
        raise _unanswered(feed.resource, error) from error


def _unanswered(resource: str, error: EdgeError) -> NoAnswer:
    if isinstance(error, Forbidden):
        return NoAnswer(f"{resource} could not be listed: {with_right(error, f'list {resource}')}")
    return NoAnswer(f"{resource} could not be listed: {error}; try again")


# ---- profiles ------------------------------------------------------------------------------------


async def who_decides(
    connection: Connection, observed: ObservedCluster, resolver: Resolver
) -> ProfileSet:
    """The profiles that decide in this cluster; without any it is preset Default, as
    kube-scheduler has it.
    """
    found = ProfileSet()
    bodies_by_name = {deciding.name_of(body): body for body in observed.profiles.bodies()}
    configs = observed.configs.bodies()
    for name, wanted in deciding.resolved(bodies_by_name.values(), configs, resolver).items():
        revision = await _deciding(connection, bodies_by_name[name], wanted, resolver)
        if revision is None:
            why = f"{deciding.refusal(wanted)}; is there a --config?"
            found.warnings.append(f"profile {name} is left out: {why}")
            found.left_out[wanted.scheduler_name] = why
            continue
        if revision is not wanted:
            why = "refused" if wanted.errors else "paused, or on trial"
            found.warnings.append(
                f"profile {name}: its spec is {why}, {revision.id} goes on deciding"
            )
        found.add(revision)
    if not found.by_scheduler:
        found.add(deciding.default_profile(resolver))
    return found


async def _deciding(
    connection: Connection, profile: Body, wanted: Resolution, resolver: Resolver
) -> Resolution | None:
    """What a profile's spec means; where it is refused, paused or on trial, what the operator has
    stored of the revision that decides. Where that cannot be had, the spec, None if it is refused.
    """
    meant = None if wanted.errors else wanted
    status = bodies.status(profile)
    home, _, lease = str(status.get("claimedBy") or "").partition("/")
    active = str(status.get("activeRevision") or "")
    if not home or active in ("", wanted.id) or (meant is not None and not _is_held(profile)):
        return meant
    name = deciding.name_of(profile)
    stored_name = f"{shortened(name, MAX_NAME_CHARACTERS - len(active) - 1)}-{active}"
    reads = HttpKubeReader(connection.session, SystemClock(), home, lease)
    try:
        stored = await reads.revision(stored_name)
    except EdgeError:
        return meant  # the profile's own errors are told
    found = None if stored is None else resolver.from_document(stored.data)
    return meant if found is None or found.errors else found


def _is_held(profile: Body) -> bool:
    """Whether another revision than the spec's may decide."""
    trial = bodies.status(profile).get("trial")
    on_trial = isinstance(trial, dict) and trial.get("verdict") == "SoFarNoWorse"
    return on_trial or bodies.paused(profile)
