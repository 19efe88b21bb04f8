"""Strategic merge patches: merge patches that know which lists are merged, by which key, and that
hold directives.

``$patch: replace`` and ``$patch: delete`` stand in an object or an item of a merged list,
``$retainKeys`` in an object; ``$setElementOrder/NAME`` and ``$deleteFromPrimitiveList/NAME`` beside
the list of that name. What is wrong with a patch is answered with 400; the API server says 500 with
the same texts.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
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
    new = _retained(old, patch)
    for name, deleted in _directives(patch, _DELETE):
        if isinstance(deleted, list) and isinstance(listed := new.get(name), list):
            gone = {_identity(item, "") for item in deleted}
            new[name] = [item for item in listed if _identity(item, "") not in gone]
    orders = [
        (name, _order(order, patch.get(name), node.child(name)))
        for name, order in _directives(patch, _ORDER)
    ]
    for name, value in patch.items():
        if value is None:
            new.pop(name, None)
        elif not _is_directive(name) and (name in new or not _directs(value)):
            new[name] = _value(new.get(name), value, node.child(name) or ANYTHING)
    for name, order in orders:
        if isinstance(listed := new.get(name), list):
            before = old.get(name)
            new[name] = _arranged(
                listed, order, before if isinstance(before, list) else (), _key(node.child(name))
            )
    return new


def _value(old: Any, patch: Any, node: SchemaNode) -> Any:
    replaced = "replace" in node.patch_strategies
    if isinstance(patch, dict) and isinstance(old, dict) and not replaced:
        return _object(old, patch, node)
    if isinstance(patch, list) and isinstance(old, list):
        return _list(old, patch, node) if "merge" in node.patch_strategies else cloned(patch)
    return _plain(patch)


def _directives(patch: dict[str, Any], prefix: str) -> list[tuple[str, Any]]:
    return [
        (name.removeprefix(prefix), value)
        for name, value in patch.items()
        if name.startswith(prefix)
    ]


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
    key = _key(node)
    if not key:
        merged = {_identity(item, key): item for item in [*old, *patch]}
        return _arranged(list(merged.values()), patch, old, key)
    kept = {_identity(item, key): item for item in old if key in item}
    content, replacing = [], False
    for item in patch:
        directive = item.get(_PATCH)
        if directive == "delete":
            kept.pop(_identity(item, key), None)
        elif directive == "replace":
            replacing = True
        elif directive == "merge":
            raise bad_request("merging lists cannot yet be specified in the patch")
        elif _PATCH in item:
            raise bad_request(f"unknown patch type: {_shown(directive)} in map: {_shown(item)}")
        else:
            content.append(item)
    if replacing:
        return [_plain(item) for item in content]
    for item in content:
        place = _identity(item, key)
        kept[place] = (
            _object(kept[place], item, node.items or ANYTHING) if place in kept else _plain(item)
        )
    return _arranged(list(kept.values()), content, old, key)


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
    wanted = iter([_identity(item, key) for item in order])
    named = (
        [item for item in patch or () if not (isinstance(item, dict) and _PATCH in item)]
        if isinstance(patch, list | None)
        else []
    )
    for item in named:
        if key and not isinstance(item, dict):
            raise bad_request(f"list element types are not identical: [{_shown(named)}]")
        # `in` moves the iterator on, so this compares sequences
        if _identity(item, key) not in wanted:
            raise bad_request(
                f"The order in patch list:\n{_shown(patch)}\n doesn't match $setElementOrder "
                f"list:\n{_shown(order)}\n"
            )
    return order


def _arranged(
    items: Iterable[Any], order: Sequence[Any], before: Sequence[Any], key: str
) -> list[Any]:
    """Put items that ``order`` names into its order; others stand as before, ahead of those that
    they stood ahead of.
    """
    wanted = _positions(order, key)
    stood = _positions(before, key)
    named: list[Any] = []
    others: list[Any] = []
    for item in items:
        (named if _identity(item, key) in wanted else others).append(item)
    named.sort(key=lambda item: wanted[_identity(item, key)])
    arranged = []
    for item in named:
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
