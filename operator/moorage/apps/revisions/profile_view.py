"""A profile as the API server has it, with the revisions that the operator stored of it."""

from __future__ import annotations

import dataclasses
import urllib.parse
from collections.abc import Mapping, Sequence
from typing import Any, Final

from kubefacts import names
from moorage.adapters.answers import list_at, object_at
from moorage.api import bodies
from moorage.api.bodies import Body
from moorage.api.v1alpha1.common import CONFIGS_PATH, PROFILES_PATH
from moorage.apps.exit_status import NoAnswer, WrongUse
from moorage.apps.worlds.reaching import Connection, with_right
from moorage.core.structures.likeness import suggest
from moorage.ports.errors import EdgeError, NotFound
from moorage.ports.http_calls import HttpCall
from moorage.ports.kube import CHANGED_AT, CHANGED_BY, PROFILE_LABEL
from moorage.ports.texts import shortened

HOME: Final = "moorage-system"
"""Where an installation is at home that does not say."""


@dataclasses.dataclass(frozen=True, slots=True)
class Said:
    """What says a revision: a profile's object and the PluginConfigs that it may refer to."""

    profile: Body
    configs: Mapping[str, Body]

    @property
    def spec(self) -> Mapping[str, Any]:
        """The profile's."""
        found = self.profile.get("spec")
        return found if isinstance(found, Mapping) else {}


@dataclasses.dataclass(frozen=True, slots=True)
class KeptRevision:
    """A stored revision; ``since`` is when it last began to decide, ``changed_at`` of when the last
    change is that managedFields told of, RFC 3339.
    """

    revision: str
    number: int
    since: str
    changed_by: str
    said: Said
    changed_at: str = ""


@dataclasses.dataclass(frozen=True, slots=True)
class ProfileView:
    """A profile now, and what decided for it, the newest first."""

    said: Said
    stored: tuple[KeptRevision, ...]

    @property
    def name(self) -> str:
        """The profile's."""
        return str(self.said.profile["metadata"]["name"])

    @property
    def status(self) -> Mapping[str, Any]:
        """What the operator says."""
        return bodies.status(self.said.profile)

    @property
    def active(self) -> str:
        """The revision that decides, "" for none."""
        return str(self.status.get("activeRevision") or "")

    @property
    def desired(self) -> str:
        """The revision that the spec stands for, "" while it is bad."""
        return str(self.status.get("desiredRevision") or "")

    def find(self, revision: str) -> KeptRevision:
        """The stored revision whose name begins so. Raises WrongUse where that is not one."""
        found = [one for one in self.stored if one.revision.startswith(revision)]
        if len(found) == 1:
            return found[0]
        known = ", ".join(one.revision for one in self.stored) or "none"
        what = "no revision" if not found else "more than one revision"
        near = suggest(revision, (one.revision for one in self.stored)) if not found else ""
        raise WrongUse(f"{self.name} has {what} {revision}{near}; there are: {known}")

    def revision(self, revision: str) -> tuple[str, Said]:
        """The revision whose name begins so, and what says it: the spec as it is, where it stands
        for that. Raises WrongUse.
        """
        if self.desired and self.desired.startswith(revision):
            return self.desired, self.said
        stored = self.find(revision)
        return stored.revision, stored.said

    def condition(self, kind: str) -> Mapping[str, Any]:
        """The condition of this type, {} for none."""
        found = self.status.get("conditions")
        conditions = found if isinstance(found, list) else []
        return next((one for one in conditions if one.get("type") == kind), {})


async def view(connection: Connection, name: str) -> ProfileView:
    """The profile of this name. Raises NoAnswer, and WrongUse where there is none."""
    profile = await read(connection, f"{PROFILES_PATH}/{urllib.parse.quote(name, safe='')}")
    if profile is None:
        known = [item["metadata"]["name"] for item in await items(connection, PROFILES_PATH)]
        raise unknown_profile(name, known)
    configs = {item["metadata"]["name"]: item for item in await items(connection, CONFIGS_PATH)}
    home = str(bodies.status(profile).get("claimedBy") or "").partition("/")[0]
    if names.dns_label(home):  # whatever a status says, it does not become part of a path
        home = HOME
    return await viewed(connection, Said(profile, configs), home)


async def viewed(connection: Connection, said: Said, home: str) -> ProfileView:
    """A profile that is known, with the revisions that are stored in this namespace. Raises
    NoAnswer.
    """
    return ProfileView(said, await _stored(connection, said.profile, home))


def unknown_profile(name: str, known: Sequence[str]) -> WrongUse:
    """There is none of this name."""
    text = f"there is no SchedulerProfile {name}{suggest(name, known)}"
    return WrongUse(f"{text}; there are: {', '.join(known) or 'none'}")


async def read(connection: Connection, path: str) -> dict[str, Any] | None:
    """The object, None where it is not there. Raises NoAnswer."""
    try:
        return await object_at(connection.session, HttpCall("GET", path))
    except NotFound:
        return None
    except EdgeError as error:
        raise _unanswered(connection, error) from error


async def items(connection: Connection, path: str, query: str = "") -> Sequence[dict[str, Any]]:
    """The items of a list, none where there is no such list. Raises NoAnswer."""
    try:
        found = await list_at(connection.session, HttpCall("GET", f"{path}?{query}"))
    except NotFound:
        return ()
    except EdgeError as error:
        raise _unanswered(connection, error) from error
    return found.items or ()


def _unanswered(connection: Connection, error: EdgeError) -> NoAnswer:
    why = with_right(error, "get schedulerprofiles, list pluginconfigs and controllerrevisions")
    return NoAnswer(f"{why}; looked at {connection.name}")


async def _stored(connection: Connection, profile: Body, home: str) -> tuple[KeptRevision, ...]:
    name, uid = profile["metadata"]["name"], profile["metadata"].get("uid")
    path = f"/apis/apps/v1/namespaces/{home}/controllerrevisions"
    selector = urllib.parse.quote(f"{PROFILE_LABEL}={shortened(name)}")
    found = await items(connection, path, f"labelSelector={selector}")
    mine = [item for item in found if (item.get("data") or {}).get("uid") == uid]
    return tuple(sorted(map(_revision, mine), key=lambda one: one.number, reverse=True))


def _revision(item: Mapping[str, Any]) -> KeptRevision:
    data, metadata = item["data"], item["metadata"]
    said = Said(data.get("profile") or {}, data.get("pluginConfigs") or {})
    annotations = metadata.get("annotations") or {}
    by, at = (annotations.get(name, "") for name in (CHANGED_BY, CHANGED_AT))
    created = str(metadata.get("creationTimestamp", ""))
    return KeptRevision(
        str(data.get("revision", "")), int(item.get("revision", 0)), created, by, said, at
    )
