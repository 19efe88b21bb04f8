"""Writing a profile back, and waiting until the operator decides by it.

The whole object is replaced, at the version that was looked at. Server-side apply would not do:
fields that the applied set lacks stay where others own them, so a weight that was added since by
`kubectl edit` would outlive the way back.
"""

from __future__ import annotations

import asyncio
import json
import time
import urllib.parse
from collections.abc import Mapping
from typing import Any, Final

from moorage.api import bodies
from moorage.api.bodies import Body
from moorage.api.v1alpha1.common import PROFILES_PATH
from moorage.apps.exit_status import NoAnswer
from moorage.apps.revisions.profile_view import ProfileView, Said, read
from moorage.apps.revisions.rollback import NotReached
from moorage.apps.worlds.reaching import Connection, with_right
from moorage.ports.errors import Conflict, EdgeError, Forbidden, Invalid, NotFound
from moorage.ports.http_calls import MERGE_PATCH, HttpCall

FIELD_MANAGER: Final = "moorage-rollback"
WAIT_SECONDS: Final = 30.0
"""Until the profile decides by what was written, or it is said what it waits for."""
_POLL_SECONDS: Final = 0.1


async def replace(connection: Connection, body: Body, *, dry_run: bool = False) -> int:
    """Put the object in the place of the one that was looked at; its generation then. Raises
    NotReached and NoAnswer.
    """
    metadata = {name: it for name, it in body["metadata"].items() if name != "managedFields"}
    whole = json.dumps({**body, "metadata": metadata}).encode()
    path = _path(body["metadata"]["name"], **({"dryRun": "All"} if dry_run else {}))
    return await _write(connection, HttpCall("PUT", path, whole))


async def pause(connection: Connection, name: str) -> int:
    """Have what decides go on, whatever the spec says; the generation then. Raises as ``replace``
    does.
    """
    patch = json.dumps({"spec": {"paused": True}}).encode()
    return await _write(connection, HttpCall("PATCH", _path(name), patch, MERGE_PATCH))


async def settled(connection: Connection, name: str, generation: int) -> ProfileView:
    """The profile once the operator has looked at this generation and decides as it says. Raises
    NotReached where it does not, or not in time.
    """
    last = time.monotonic() + WAIT_SECONDS
    while True:
        found = await read(connection, f"{PROFILES_PATH}/{urllib.parse.quote(name, safe='')}")
        if found is None:
            raise NotReached(f"{name} is gone")
        view = ProfileView(Said(found, {}), ())
        observed = view.status.get("observedGeneration") or 0
        if observed >= generation and _is_reached(view):
            return view
        if time.monotonic() > last:
            raise NotReached(_waiting(view, observed >= generation))
        await asyncio.sleep(_POLL_SECONDS)


def _is_reached(view: ProfileView) -> bool:
    """Whether it decides by its spec, or an observer explains by that, or it is paused. Raises
    NotReached for a spec that is refused.
    """
    for kind in ("Accepted", "ResolvedRefs"):
        condition = view.condition(kind)
        if condition.get("status") == "False":
            raise NotReached(f"{view.name} is refused: {condition.get('message')}")
    if bodies.paused(view.said.profile):
        return True
    active = view.condition("Active")
    runs = active.get("status") == "True" or active.get("reason") == "Observing"
    return runs and view.active == view.desired


def _waiting(view: ProfileView, observed: bool) -> str:
    seconds = f"after {WAIT_SECONDS:.0f} s"
    if not observed:
        return f"{seconds} no operator has looked at it; does one lead? kubectl get sprof"
    active = view.condition("Active")
    return f"{seconds} it waits: {active.get('reason')}: {active.get('message')}"


async def _write(connection: Connection, call: HttpCall) -> int:
    try:
        written: Mapping[str, Any] = json.loads(await connection.session.call(call))
    except (Conflict, NotFound) as error:
        raise NotReached("it was changed meanwhile; look again, and try again") from error
    except Forbidden as error:
        raise NoAnswer(with_right(error, "update schedulerprofiles")) from error
    except Invalid as error:
        raise NotReached(f"the API server refuses it: {error.message}") from error
    except (EdgeError, ValueError) as error:
        raise NoAnswer(f"it may have been written or not: {error}") from error
    return bodies.generation(written)


def _path(name: str, **more: str) -> str:
    query = urllib.parse.urlencode({"fieldManager": FIELD_MANAGER, **more})
    return f"{PROFILES_PATH}/{urllib.parse.quote(name, safe='')}?{query}"
