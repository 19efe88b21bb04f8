"""Garbage: objects whose owners are gone, and the two finalizers by which a deletion says what
becomes of dependents.

An owner is who has its UID, so an object of the same name that was made later is none.
"""

from __future__ import annotations

import collections
from collections.abc import Iterable, Sequence
from datetime import datetime

from towtank.controllers.client import ControllerClient, is_terminating
from towtank.controllers.controller import Controller, Key
from towtank.model.kinds import Body
from towtank.storage.store import StoreChange

FOREGROUND, ORPHAN = "foregroundDeletion", "orphan"
_Place = tuple[str, str, str]
"""Of an object: resource, namespace, name."""


class GarbageCollector(Controller):
    """Keys: ("dependent" or "owner", resource, namespace, name). It knows of every object who owns
    it, and where each UID is.
    """

    def __init__(self, world: ControllerClient) -> None:
        super().__init__(world)
        self._places: dict[str, _Place] = {}
        self._dependents: dict[str, dict[_Place, None]] = collections.defaultdict(dict)

    def keys_to_queue(self, resource: str, change: StoreChange) -> Iterable[Key]:
        """Dependents that are new, have other owners, or whose owner goes; owners that wait for
        their dependents.
        """
        now, place = change.now.body, (resource, *change.now.key)
        self._follow(place, change)
        if change.type == "DELETED":
            dependents = self._dependents.get(now["metadata"]["uid"], ())
            yield from (("dependent", *each) for each in dependents)
        elif _owners(now) and change.alters(_owners):
            yield "dependent", *place
        if change.type != "DELETED" and _waits(now) and change.alters(_waits):
            yield "owner", *place
        if change.before and (change.type == "DELETED" or change.alters(_owners)):
            for owner in _owners(change.before.body):
                if owner["uid"] in self._places:
                    yield "owner", *self._places[owner["uid"]]

    def _follow(self, place: _Place, change: StoreChange) -> None:
        uid, gone = change.now.body["metadata"]["uid"], change.type == "DELETED"
        for owner in _owners(change.before.body) if change.before else ():
            self._dependents[owner["uid"]].pop(place, None)
            if not self._dependents[owner["uid"]]:
                del self._dependents[owner["uid"]]
        for owner in () if gone else _owners(change.now.body):
            self._dependents[owner["uid"]][place] = None
        if gone:
            self._places.pop(uid, None)
        else:
            self._places[uid] = place

    def reconcile(self, key: Key, now: datetime) -> None:
        """Look at an object as somebody's dependent, or as an owner that waits."""
        what, resource, namespace, name = key
        found = self.client.verbs.find(resource, namespace, name)
        if found is None:
            return
        if what == "dependent":
            self._look_at_owners(resource, found)
        elif _waits(found) and ORPHAN in found["metadata"]["finalizers"]:
            self._orphan_some(resource, found)
        elif _waits(found):
            self._delete_dependents(resource, found)

    # ---- as a dependent --------------------------------------------------------------------------

    def _look_at_owners(self, resource: str, body: Body) -> None:
        """Delete it when it has no owner left, or only such as wait for it; what is being deleted
        goes its own way.
        """
        owners = [(each, self._owner(each, body)) for each in _owners(body)]
        staying = [each for each, owner in owners if _stays(owner)]
        if len(staying) == len(owners) or is_terminating(body):
            return
        if staying:
            self.client.patch(
                resource, body, lambda copy: copy["metadata"].update(ownerReferences=staying)
            )
        else:
            waited_for = any(owner is not None for _, owner in owners)
            self.client.delete(resource, body, self._propagation(body, waited_for=waited_for))

    def _propagation(self, body: Body, *, waited_for: bool) -> str:
        """What its deletion does with its own dependents: where an owner waits for it, it waits for
        those; else its finalizers say it.
        """
        if waited_for and body["metadata"]["uid"] in self._dependents:
            return "Foreground"
        finalizers = body["metadata"].get("finalizers", ())
        if ORPHAN in finalizers:
            return "Orphan"
        return "Foreground" if FOREGROUND in finalizers else "Background"

    def _owner(self, reference: Body, dependent: Body) -> Body | None:
        """The owner; None when it is gone, _UNKNOWN when nobody here knows its kind."""
        place = self._places.get(reference["uid"])
        if place and place[1] in ("", dependent["metadata"].get("namespace", "")):
            return self.client.verbs.find(*place)
        served = place or self.client.catalogue.of_kind(reference["apiVersion"], reference["kind"])
        return None if served else _UNKNOWN

    # ---- as an owner -----------------------------------------------------------------------------

    def _orphan_some(self, resource: str, body: Body) -> None:
        """Take the owner out of some of its dependents; when that is done it may go."""
        metadata = body["metadata"]
        places = tuple(self._dependents.get(metadata["uid"], ()))
        for place in places[: self.keys_per_slice]:
            self._orphan(place, metadata["uid"])
        if len(places) <= self.keys_per_slice:
            self.client.drop_finalizer(resource, body, ORPHAN)
        else:
            self.queue.add(("owner", resource, metadata.get("namespace", ""), metadata["name"]))

    def _delete_dependents(self, resource: str, body: Body) -> None:
        """Let the owner go when no dependent blocks that; have all looked at, as they end now."""
        uid = body["metadata"]["uid"]
        places = tuple(self._dependents.get(uid, ()))
        if not any(self._blocks(place, uid) for place in places):
            self.client.drop_finalizer(resource, body, FOREGROUND)
        for place in places:
            self.queue.add(("dependent", *place))

    def _orphan(self, place: _Place, uid: str) -> None:
        found = self.client.verbs.find(*place)
        if found:
            left = [each for each in _owners(found) if each["uid"] != uid]
            self.client.patch(
                place[0], found, lambda copy: copy["metadata"].update(ownerReferences=left)
            )

    def _blocks(self, place: _Place, uid: str) -> bool:
        found = self.client.verbs.find(*place)
        blocks = any(
            each["uid"] == uid and each.get("blockOwnerDeletion") for each in _owners(found)
        )
        return blocks and not (found and self._waits_for(found, uid))

    def _waits_for(self, body: Body, uid: str) -> bool:
        """Whether this one's deletion in the foreground waits for that owner, by way of whomever: a
        circle would wait for ever.
        """
        seen, open_ = {""}, [body]
        while open_:
            each = open_.pop()
            if not _in_foreground(each) or each["metadata"]["uid"] in seen:
                continue
            if each["metadata"]["uid"] == uid:
                return True
            seen.add(each["metadata"]["uid"])
            open_ += [
                found
                for place in self._dependents.get(each["metadata"]["uid"], ())
                if (found := self.client.verbs.find(*place))
            ]
        return False


_UNKNOWN: Body = {"metadata": {}}


def _owners(body: Body | None) -> Sequence[Body]:
    owners: Sequence[Body] = body["metadata"].get("ownerReferences") or () if body else ()
    return owners


def _stays(owner: Body | None) -> bool:
    return owner is not None and not _in_foreground(owner)


def _waits(body: Body) -> bool:
    """Whether its deletion has begun, and one of our finalizers keeps it."""
    return is_terminating(body) and not {FOREGROUND, ORPHAN}.isdisjoint(
        body["metadata"].get("finalizers", ())
    )


def _in_foreground(body: Body) -> bool:
    return is_terminating(body) and FOREGROUND in body["metadata"].get("finalizers", ())
