"""What this replica knows of profiles and of its queue, as facts for the page.

Profiles are as its watch shows them. The Leases and the stored revisions are read from the API
server, in the operator's own namespace and by its own rights.
"""

from __future__ import annotations

import asyncio
import dataclasses
import time
from collections.abc import Awaitable, Callable, Mapping, Sequence
from typing import Any, Final, Generic, NamedTuple, TypeVar

from moorage.adapters.kube_session import KubeSession
from moorage.api.bodies import Body
from moorage.api.resolution import Resolver
from moorage.apps.reach.installations import look
from moorage.apps.reach.surroundings import Surroundings, served
from moorage.apps.revisions.profile_view import ProfileView, Said, unknown_profile, viewed
from moorage.apps.run.recent_rates import RecentRates
from moorage.apps.run.side_loop import Side
from moorage.apps.run.state_recording import kubernetes_version
from moorage.apps.status.status_documents import Source
from moorage.apps.ui.profile_documents import Views, views_of
from moorage.apps.ui.questions import Question
from moorage.apps.worlds.reaching import Connection
from moorage.engine.engine import Engine

T = TypeVar("T")

AROUND_SECONDS: Final = 2.0
"""For which the Leases are taken to be as they were read."""
VERSION_SECONDS: Final = 60.0
"""The same for the API server's version."""
STANDS_BY: Final = "rates, positions and attempts: this replica stands by, the leader has them"


class FreshValue(Generic[T]):
    """What ``take`` gave, for so many seconds. Whoever asks takes it anew after that; one at a
    time, as all use one loop.
    """

    def __init__(self, seconds: float, take: Callable[[], Awaitable[T]]) -> None:
        self._seconds = seconds
        self._take = take
        self._turn = asyncio.Lock()
        self._value: tuple[float, T] | None = None

    async def get(self) -> T:
        """Raises what ``take`` raises."""
        async with self._turn:
            now = time.monotonic()
            if self._value is None or now - self._value[0] > self._seconds:
                self._value = now, await self._take()
            return self._value[1]


class StatusFacts(NamedTuple):
    """What a Status document is made of."""

    around: Surroundings
    rates: Sequence[Mapping[str, Any]]
    source: Source


class OperatorProfiles:
    """Everything is called on the side, whose session and rates these are."""

    def __init__(
        self,
        engine: Engine,
        side: Side,
        session: KubeSession,
        rates: RecentRates,
        resolver: Resolver,
    ) -> None:
        self._engine = engine
        self._side = side
        self._session = session
        self.resolver = dataclasses.replace(resolver)
        """Of its own, for the page's thread; it knows of the same quarantine."""
        self._rates = rates
        self.version = FreshValue(VERSION_SECONDS, lambda: kubernetes_version(session.call))
        """Of Kubernetes, "" where the API server does not say."""
        self._around = FreshValue(AROUND_SECONDS, self._look)

    @property
    def leading(self) -> bool:
        """Whether this replica has the lease: then its queue and its rates are those that count."""
        return self._engine.live.answering

    def bodies(self) -> tuple[Body, ...]:
        """The objects, in no order: those that are others than before have changed. Copied in one
        step, whatever thread asks.
        """
        return tuple([one.body for one in [*self._engine.records.profiles.values()]])

    def names(self) -> tuple[str, ...]:
        """Of all profiles; copied in one step."""
        return tuple(self._engine.records.profiles)

    async def status(self) -> StatusFacts:
        """Raises MainLoopBusy."""
        around, identity = await self._around.get(), self._engine.ports.election.identity
        rates = [one async for one in self._rates.items()] if self.leading else []
        inspected = self._side.each(self._engine.inspector.groups)
        groups = [one async for one in inspected] if self.leading else None
        left_out = (around.why, "" if self.leading else STANDS_BY)
        source = Source(
            cluster=identity,
            at=self._engine.ports.clock.now(),
            operator=identity if self.leading else "",
            left_out=tuple(filter(None, left_out)),
            groups=groups,
        )
        return StatusFacts(around, rates, source)

    async def queue(self) -> list[Mapping[str, Any]]:
        """The pods that wait, as /debug/queue has them. Raises MainLoopBusy."""
        return [one async for one in self._side.each(self._engine.inspector.pods)]

    async def views(self, question: Question) -> Views:
        """The profiles that are asked for. Raises Denied, MainLoopBusy."""
        profiles, configs = await self._side.ask(self._objects)

        async def view(name: str) -> ProfileView:
            if name not in profiles:
                raise unknown_profile(name, [*profiles])
            home = self._engine.config.leader_election.resource_namespace
            connection = Connection(self._session, self._session.server, "")
            return await viewed(connection, Said(profiles[name], configs), home)

        return await views_of(question, view)

    # ---- inside ----------------------------------------------------------------------------------

    async def _look(self) -> Surroundings:
        objects, _ = await self._side.ask(self._objects)
        profiles = [objects[name] for name in sorted(objects)]
        election = self._engine.config.leader_election
        if not election.leader_elect:
            return Surroundings(profiles, None, self.leading)
        looking = look(self._session, election.resource_namespace, election.resource_name)
        return await served(self._session, profiles, looking)

    async def _objects(self) -> tuple[Mapping[str, Body], Mapping[str, Body]]:
        """Profiles and PluginConfigs by name. On the main loop."""
        records = self._engine.records
        profiles = {name: one.body for name, one in records.profiles.items()}
        return profiles, dict(records.configs)
