"""Strategic merge patches: merge patches that know which lists are merged, by which key, and that
hold directives.

``$patch: replace`` and ``$patch: delete`` stand in an object or an item of a merged list,
``$retainKeys`` in an object; ``$setElementOrder/NAME`` and ``$deleteFromPrimitiveList/NAME`` beside
the list of that name. What is wrong with a patch is answered with 400; the API server says 500 with
the same texts.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

import msgspec

from towtank.model.api_errors import bad_request
from towtank.model.json_values import cloned, json_type
from towtank.model.kinds import Body
from towtank.model.schema_nodes import ANYTHING, SchemaNode

_PATCH: Final = "$patch"
_RETAIN: Final = "$retainKeys"
_ORDER: Final = "$setElementOrder/"
_DELETE: Final = "$deleteFromPrimitiveList/"


def strategic(old: Body, patch: Any, node: SchemaNode) -> Body:
    """The new body. Raises ApiError 400."""
    if patch is None:
        return dict(old)
    if not isinstance(patch, dict):
        raise bad_request(
            f"json: cannot unmarshal {json_type(patch)} into Go value of type "
            f"map[string]interface {{}}"
        )
    return _object(old, patch, node)


def _object(old: dict[str, Any], patch: dict[str, Any], node: SchemaNode) -> dict[str, Any]:
    directive = patch.get(_PATCH)
    if directive == "replace":
        return {name: cloned(value) for name, value in patch.items() if name != _PATCH}
    if directive == "delete":
        return {}
    if _PATCH in patch:
        raise bad_request(f"unknown patch type: {_shown(directive)} in map: {_shown(patch)}")
    return _merged(old, patch, node)


def _merged(old: dict[str, Any], patch: dict[str, Any], node: SchemaNode) -> dict[str, Any]:
    new = _without_deleted(_retained(old, patch), patch)
    orders = {
        name: _order(order, patch.get(name), node.child(name))
        for name, order in _directives(patch, _ORDER).items()
    }
    for name, value in patch.items():
        if value is None:
            new.pop(name, None)
        elif not _is_directive(name) and (name in new or not _directs(value)):
            new[name] = _value(new.get(name), value, node.child(name) or ANYTHING)
    for name, order in orders.items():
        if isinstance(listed := new.get(name), list):
            before = listed_before if isinstance(listed_before := old.get(name), list) else ()
            new[name] = _arranged(listed, order, before, _key(node.child(name)))
    return new


def _without_deleted(body: dict[str, Any], patch: dict[str, Any]) -> dict[str, Any]:
    """Without the scalars that a patch takes out of lists."""
    kept = dict(body)
    for name, deleted in _directives(patch, _DELETE).items():
        if isinstance(deleted, list) and isinstance(listed := body.get(name), list):
            gone = {_identity(item, "") for item in deleted}
            kept[name] = [item for item in listed if _identity(item, "") not in gone]
    return kept


def _value(old: Any, patch: Any, node: SchemaNode) -> Any:
    replaced = "replace" in node.patch_strategies
    if isinstance(patch, dict) and isinstance(old, dict) and not replaced:
        return _object(old, patch, node)
    if isinstance(patch, list) and isinstance(old, list):
        return _list(old, patch, node) if "merge" in node.patch_strategies else cloned(patch)
    return _plain(patch)


def _directives(patch: dict[str, Any], prefix: str) -> dict[str, Any]:
    """By the names of the lists that they are about."""
    return {
        name.removeprefix(prefix): value for name, value in patch.items() if name.startswith(prefix)
    }


def _is_directive(name: str) -> bool:
    return name.startswith("$") and (
        name in (_PATCH, _RETAIN) or name.startswith((_ORDER, _DELETE))
    )


def _plain(patch: Any) -> Any:
    """The value of a patch where there is nothing to merge with: without nulls, directives, and
    objects that hold one.
    """
    if isinstance(patch, dict):
        kept = {
            name: value
            for name, value in patch.items()
            if value is not None and not _is_directive(name) and not _directs(value)
        }
        return {name: _plain(value) for name, value in kept.items()}
    return (
        [_plain(item) for item in patch if not _directs(item)] if isinstance(patch, list) else patch
    )


def _directs(value: Any) -> bool:
    return isinstance(value, dict) and _PATCH in value


def _retained(old: dict[str, Any], patch: dict[str, Any]) -> dict[str, Any]:
    if _RETAIN not in patch:
        return dict(old)
    retained = patch[_RETAIN]
    if not isinstance(retained, list) or any(
        name not in retained for name in patch if not _is_directive(name)
    ):
        raise bad_request("invalid patch format of retainKeys")
    return {name: value for name, value in old.items() if name in retained}


# ---- lists ---------------------------------------------------------------------------------------


def _list(old: list[Any], patch: list[Any], node: SchemaNode) -> list[Any]:
    if len({type(item) for item in [*old, *patch]}) > 1:
        raise bad_request(f"list element types are not identical: [{_shown(old)} {_shown(patch)}]")
    if key := _key(node):
        return _objects(old, patch, node.items or ANYTHING, key)
    merged = {_identity(item, ""): item for item in [*old, *patch]}
    return _arranged(list(merged.values()), patch, old, "")


def _objects(old: list[Body], patch: list[Body], node: SchemaNode, key: str) -> list[Body]:
    """A list of objects that ``key`` tells apart."""
    for item in patch:
        _require_known_directive(item)
    content = [item for item in patch if _PATCH not in item]
    if any(item.get(_PATCH) == "replace" for item in patch):
        return [_plain(item) for item in content]
    kept = {_identity(item, key): item for item in old if key in item}
    for item in patch:
        if item.get(_PATCH) == "delete":
            kept.pop(_identity(item, key), None)
    for item in content:
        place = _identity(item, key)
        kept[place] = _object(kept[place], item, node) if place in kept else _plain(item)
    return _arranged(list(kept.values()), content, old, key)


def _require_known_directive(item: Body) -> None:
    directive = item.get(_PATCH)
    if directive == "merge":
        raise bad_request("merging lists cannot yet be specified in the patch")
    if _PATCH in item and directive not in ("delete", "replace"):
        raise bad_request(f"unknown patch type: {_shown(directive)} in map: {_shown(item)}")


def _key(node: SchemaNode | None) -> str:
    """The merge key of a list; "" of a list of scalars."""
    return node.patch_key if node else ""


def _identity(item: Any, key: str) -> bytes:
    """What tells items apart, as JSON: 1 is not "1"."""
    if not key:
        return msgspec.json.encode(item)
    if key not in item:
        raise bad_request(f"map: {_shown(item)} does not contain declared merge key: {key}")
    return msgspec.json.encode(item[key])


def _order(order: Any, patch: Any, node: SchemaNode | None) -> list[Any]:
    """Check an order: it has keys, and names what the patch adds or changes in the patch's
    order.
    """
    if not isinstance(order, list):
        raise bad_request(f"expected a []interface {{}}, but received a {json_type(order)}")
    if node is None:
        raise bad_request(
            "unable to find api field in struct for the json field of an element order"
        )
    key = _key(node)
    for index, item in enumerate(order):
        if key and not isinstance(item, dict):
            raise bad_request(f"value for key {index} is not a map")
    _require_in_order(patch if isinstance(patch, list) else [], order, key)
    return order


def _require_in_order(patch: list[Any], order: list[Any], key: str) -> None:
    wanted = iter([_identity(item, key) for item in order])
    named = [item for item in patch if not _directs(item)]
    for item in named:
        if key and not isinstance(item, dict):
            raise bad_request(f"list element types are not identical: [{_shown(named)}]")
        # `in` moves the iterator on, so this compares sequences
        if _identity(item, key) not in wanted:
            raise bad_request(
                f"The order in patch list:\n{_shown(patch)}\n doesn't match $setElementOrder "
                f"list:\n{_shown(order)}\n"
            )


def _arranged(
    items: Sequence[Any], order: Sequence[Any], before: Sequence[Any], key: str
) -> list[Any]:
    """Put items that ``order`` names into its order; others stand as before, ahead of those that
    they stood ahead of.
    """
    wanted, stood = _positions(order, key), _positions(before, key)
    named = [item for item in items if _identity(item, key) in wanted]
    others = [item for item in items if _identity(item, key) not in wanted]
    arranged = []
    for item in sorted(named, key=lambda item: wanted[_identity(item, key)]):
        place = stood.get(_identity(item, key), -1)
        while others and stood.get(_identity(others[0], key), place) < place:
            arranged.append(others.pop(0))
        arranged.append(item)
    return arranged + others


def _positions(items: Sequence[Any], key: str) -> dict[bytes, int]:
    return {
        _identity(item, key): index for index, item in enumerate(items) if not key or key in item
    }


def _shown(value: Any) -> str:
    """As Go prints values: what an administrator sees in the API server's messages."""
    if isinstance(value, dict):
        return f"map[{' '.join(f'{name}:{_shown(value[name])}' for name in sorted(value))}]"
    if isinstance(value, list):
        return f"[{' '.join(map(_shown, value))}]"
    return (
        "<nil>" if value is None else str(value).lower() if isinstance(value, bool) else str(value)
    )
