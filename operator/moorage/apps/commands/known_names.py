"""Names that could be meant: of profiles, revisions and pods, for completion.

The cluster is asked, but nobody who types waits for it: what it has not said after a second is left
out.
"""

from __future__ import annotations

import asyncio
import os
import signal
import sys
import urllib.parse
from collections.abc import Coroutine, Mapping, Sequence
from types import FrameType
from typing import Any, Final

from moorage.adapters.answers import list_at
from moorage.api.v1alpha1.common import PROFILES_PATH
from moorage.apps.exit_status import CommandError, NoAnswer
from moorage.apps.revisions.profile_view import view
from moorage.apps.worlds.cluster_choice import ClusterChoice
from moorage.apps.worlds.reaching import connected
from moorage.ports.errors import EdgeError
from moorage.ports.http_calls import METADATA_ALONE, HttpCall

SECONDS: Final = 1.0
_CORE: Final = "/api/v1"
PAGE: Final = 500
"""So many names of pods and namespaces at most: nobody reads more."""


def known(kind: str, typed: Mapping[str, Any], incomplete: str) -> list[str]:
    """The names of this kind that begin as it was typed; ``typed`` are the parameters so far."""
    choice = ClusterChoice(typed.get("kubeconfig") or "", typed.get("context") or "")
    if kind == "pods":
        namespace = typed.get("namespace") or "default"
        found: Sequence[str] = _asked(_pods(choice, namespace, incomplete))
    elif kind == "nodes":
        found = [] if typed.get("files") else _asked(_list(choice, f"{_CORE}/nodes"))
    elif kind == "namespaces":
        found = _asked(_list(choice, f"{_CORE}/namespaces"))
    elif kind == "ownRevisions":
        found = _asked(_revisions(choice, typed.get("name") or ""))
    elif kind == "revisions" and "@" in incomplete:
        name = incomplete.partition("@")[0]
        found = [f"{name}@{one}" for one in _asked(_revisions(choice, name))]
    else:
        found = _asked(_profiles(choice))
        if kind == "revisions":
            found = [*found, *(f"{name}@" for name in found)]
    return [name for name in found if name.startswith(incomplete)]


def _asked(asking: Coroutine[Any, Any, list[str]]) -> list[str]:
    """What the cluster says, nothing where it cannot be had. The process ends when the time is
    over: a name that is looked up holds a thread that nobody can end.
    """
    signal.signal(signal.SIGALRM, _give_up)
    signal.setitimer(signal.ITIMER_REAL, SECONDS)
    try:
        return asyncio.run(asking)
    except CommandError:
        return []
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)


def _give_up(number: int, frame: FrameType | None) -> None:
    sys.stdout.write(":4\n")
    sys.stdout.flush()
    os._exit(0)


async def _profiles(choice: ClusterChoice) -> list[str]:
    return await _list(choice, PROFILES_PATH)


async def _revisions(choice: ClusterChoice, profile: str) -> list[str]:
    async with connected(choice, waits_alone=False) as connection:
        found = await view(connection, profile)
    return [one.revision for one in found.stored]


async def _pods(choice: ClusterChoice, namespace: str, incomplete: str) -> list[str]:
    """Those of the namespace that was typed; else namespaces, and pods of the usual one."""
    typed, slash, _ = incomplete.partition("/")
    place = urllib.parse.quote(typed if slash else namespace, safe="")
    pods = await _list(choice, f"{_CORE}/namespaces/{place}/pods")
    if slash:
        return [f"{typed}/{name}" for name in pods]
    return [*pods, *(f"{name}/" for name in await _list(choice, f"{_CORE}/namespaces"))]


async def _list(choice: ClusterChoice, path: str) -> list[str]:
    """The names of a list's first page. Raises NoAnswer."""
    async with connected(choice, waits_alone=False) as connection:
        call = HttpCall("GET", f"{path}?limit={PAGE}", accept=METADATA_ALONE)
        try:
            found = await list_at(connection.session, call)
        except EdgeError as error:
            raise NoAnswer(str(error)) from error
    return [item["metadata"]["name"] for item in found.items or ()]
