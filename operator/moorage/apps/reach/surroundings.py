"""What the API server says of the operator: the profiles, and the installation that serves them."""

from __future__ import annotations

import asyncio
import dataclasses
import datetime
from collections.abc import Awaitable, Sequence
from typing import Final

from moorage.adapters.answers import list_at
from moorage.api.bodies import Body
from moorage.api.v1alpha1.common import PROFILES_PATH
from moorage.apps.exit_status import NoAnswer
from moorage.apps.reach.installations import Installation, installation_of, look
from moorage.apps.worlds.reaching import Connection, with_right
from moorage.ports.errors import EdgeError, NotFound
from moorage.ports.http_calls import HttpCall, HttpSession

LEASE_AGAIN_SECONDS: Final = 3.0
"""After which a Lease that seems to have run out is looked at again: clocks may differ, but who
leads renews it.
"""


class NotInstalled(NoAnswer):
    """The cluster does not know our kinds."""


@dataclasses.dataclass(frozen=True, slots=True)
class Surroundings:
    """The profiles in the order of their names, and who serves them; ``installation`` is None where
    its Leases may not be seen, and ``why`` says that. ``led``: whether somebody leads, None where
    that cannot be known.
    """

    profiles: Sequence[Body]
    installation: Installation | None
    led: bool | None
    why: str = ""


async def surroundings(connection: Connection) -> Surroundings:
    """What there is now. Raises NoAnswer."""
    profiles = await profiles_of(connection)
    looking = installation_of(connection.session, profiles)
    return await served(connection.session, profiles, looking)


async def served(
    session: HttpSession, profiles: Sequence[Body], looking: Awaitable[Installation]
) -> Surroundings:
    """These profiles, with the installation that is found by ``looking``."""
    try:
        found = await looking
        led = found.seems_led(_now()) or await _renewed(session, found)
    except EdgeError as error:
        why = with_right(error, "get and list leases")
        return Surroundings(profiles, None, None, f"the operator's Leases: {why}")
    return Surroundings(profiles, found, led)


async def profiles_of(connection: Connection) -> Sequence[Body]:
    """All SchedulerProfiles. Raises NoAnswer, NotInstalled."""
    try:
        found = await list_at(connection.session, HttpCall("GET", PROFILES_PATH))
    except NotFound as error:
        text = (
            f"{connection.name} has no SchedulerProfiles: Moorage is not installed there. "
            f"Install it with: moorage crds | kubectl apply -f -, and the manifests"
        )
        raise NotInstalled(text) from error
    except EdgeError as error:
        why = with_right(error, "list schedulerprofiles")
        raise NoAnswer(f"SchedulerProfiles at {connection.name}: {why}") from error
    return sorted(found.items or (), key=lambda one: str(one["metadata"]["name"]))


async def _renewed(session: HttpSession, before: Installation) -> bool:
    """Whether the Lease is renewed that has run out by our clock. Raises EdgeError."""
    if not before.leader:
        return False
    await asyncio.sleep(LEASE_AGAIN_SECONDS)
    after = await look(session, before.namespace, before.lease)
    return bool(after.leader) and after.renewed != before.renewed


def _now() -> datetime.datetime:
    return datetime.datetime.now(datetime.UTC)
