"""What a CustomResourceDefinition has become since an earlier one, and what of that keeps a reader,
a writer or a stored object of the earlier one from working.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, Final, NamedTuple

Node = Mapping[str, Any]

_FALLS: Final = ("maximum", "maxLength", "maxItems", "maxProperties")
_RISES: Final = ("minimum", "minLength", "minItems", "minProperties")
_OPENS: Final = ("nullable", "x-kubernetes-preserve-unknown-fields", "x-kubernetes-int-or-string")
_EQUAL: Final = (
    "type",
    "format",
    "pattern",
    "default",
    "x-kubernetes-list-type",
    "x-kubernetes-list-map-keys",
    "x-kubernetes-map-type",
    "multipleOf",
    "uniqueItems",
)
"""What may not be changed; of these, format and pattern may go."""
_CHILDREN: Final = ("items", "additionalProperties")
_COMPARED: Final = frozenset(
    {
        *_FALLS,
        *_RISES,
        *_OPENS,
        *_EQUAL,
        *_CHILDREN,
        "properties",
        "required",
        "enum",
        "x-kubernetes-validations",
        "description",
    }
)


class Change(NamedTuple):
    """A difference, at a field's path, such as v1alpha1.spec.plugins."""

    path: str
    what: str
    breaks: bool
    """Whether somebody of the earlier release would notice."""


def changes(before: Mapping[str, Any], after: Mapping[str, Any]) -> Iterator[Change]:
    """All differences of two CustomResourceDefinitions but for descriptions and columns."""
    old, new = before["spec"], after["spec"]
    for name in ("group", "scope", "names", "conversion", "preserveUnknownFields"):
        if old.get(name) != new.get(name):
            yield Change(name, f"was {old.get(name)}, is {new.get(name)}", True)
    versions = {version["name"]: version for version in new["versions"]}
    for version in old["versions"]:
        if (now := versions.pop(version["name"], None)) is None:
            yield Change(version["name"], "is gone", True)
        else:
            yield from _of_version(version, now)
    for name in versions:
        yield Change(name, "is new", False)


def _of_version(old: Node, new: Node) -> Iterator[Change]:
    name = old["name"]
    for field in ("served", "storage", "subresources"):
        if old.get(field) != new.get(field):
            yield Change(f"{name}: {field}", f"was {old.get(field)}, is {new.get(field)}", True)
    for field in old.get("selectableFields", ()):
        if field not in new.get("selectableFields", ()):
            yield Change(f"{name}: selectableFields", f"{field['jsonPath']} is gone", True)
    schemas = (version["schema"]["openAPIV3Schema"] for version in (old, new))
    yield from _of_node(name, *schemas)


def _of_node(path: str, old: Node, new: Node) -> Iterator[Change]:
    """The differences of two schemas of one field, and of what is in it."""
    if unknown := {*old, *new} - _COMPARED:
        raise ValueError(f"{path}: nobody has said when a change of {sorted(unknown)} breaks")
    yield from _tightened(path, old, new)
    yield from _of_properties(path, old, new)
    for name in _CHILDREN:
        before, after = old.get(name), new.get(name)
        if before is not None and after is not None:
            yield from _of_node(f"{path}[]", before, after)
        elif before != after:
            yield Change(f"{path}[]", "has come or gone", True)


def _of_properties(path: str, old: Node, new: Node) -> Iterator[Change]:
    before, after = old.get("properties", {}), new.get("properties", {})
    for name, field in before.items():
        if name in after:
            yield from _of_node(f"{path}.{name}", field, after[name])
        else:
            yield Change(f"{path}.{name}", "is gone", True)
    for name in after.keys() - before.keys():
        # Replicas of the release before refuse fields of a spec that they do not know.
        given = "default" in after[name] and ".spec" in path
        what = "is new, and every object gets it by its default" if given else "is new"
        yield Change(f"{path}.{name}", what, given)
    for name in set(new.get("required", ())) - set(old.get("required", ())):
        yield Change(f"{path}.{name}", "is required now", True)
    for name in set(old.get("required", ())) - set(new.get("required", ())):
        # A reader of the earlier release takes it for granted.
        yield Change(f"{path}.{name}", "is not required any more", ".status" in path)


def _tightened(path: str, old: Node, new: Node) -> Iterator[Change]:
    """The differences of what the field itself may be."""
    for name in sorted({*_FALLS, *_RISES, *_OPENS, *_EQUAL}):
        if old.get(name) != new.get(name):
            what = f"{name} was {old.get(name)}, is {new.get(name)}"
            yield Change(path, what, _breaks(name, old.get(name), new.get(name)))
    before, after = (node.get("enum") for node in (old, new))
    if before != after:
        fewer = after is not None and (before is None or not set(before) <= set(after))
        yield Change(path, f"enum was {before}, is {after}", fewer)
    was, now = (
        [rule["rule"] for rule in node.get("x-kubernetes-validations", ())] for node in (old, new)
    )
    yield from (Change(path, f"new rule: {one}", True) for one in now if one not in was)
    yield from (Change(path, f"rule gone: {one}", False) for one in was if one not in now)


def _breaks(name: str, old: Any, new: Any) -> bool:
    if name in _FALLS:
        return new is not None and (old is None or new < old)
    if name in _RISES:
        return new is not None and (old is None or new > old)
    if name in _OPENS:
        return bool(old) and not new
    return new is not None or name not in ("format", "pattern")
