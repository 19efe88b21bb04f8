"""Other installations beside one: who they are, what they share with it, and what is therefore not
its own.
"""

from __future__ import annotations

import dataclasses
import datetime
import itertools
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Final

from moorage.api import bodies
from moorage.apps.authority.authority_setting import Installed
from moorage.apps.install.guests import guests, uids
from moorage.apps.install.inventories import (
    BINDINGS,
    DEPLOYMENT,
    NAMESPACE,
    Inventory,
    controllers,
    labels,
    of,
    refers,
)
from moorage.apps.install.object_keys import INSTANCE, Document, installation_of, key_of
from moorage.apps.reach.installations import is_fresh
from moorage.ports.kube import INSTALLATION_LABEL, PROFILE_LABEL
from moorage.ports.texts import shortened


@dataclasses.dataclass(frozen=True, slots=True)
class Leaver:
    """The installation that leaves, as it is before anything of it goes."""

    place: Installed
    names: frozenset[str]
    """Its own, and those of its shards."""
    spaces: frozenset[str]
    """The namespaces that it writes to."""
    controllers: frozenset[str]
    """Which profiles it serves, by their controllerName; none where that is not known."""
    is_there: bool
    """Whether any object of it is."""
    residents: frozenset[str] = frozenset()
    """What was in its namespace, by uid."""


def leaver(found: Inventory, place: Installed) -> Leaver:
    """The installation there."""
    ours = found.of(place)
    spaces = (one["metadata"]["namespace"] for one in of(ours, "Role"))
    return Leaver(
        place,
        found.names(place),
        frozenset({place.namespace, *spaces}),
        frozenset(controllers(ours)),
        bool(ours),
        frozenset(uids(found.residents)),
    )


class Neighbours:
    """Of the installation ``who``, whose objects are ``ours``; its shards are none of them."""

    def __init__(
        self, found: Inventory, who: Leaver, ours: Sequence[Document], now: datetime.datetime
    ) -> None:
        self._found = found
        self._ours = ours
        self._names: Final = who.names
        self._leases: Final = set(map(shortened, who.names))
        self._who: Final = who
        self._spaces: Final = who.spaces
        self._controllers: Final = who.controllers
        self._others: Final = {**self._alive(now), **self._deployed()}

    def are_there(self) -> bool:
        """Whether there is any."""
        return bool(self._others)

    def needing_kinds(self) -> str:
        """Why the CRDs stay: the first who needs them; "" for nobody."""
        users = itertools.chain(
            self._others.values(), self._foreign_profiles(), self._nobodys_configs()
        )
        return next(users, "")

    def _foreign_profiles(self) -> Iterator[str]:
        for profile in self._found.profiles:
            if not self.is_mine(profile):
                name = profile["metadata"]["name"]
                controller = bodies.controller_name(profile)
                yield f"SchedulerProfile {name} has controllerName {controller}"

    def _nobodys_configs(self) -> Iterator[str]:
        """PluginConfigs, where nothing else says that an installation of this name was here."""
        if not self._who.is_there and not self._found.profiles:
            for config in self._found.configs:
                name = config["metadata"]["name"]
                yield f"PluginConfig {name} is there, and nothing of {self._who.place}"

    def is_mine(self, profile: Document) -> bool:
        """Whether this installation serves the profile, or is the one that would. A claim may be
        from when the installation had that controllerName, so it alone decides only where nobody
        knows which one it has.
        """
        space, _, lease = str(bodies.status(profile).get("claimedBy") or "").partition("/")
        claimed = space in self._spaces and lease in self._names
        controller = bodies.controller_name(profile)
        if controller not in self._controllers:
            return claimed and not self._controllers
        return claimed or not (self._others if lease else any(self._served_by_others(controller)))

    def _served_by_others(self, controller: str) -> Iterator[Installed]:
        """Whoever has this name, too, as an observer may; or a name that cannot be found out."""
        for other in self._others:
            theirs = controllers(self._found.of(other))
            if not theirs or controller in theirs:
                yield other

    def shared(self, kept: Sequence[Document]) -> Iterator[tuple[Document, str]]:
        """Our objects that others need, with why; the namespace also for revisions of profiles that
        are ``kept``.
        """
        bindings = [one for one in of(self._found.objects, *BINDINGS) if one not in self._ours]
        for one in self._ours:
            users = [f"{key_of(it)} refers to it" for it in bindings if refers(it, one)]
            if one["kind"] == NAMESPACE:
                users = [*self._in(one["metadata"]["name"], kept)]
            if users:
                yield one, users[0]

    def _in(self, namespace: str, kept: Sequence[Document]) -> Iterator[str]:
        """Why others need our namespace: they run there, have their Lease and revisions there, or
        have objects there that are not ours at all.
        """
        yield from (why for other, why in self._others.items() if other.namespace == namespace)
        for role in of(self._found.objects, "Role"):
            if role not in self._ours and role["metadata"]["namespace"] == namespace:
                yield f"{key_of(role)} is installation {installation_of(role)}'s"
        written = [*self.written(kept)]
        for one in of(self._found.written, "ControllerRevision"):
            if one not in written and one["metadata"]["namespace"] == namespace:
                yield f"{key_of(one)} is SchedulerProfile {labels(one).get(PROFILE_LABEL)}'s"
        ours = (*written, *self._found.pods)
        yield from guests(self._found.residents, self._names, ours, self._who.residents)

    def written(self, kept: Iterable[Document]) -> Iterator[Document]:
        """What this installation's operator has written; of revisions, those of profiles that are
        not ``kept``.
        """
        staying = {shortened(str(one["metadata"]["name"])) for one in kept}
        names = {*self._leases, *(f"{name}-admission-tls" for name in self._names)}
        for one in self._found.written:
            metadata, space = one["metadata"], one["metadata"]["namespace"]
            if space not in self._spaces:
                continue
            if one["kind"] != "ControllerRevision":
                if labels(one).get(INSTALLATION_LABEL, metadata["name"]) in names:
                    yield one
            elif labels(one).get(PROFILE_LABEL) not in staying:
                yield one

    def _deployed(self) -> Mapping[Installed, str]:
        found = {}
        for one in of(self._found.objects, DEPLOYMENT):
            if one not in self._ours and installation_of(one):
                place = Installed(one["metadata"]["namespace"], labels(one)[INSTANCE])
                found[place] = f"installation {place} is there"
        return found

    def _alive(self, now: datetime.datetime) -> Mapping[Installed, str]:
        """By Leases of replicas, which need no Deployment."""
        found = {}
        for lease in of(self._found.written, "Lease"):
            name = labels(lease).get(INSTALLATION_LABEL, "")
            place = Installed(lease["metadata"]["namespace"], name)
            mine = place.namespace in self._spaces and name in self._leases
            if name and not mine and place.namespace in self._found.homes and is_fresh(lease, now):
                found[place] = (
                    f"installation {place} is alive, by Lease {lease['metadata']['name']}"
                )
        return found
