"""Bodies: JSON and YAML in, with what Go's decoders say of faults."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any, Final

import msgspec
import yaml

from moorage.devcluster import protobuf
from moorage.devcluster.problems import Problem, bad_request, unsupported_media_type

JSON: Final = "application/json"
YAML: Final = "application/yaml"
SERVED: Final = (JSON, YAML, protobuf.MEDIA_TYPE)
_MOST_YAML_VALUES: Final = 500_000
"""What a YAML text may grow to: aliases can make much of little."""


class Unreadable(Exception):
    """A body is no JSON or no YAML; the text says why."""


def media_type(content_type: str) -> str:
    """Without its parameters."""
    return content_type.partition(";")[0].strip().lower()


def read(data: bytes, content_type: str, kind: str) -> Any:
    """A body of an object, or of options, where ``kind`` is empty. Raises Problem 400 and 415."""
    given = media_type(content_type)
    if given == protobuf.MEDIA_TYPE:
        try:
            return protobuf.read(data)
        except protobuf.Malformed as fault:
            raise bad_request(f"the object provided is unrecognized (must be of type {kind}): {fault}") from fault
    if given not in (JSON, YAML, ""):
        raise unsupported_media_type(given, SERVED)
    try:
        value = from_yaml(data) if given == YAML else from_json(data)
    except Unreadable as fault:
        raise _unrecognized(data, kind, f"json parse error: {fault}") from fault
    if not isinstance(value, dict):
        go = 'struct { APIVersion string "json:\\"apiVersion,omitempty\\""; Kind string "json:\\"kind,omitempty\\"" }'
        raise _unrecognized(data, kind, f"json parse error: json: cannot unmarshal {_go_type(value)} into Go value of type {go}")
    return value


def _unrecognized(data: bytes, kind: str, why: str) -> Problem:
    unread = f"couldn't get version/kind; {why}"
    if not kind:
        return bad_request(unread)
    shown = data[:1024].decode(errors="replace") or "<empty>"
    return bad_request(f"the object provided is unrecognized (must be of type {kind}): {unread} ({shown})")


def _go_type(value: object) -> str:
    names = {list: "array", str: "string", bool: "bool", int: "number", float: "number"}
    return names.get(type(value), "null")


def from_json(data: bytes) -> Any:
    """Decode. Raises Unreadable."""
    if not data.strip():
        raise Unreadable("unexpected end of JSON input")
    try:
        return msgspec.json.decode(data.decode(errors="replace"))
    except msgspec.DecodeError as fault:
        text = str(fault)
        raise Unreadable("unexpected end of JSON input" if "truncated" in text else f"invalid character: {text}") from fault
    except RecursionError as fault:
        raise Unreadable("exceeded max depth") from fault


def duplicates(data: bytes) -> list[str]:
    """Paths of fields that a JSON text says twice; what is no JSON has none here."""
    twice: dict[int, list[str]] = {}

    def pairs(items: list[tuple[str, Any]]) -> dict[str, Any]:
        made = dict(items)
        if len(made) < len(items):
            seen: set[str] = set()
            again = [key for key, _ in items if key in seen or seen.add(key)]  # type: ignore[func-returns-value]
            twice[id(made)] = list(dict.fromkeys(again))
        return made

    try:
        value = json.loads(data, object_pairs_hook=pairs)
    except (ValueError, RecursionError):
        return []
    return list(_paths(value, "", twice)) if twice else []


def _paths(value: Any, path: str, twice: dict[int, list[str]]) -> Iterator[str]:
    if isinstance(value, dict):
        stem = f"{path}." if path else ""
        yield from (f"{stem}{key}" for key in twice.get(id(value), ()))
        for key, inner in value.items():
            yield from _paths(inner, f"{stem}{key}", twice)
    elif isinstance(value, list):
        for index, inner in enumerate(value):
            yield from _paths(inner, f"{path}[{index}]", twice)


class _Loader(yaml.CSafeLoader):
    """Times stay texts, as in JSON."""

    yaml_implicit_resolvers = {  # noqa: RUF012 - PyYAML's way of saying it
        first: [(tag, pattern) for tag, pattern in resolvers if tag != "tag:yaml.org,2002:timestamp"]
        for first, resolvers in yaml.CSafeLoader.yaml_implicit_resolvers.items()
    }


def from_yaml(data: bytes) -> Any:
    """Decode YAML, of which JSON is a part. Raises Unreadable."""
    try:
        return from_json(data)
    except Unreadable:
        pass  # most likely it is not the part that is JSON
    try:
        return _as_json(yaml.load(data, _Loader), [_MOST_YAML_VALUES])  # noqa: S506 - a safe loader
    except (yaml.YAMLError, UnicodeError, ValueError) as fault:
        raise Unreadable(f"error converting YAML to JSON: yaml: {' '.join(str(fault).split())}") from fault
    except RecursionError as fault:
        raise Unreadable("error converting YAML to JSON: yaml: document contains excessive aliasing") from fault


def _as_json(value: Any, left: list[int]) -> Any:
    left[0] -= 1
    if left[0] < 0:
        raise Unreadable("error converting YAML to JSON: yaml: document contains excessive aliasing")
    if isinstance(value, dict):
        return {_key(key): _as_json(inner, left) for key, inner in value.items()}
    if isinstance(value, list):
        return [_as_json(inner, left) for inner in value]
    if value is None or isinstance(value, str | bool | int | float):
        return value
    raise Unreadable(f"error converting YAML to JSON: a {type(value).__name__} has no place in JSON")


def _key(key: Any) -> str:
    if isinstance(key, bool):
        return str(key).lower()
    if isinstance(key, str | int | float):
        return str(key)
    raise Unreadable(f"error converting YAML to JSON: unsupported map key of type {type(key).__name__}")


def to_yaml(body: Any) -> bytes:
    """Encode."""
    return yaml.dump(body, Dumper=_Dumper, default_flow_style=False, allow_unicode=True).encode()


class _Dumper(yaml.CSafeDumper):
    """Without anchors: bodies share parts."""

    def ignore_aliases(self, data: Any) -> bool:
        """Never an anchor."""
        return True
