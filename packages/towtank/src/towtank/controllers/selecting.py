"""Which objects a controller looks after: label selectors as objects hold them, and owners."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from towtank.controllers.world import Index, World, controller_of, leaving
from towtank.model.kinds import Body

Matches = Callable[[Mapping[str, str]], bool]


def matching(selector: Mapping[str, Any] | None) -> Matches:
    """A metav1.LabelSelector as a predicate over labels: None chooses nothing, {} everything."""
    if selector is None:
        return lambda labels: False
    wanted = list((selector.get("matchLabels") or {}).items())
    expressions = [_expression(each) for each in selector.get("matchExpressions") or ()]
    return lambda labels: all(labels.get(key) == value for key, value in wanted) and all(each(labels) for each in expressions)


def _expression(expression: Mapping[str, Any]) -> Matches:
    key, values = expression["key"], frozenset(expression.get("values") or ())
    kinds: dict[str, Matches] = {
        "In": lambda labels: labels.get(key) in values,
        "NotIn": lambda labels: labels.get(key) not in values,
        "Exists": lambda labels: key in labels,
        "DoesNotExist": lambda labels: key not in labels,
    }
    return kinds[expression["operator"]]


def labels_of(body: Body) -> Mapping[str, str]:
    """Its labels."""
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


def claim(world: World, key: str, owner: Body, matches: Matches) -> None:
    """Adopt objects that are chosen and nobody's, release those that are not chosen any more."""
    index: Index = world.indexes[key]
    uid = owner["metadata"]["uid"]
    for body in tuple(index["owner", uid]):
        if not matches(labels_of(body)):
            world.patch(key, body, lambda copy: _release(copy, uid))
    if leaving(owner):
        return
    for body in tuple(index["free", owner["metadata"]["namespace"]]):
        if matches(labels_of(body)) and not leaving(body):
            world.patch(key, body, lambda copy: copy["metadata"].setdefault("ownerReferences", []).append(owner_reference(owner)))


def _release(copy: Body, uid: str) -> None:
    copy["metadata"]["ownerReferences"] = [each for each in copy["metadata"]["ownerReferences"] if each["uid"] != uid]


def owners_name(body: Body, kind: str) -> str:
    """The name of the owner that looks after it, where that is of this kind; else ""."""
    uid = controller_of(body)
    owners = body["metadata"].get("ownerReferences", ())
    return next((str(owner["name"]) for owner in owners if owner["uid"] == uid and owner["kind"] == kind), "")
