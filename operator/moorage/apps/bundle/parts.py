"""The parts of a bundle: each from the API server or the operator, or a line that says why not."""

from __future__ import annotations

import dataclasses
import datetime
import json
import urllib.parse
from collections.abc import AsyncIterator
from typing import Any, Final

import moorage
from moorage.api.v1alpha1.common import CONFIGS_PATH
from moorage.apps.reach.installations import Installation
from moorage.apps.reach.operators import Operator, ReachedOperator
from moorage.apps.reach.surroundings import Surroundings
from moorage.apps.worlds.reaching import Connection
from moorage.ports.errors import EdgeError
from moorage.ports.http_calls import HttpCall, HttpSession
from moorage.ports.kube import PROFILE_LABEL

LOG_SECONDS: Final = 3600
LOG_BYTES: Final = 20_000_000
SECONDS: Final = 60.0
_OF_OPERATOR: Final = {
    "configz.json": "/configz",
    "metrics.txt": "/metrics",
    "queue.json": "/debug/queue",
    "groups.json": "/debug/groups",
    "cache.json": "/debug/cache",
    "differences.json": "/debug/differences",
    "rates.json": "/debug/rates",
}
"""File to path."""
_RECORDING: Final = "no operator serves its recording; it is in the folder recording.directory"


@dataclasses.dataclass(frozen=True, slots=True)
class Part:
    """A file of the archive: a document, a text, or ``missing``, which says why there is none."""

    file: str
    document: Any = None
    text: str = ""
    missing: str = ""

    @property
    def body(self) -> Any:
        """The document or the text."""
        return self.text if self.document is None else self.document


@dataclasses.dataclass(frozen=True, slots=True)
class UnseenProfiles:
    """In the place of ``Surroundings`` where SchedulerProfiles cannot be had; ``why`` not."""

    why: str
    installation: Installation | None


async def parts(
    connection: Connection, around: Surroundings | UnseenProfiles, operator: Operator
) -> AsyncIterator[Part]:
    """All of them, one after another."""
    at = datetime.datetime.now(datetime.UTC).isoformat(timespec="seconds")
    versions = {"moorage": moorage.__version__, "kubernetes": connection.version, "at": at}
    yield Part("versions.json", versions)
    if isinstance(around, UnseenProfiles):
        yield Part("profiles.json", missing=around.why)
    else:
        yield Part("profiles.json", list(around.profiles))
    yield await _asked(connection, "pluginconfigs.json", CONFIGS_PATH)
    if around.installation is None:
        yield Part("replicas.json", missing=around.why)
    else:
        async for part in _installed(connection, around.installation):
            yield part
    for file, path in _OF_OPERATOR.items():
        yield await _of_operator(operator, file, path)
    yield Part("recording", missing=_RECORDING)


async def _installed(connection: Connection, found: Installation) -> AsyncIterator[Part]:
    replicas = [
        {"identity": one.identity, "revisions": dict(one.revisions), "seen": str(one.seen)}
        for one in found.replicas
    ]
    lease = {"namespace": found.namespace, "lease": found.lease, "leader": found.leader}
    yield Part("replicas.json", {**lease, "renewed": str(found.renewed), "replicas": replicas})
    home = urllib.parse.quote(found.namespace, safe="")
    path = f"/apis/apps/v1/namespaces/{home}/controllerrevisions"
    revisions = await _asked(connection, "revisions.json", f"{path}?labelSelector={PROFILE_LABEL}")
    if isinstance(revisions.document, list):  # what their data is, and not that of other objects
        bodies = [{"content": one.pop("data", None), **one} for one in revisions.document]
        revisions = Part(revisions.file, bodies)
    yield revisions
    for replica in found.replicas:
        if not (pod := replica.pod):
            continue
        query = f"sinceSeconds={LOG_SECONDS}&limitBytes={LOG_BYTES}"
        path = f"/api/v1/namespaces/{home}/pods/{urllib.parse.quote(pod, safe='')}/log?{query}"
        call = HttpCall("GET", path, timeout=SECONDS)
        yield await _text(f"logs/{pod}.txt", connection.session, call)


async def _asked(connection: Connection, file: str, path: str) -> Part:
    """The items of a list."""
    try:
        body = await connection.session.call(HttpCall("GET", path, timeout=SECONDS))
        return Part(file, json.loads(body)["items"])
    except EdgeError as error:
        return Part(file, missing=str(error).strip())
    except (ValueError, KeyError, TypeError):
        return Part(file, missing=f"GET {path}: the answer is no list")


async def _of_operator(operator: Operator, file: str, path: str) -> Part:
    if not isinstance(operator, ReachedOperator):
        return Part(file, missing=operator.why)
    call = HttpCall("GET", path, timeout=SECONDS)
    found = await _text(file, operator.session, call)
    if found.missing or not file.endswith(".json"):
        return found
    try:
        return Part(file, json.loads(found.text))
    except ValueError:
        return Part(file, missing=f"GET {path}: the answer is no JSON")


async def _text(file: str, session: HttpSession, call: HttpCall) -> Part:
    try:
        return Part(file, text=(await session.call(call)).decode(errors="replace"))
    except EdgeError as error:
        return Part(file, missing=str(error).strip())
