"""Which objects a controller looks after: its own, and those that its selector chooses."""

from __future__ import annotations

from collections.abc import Mapping

from kubefacts.labels import Selector
from towtank.controllers.client import ControllerClient, OwnerIndex, controller_of, is_terminating
from towtank.model.kinds import Body


def labels_of(body: Body) -> Mapping[str, str]:
    labels: Mapping[str, str] = body["metadata"].get("labels") or {}
    return labels


def owner_reference(owner: Body) -> Body:
    """What an object says of the one that looks after it."""
    return {
        "apiVersion": owner["apiVersion"],
        "kind": owner["kind"],
        "name": owner["metadata"]["name"],
        "uid": owner["metadata"]["uid"],
        "controller": True,
        "blockOwnerDeletion": True,
    }


def claim(world: ControllerClient, key: str, owner: Body, selector: Selector) -> None:
    """Adopt objects that are chosen and nobody's, release those that are not chosen any more."""
    index: OwnerIndex = world.indexes[key]
    uid = owner["metadata"]["uid"]
    for body in tuple(index["owner", uid]):
        if not selector.matches(labels_of(body)):
            world.patch(key, body, lambda copy: _release(copy, uid))
    if is_terminating(owner):
        return
    for body in tuple(index["free", owner["metadata"]["namespace"]]):
        if selector.matches(labels_of(body)) and not is_terminating(body):
            world.patch(key, body, lambda copy: _adopt(copy, owner))


def _adopt(copy: Body, owner: Body) -> None:
    copy["metadata"].setdefault("ownerReferences", []).append(owner_reference(owner))


def _release(copy: Body, uid: str) -> None:
    copy["metadata"]["ownerReferences"] = [
        each for each in copy["metadata"]["ownerReferences"] if each["uid"] != uid
    ]


def owner_name(body: Body, kind: str) -> str:
    """The name of the owner that looks after it, where that is of this kind; else ""."""
    uid = controller_of(body)
    owners = body["metadata"].get("ownerReferences", ())
    return next(
        (str(owner["name"]) for owner in owners if owner["uid"] == uid and owner["kind"] == kind),
        "",
    )
