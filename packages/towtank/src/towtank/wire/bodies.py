"""Bodies: JSON and YAML in, with what Go's decoders say of faults."""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Iterator, Mapping
from typing import Any, Final

import msgspec
import yaml

from towtank.model.api_errors import ApiError, bad_request, number, unsupported_media_type
from towtank.model.json_values import MAX_DEPTH, DecodeFailure, TooDeep, json_type, require_shallow
from towtank.wire import protobuf, yaml_codec

JSON: Final = "application/json"
YAML: Final = "application/yaml"
SERVED: Final = (JSON, YAML, protobuf.MEDIA_TYPE)
_UNREAD: Final = "couldn't get version/kind; json parse error: "
_SHOWN: Final = 30
"""Bytes of an unreadable body that a refusal shows."""
_FAULTS: Final = (
    ("expected ':'", "after object key", 0),
    ("expected ',' or '}'", "after object key:value pair", 0),
    ("expected ',' or ']'", "after array element", 0),
    ("object keys must be strings", "looking for beginning of object key string", 0),
    ("trailing comma in object", "looking for beginning of object key string", 0),
    ("trailing characters", "after top-level value", 1),
    ("invalid escape character in string", "in string escape code", 1),
)
"""How a complaint of the decoder ends, what Go says of the same, and how many bytes before the
place.
"""
_MAX_YAML_VALUES: Final = 100_000
"""What a YAML text may grow to: aliases can make much of little."""


def media_type(content_type: str) -> str:
    """The media type without its parameters."""
    return content_type.partition(";")[0].strip().lower()


def read(data: bytes, content_type: str, kind: str) -> Any:
    """A body of an object, or of options, where ``kind`` is empty. Raises ApiError 400 and 415."""
    given = media_type(content_type)
    if given not in _READERS:
        raise unsupported_media_type(given, SERVED)
    try:
        return _as_object(_READERS[given](data))
    except DecodeFailure as fault:
        raise unrecognized(data, kind, str(fault)) from fault


def _as_object(value: Any) -> Any:
    """A value, when it is an object that may say what it is; nothing is an empty one. Raises
    DecodeFailure.
    """
    if value is None:
        return {}
    if not isinstance(value, dict):
        raise DecodeFailure(f"{_UNREAD}json: cannot unmarshal {json_type(value)} into an object")
    for field in ("apiVersion", "kind"):
        if not isinstance(value.get(field, ""), str | None):
            raise DecodeFailure(
                f"{_UNREAD}json: cannot unmarshal {json_type(value[field])} into Go struct field "
                f".{field} of type string"
            )
    return value


def unrecognized(data: bytes, kind: str, why: str) -> ApiError:
    """The refusal of a body that does not say what it is; ``kind`` is what it should be, "" for
    options.
    """
    if not kind:
        return bad_request(why)
    first = data[:_SHOWN]
    shown = first.decode(errors="replace") if first.startswith(b"{") else first.hex()
    more = " ..." if len(data) > _SHOWN else ""
    return bad_request(
        f"the object provided is unrecognized (must be of type {kind}): {why} "
        f"({shown or '<empty>'}{more})"
    )


def from_json(data: bytes) -> Any:
    """The value of a JSON document. Raises DecodeFailure."""
    text = data.decode(errors="replace")
    try:
        value = msgspec.json.decode(text)
    except msgspec.DecodeError as fault:
        raise DecodeFailure(_fault(str(fault), text.encode())) from fault
    except RecursionError as fault:
        raise TooDeep("exceeded max depth") from fault
    if text.count("{") + text.count("[") > MAX_DEPTH:
        require_shallow(value)
    return value


def _fault(said: str, data: bytes) -> str:
    """A decoder's complaint, as Go has it."""
    complaint, found, place = said.partition(" (byte ")
    if not found:
        return "unexpected end of JSON input" if "truncated" in said else f"json: {said}"
    words, where, back = next(
        (one for one in _FAULTS if complaint.endswith(one[0])),
        ("", "looking for beginning of value", 0),
    )
    at = int(place.rstrip(")")) - back
    if at >= len(data):
        return "unexpected end of JSON input"
    if words == "" and data[at] < ord(" "):
        where = "in string literal"
    return f"invalid character {chr(data[at])!r} {where}"


def duplicates(data: bytes, content_type: str) -> list[str]:
    """Complaints about fields that a text says twice: of JSON by their paths, of YAML by their
    lines.
    """
    twice: dict[int, list[str]] = {}

    def pairs(items: list[tuple[str, Any]]) -> dict[str, Any]:
        made = dict(items)
        if len(made) < len(items):
            twice[id(made)] = _repeated([key for key, _ in items])
        return made

    try:
        value = json.loads(data, object_pairs_hook=pairs)
    except (ValueError, RecursionError):
        return yaml_codec.read(data)[1] if media_type(content_type).endswith("yaml") else []
    return [f'duplicate field "{path}"' for path in _paths(value, "", twice)] if twice else []


def _repeated(keys: list[str]) -> list[str]:
    """The keys that are there more than once, as they come again."""
    seen: set[str] = set()
    again: dict[str, None] = {}
    for key in keys:
        if key in seen:
            again[key] = None
        seen.add(key)
    return list(again)


def _paths(value: Any, path: str, twice: dict[int, list[str]]) -> Iterator[str]:
    if isinstance(value, dict):
        stem = f"{path}." if path else ""
        yield from (f"{stem}{key}" for key in twice.get(id(value), ()))
        for key, inner in value.items():
            yield from _paths(inner, f"{stem}{key}", twice)
    elif isinstance(value, list):
        for index, inner in enumerate(value):
            yield from _paths(inner, f"{path}[{index}]", twice)


def from_yaml(data: bytes) -> Any:
    """Decode YAML, of which JSON is a part. Raises DecodeFailure."""
    try:
        return from_json(data)
    except TooDeep as fault:
        raise DecodeFailure("yaml: exceeded max depth") from fault
    except DecodeFailure:
        pass  # most likely it is not the part that is JSON
    try:
        return _as_json(yaml_codec.read(data)[0], [_MAX_YAML_VALUES], MAX_DEPTH)
    except (yaml.YAMLError, ValueError) as fault:
        raise DecodeFailure(f"yaml: {_yaml_fault(fault)}") from fault
    except RecursionError as fault:
        raise DecodeFailure("yaml: document contains excessive aliasing") from fault


def _yaml_fault(fault: Exception) -> str:
    """The words are libyaml's, here and there; the line is counted as there."""
    if not isinstance(fault, yaml.MarkedYAMLError):
        return getattr(fault, "reason", "") or " ".join(str(fault).split())
    line = fault.problem_mark.line if fault.problem_mark else 0
    if line and isinstance(fault, yaml.scanner.ScannerError):
        line += 1
    elif not line and fault.context_mark:
        line = fault.context_mark.line
    return f"line {line}: {fault.problem}" if line else str(fault.problem)


def _as_json(value: Any, left: list[int], deeper: int) -> Any:
    """A copy without shared parts; ``left`` is how many values there may still be."""
    left[0] -= 1
    if left[0] < 0:
        raise DecodeFailure("yaml: document contains excessive aliasing")
    if isinstance(value, dict | list) and not deeper:
        raise DecodeFailure("yaml: exceeded max depth")
    if isinstance(value, dict):
        return {key: _as_json(inner, left, deeper - 1) for key, inner in value.items()}
    if isinstance(value, list):
        return [_as_json(inner, left, deeper - 1) for inner in value]
    if isinstance(value, float) and not math.isfinite(value):
        raise DecodeFailure(
            f"json: unsupported value: {'NaN' if math.isnan(value) else number(value)}"
        )
    return value


def _json(data: bytes) -> Any:
    try:
        return from_json(data)
    except DecodeFailure as fault:
        raise DecodeFailure(f"{_UNREAD}{fault}") from fault


_READERS: Final[Mapping[str, Callable[[bytes], Any]]] = {
    JSON: _json,
    "": _json,
    YAML: from_yaml,
    protobuf.MEDIA_TYPE: protobuf.read,
}
"""By the media type. Each raises DecodeFailure."""


def to_yaml(body: Any) -> bytes:
    return yaml.dump(body, Dumper=_Dumper, default_flow_style=False, allow_unicode=True).encode()


class _Dumper(yaml.CSafeDumper):
    """Without anchors: bodies share parts."""

    def ignore_aliases(self, data: Any) -> bool:
        """Write everything out, with no anchors."""
        return True
