"""Bodies: the custom resources as the API server has them. They become typed objects here, or a
list of what is wrong with them.

The other functions read single fields of bodies that may be malformed, and never raise: a profile
that can't be decoded still has a name, a generation and references.
"""

from __future__ import annotations

import hashlib
import itertools
import json
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple, TypeAlias, TypeVar

from moorage.api.decoding import DecodeError, decoder
from moorage.api.v1alpha1.common import API_VERSION
from moorage.api.v1alpha1.plugin_config import PluginConfig
from moorage.api.v1alpha1.scheduler_profile import SchedulerProfile, SchedulerProfileSpec
from moorage.core.framework.revisions import FieldError, ProfileErrors

Body: TypeAlias = Mapping[str, Any]
"""An object as the API server has it."""

_STEP = re.compile(r"\[([^]]*)\]|([^.\[\]]+)")
"""Of a field's path."""
_Kind = TypeVar("_Kind", SchedulerProfile, PluginConfig)
_METADATA = ("name", "uid", "generation", "creationTimestamp", "resourceVersion")
MOST_STATUS = 256 * 1024
"""Bytes of a status's JSON; ours is smaller, so one that is larger is somebody else's and is
written anew.
"""
MAX_DEPTH = 64
"""Levels of a spec."""
MAX_VALUES = 400
"""Values of a field of a spec, at all levels together: the arguments of a plugin have a few hundred
at most.
"""
MOST_BYTES = 12 * 1024
"""Of a whole spec's JSON: thousands of objects must find room in memory, with what is made of
them.
"""


class SpecChange(NamedTuple):
    """Who changed an object's spec: the time as the API server writes it, and the field manager;
    "" where it is not known.
    """

    time: str = ""
    manager: str = ""


class Facts(NamedTuple):
    """What is asked of a body again and again."""

    scheduler_name: str
    """The name that pods use for a profile."""
    controller_name: str
    """The installation that a profile is for."""
    suspended: bool
    """Whether a profile's pods are to stay queued."""
    paused: bool
    """Whether the revision of a profile that decides is to go on."""
    change: SpecChange
    """When its spec was last changed, and by whom."""
    references: tuple[str, ...]
    """Names of the PluginConfigs that a profile references, sorted."""
    excess: tuple[FieldError, ...]
    """Where its spec is deeper or larger than may be."""


class Kept(Mapping[str, Any]):
    """A body as it is kept: each field as JSON, read when it is asked for, since a tree of Python's
    objects takes ten times the memory.

    Of metadata it has what we read; it has no spec where that is too large, and no status where
    that can't be ours.
    """

    __slots__ = ("_fields", "args", "facts")

    def __init__(self, body: Body) -> None:
        self.facts = facts(body)
        self.args: dict[tuple[str, str], Any] = {}
        """A PluginConfig's arguments by preset and plugin, once somebody has read them: all
        profiles that refer to it share them.
        """
        whole = {
            "apiVersion": body.get("apiVersion", API_VERSION),
            "kind": body.get("kind", ""),
            "metadata": _some(_metadata(body), _METADATA),
            "spec": {} if self.facts.excess else body.get("spec", {}),
        }
        self._fields = {name: _json(value) for name, value in whole.items()}
        # long, and compared by nobody
        known = _json({name: value for name, value in status(body).items() if name != "profiles"})
        self._fields["status"] = known if len(known) <= MOST_STATUS else b"{}"

    def __getitem__(self, name: str) -> Any:
        return json.loads(self._fields[name])

    def __iter__(self) -> Iterator[str]:
        return iter(self._fields)

    def __len__(self) -> int:
        return len(self._fields)


def decode(kind: type[_Kind], body: Body) -> _Kind:
    """The typed object, status left out. Raises ProfileErrors whatever the object holds."""
    if too_much := facts(body).excess:
        raise ProfileErrors(too_much)
    document = {"metadata": body.get("metadata", {}), "spec": body.get("spec", {})}
    try:
        return decoder(kind).decode(document)
    except DecodeError as error:
        raise ProfileErrors(
            FieldError(v.path.removeprefix("spec").removeprefix("."), v.value, v.message)
            for v in error.violations
        ) from error


def without(body: Body, paths: Iterable[str]) -> Body:
    """The object less these fields of its spec; of a list whose item is to go, less the field at
    its top.
    """
    spec: Any = _mapping(body.get("spec"))
    for path in paths:
        steps = [key or name for key, name in _STEP.findall(path)]
        try:
            spec = _less(spec, steps)
        except (LookupError, TypeError, ValueError):
            spec = {name: kept for name, kept in spec.items() if name not in steps[:1]}
    return {**body, "spec": spec}


def _less(value: Any, steps: Sequence[str]) -> Any:
    """A copy. Raises LookupError, TypeError or ValueError where the steps do not lead to a
    mapping's entry.
    """
    head, *rest = steps
    if isinstance(value, list):
        i = int(head)
        return [*value[:i], _less(value[i], rest), *value[i + 1 :]]
    if rest:
        return {**value, head: _less(value[head], rest)}
    return {name: kept for name, kept in value.items() if name != head}


def kept(body: Body) -> Kept:
    """The body as it is kept."""
    return body if isinstance(body, Kept) else Kept(body)


def config_hash(body: Body) -> str:
    """8 hex digits that stand for what a PluginConfig says; "" for one that says too much."""
    if facts(body).excess:
        return ""
    text = json.dumps(body.get("spec"), sort_keys=True, separators=(",", ":"))
    return hashlib.sha256(text.encode()).hexdigest()[:8]


def essence(body: Body) -> dict[str, Any]:
    """What a revision is made of: identity and spec, without what others write into objects."""
    kept = _some(_metadata(body), ("name", "uid", "generation", "creationTimestamp"))
    return {
        "apiVersion": body.get("apiVersion", API_VERSION),
        "kind": body.get("kind", ""),
        "metadata": kept,
        "spec": body.get("spec", {}),
    }


def generation(body: Body) -> int:
    """The object's generation; 0 when it has none, as in a file."""
    value = _metadata(body).get("generation")
    return value if isinstance(value, int) else 0


def spec_version(body: Body) -> tuple[object, object]:
    """What changes when the object's spec does, or when it is another object of that name."""
    metadata = _metadata(body)
    return metadata.get("uid"), metadata.get("generation")


def age(body: Body) -> tuple[str, str]:
    """Orders profiles: the older one first, then by name."""
    metadata = _metadata(body)
    return str(metadata.get("creationTimestamp") or ""), str(metadata.get("name", ""))


def scheduler_name(body: Body) -> str:
    """The name that pods use for a profile."""
    return facts(body).scheduler_name


def is_observed(body: Body) -> bool:
    """Whether its status says that an observer explains by it, and nobody decides."""
    said = status(body)
    return bool(said.get("observedBy")) and not said.get("claimedBy")


def controller_name(body: Body) -> str:
    """The installation that a profile is for."""
    return facts(body).controller_name


def suspended(body: Body) -> bool:
    """Whether a profile's pods are to stay queued."""
    return facts(body).suspended


def paused(body: Body) -> bool:
    """Whether the revision of a profile that decides is to go on, whatever the spec says."""
    return facts(body).paused


def last_change(bodies: Iterable[Body], before: str = "") -> SpecChange:
    """The last change of any of these objects' specs. Where it is the one of ``before`` (its time)
    and there was another one since, nobody knows by whom: managedFields do not tell of a change
    that only removes fields.
    """
    found = max((facts(body).change for body in bodies), default=SpecChange())
    return SpecChange(found.time) if before == found.time != "" else found


def is_true(body: Body, condition: str) -> bool:
    """Whether its status has this condition, and that is True."""
    found = status(body).get("conditions")
    return any(
        _mapping(one).get("type") == condition and _mapping(one).get("status") == "True"
        for one in (found if isinstance(found, list) else ())
    )


def status(body: Body) -> Mapping[str, Any]:
    """The status that was last written."""
    return _mapping(body.get("status"))


def references(body: Body) -> tuple[str, ...]:
    """Names of the PluginConfigs that a profile references, sorted."""
    return facts(body).references


def facts(body: Body) -> Facts:
    """What is asked of a body again and again."""
    if isinstance(body, Kept):
        return body.facts
    spec = _mapping(body.get("spec"))
    name, controller = spec.get("schedulerName"), spec.get("controllerName")
    too_much = tuple(_excess(spec))
    return Facts(
        name if isinstance(name, str) and name else str(_metadata(body).get("name", "")),
        controller
        if isinstance(controller, str)
        else str(SchedulerProfileSpec.model_fields["controller_name"].default),
        spec.get("suspend") is True,
        spec.get("paused") is True,
        _last_change(body),
        () if too_much else _references(spec),
        too_much,
    )


def _last_change(body: Body) -> SpecChange:
    """By metadata.managedFields, the newest entry that owns a part of the spec."""
    entries = _metadata(body).get("managedFields")
    return max(
        (
            SpecChange(str(entry.get("time", "")), str(entry.get("manager", "")))
            for entry in (map(_mapping, entries) if isinstance(entries, list) else ())
            if "f:spec" in _mapping(entry.get("fieldsV1"))
        ),
        default=SpecChange(),
    )


def _references(spec: Mapping[str, Any]) -> tuple[str, ...]:
    entries = spec.get("pluginConfig")
    names = [
        _mapping(_mapping(entry).get("configRef")).get("name")
        for entry in (entries if isinstance(entries, list) else [])
    ]
    return tuple(sorted({name for name in names if isinstance(name, str)}))


def excess(value: object) -> str:
    """What is too much of a value, "" for nothing."""
    count, level = 0, [value]
    for _ in range(MAX_DEPTH):
        objects = [item.values() for item in level if isinstance(item, Mapping)]
        lists = [item for item in level if isinstance(item, (list, tuple))]
        level = [*itertools.chain(*objects, *lists)]
        count += len(level)
        if count > MAX_VALUES:
            return f"holds more than {MAX_VALUES} values"
        if not level:
            return ""
    return f"is nested deeper than {MAX_DEPTH} levels"


def _excess(spec: Mapping[str, Any]) -> Iterator[FieldError]:
    """Fields that are too deep or have too many values; where there are none, a spec that is too
    long all the same.
    """
    if found := [
        FieldError(name, "{…}", text) for name, value in spec.items() if (text := excess(value))
    ]:
        yield from found
    elif (size := len(_json(spec))) > MOST_BYTES:
        yield FieldError("", "{…}", f"has {size} bytes of JSON, more than {MOST_BYTES}")


def _json(value: object) -> bytes:
    return json.dumps(value, separators=(",", ":")).encode()


def _some(metadata: Mapping[str, Any], names: Iterable[str]) -> dict[str, Any]:
    return {name: metadata[name] for name in names if name in metadata}


def _metadata(body: Body) -> Mapping[str, Any]:
    return _mapping(body.get("metadata"))


def _mapping(value: object) -> Mapping[str, Any]:
    return value if isinstance(value, Mapping) else {}
