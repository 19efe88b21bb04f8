"""Objects in protobuf, as kubectl sends some of its writes. Only reading: answers are JSON, which
whoever sends protobuf takes too.

An object is four bytes that say so, then an ``Unknown``: which kind it is, and the kind's message.
``data/messages.json`` has the fields of messages (tests/tools/protobuf.py says in which form).
Source: k8s.io/apimachinery, runtime/serializer/protobuf; protobuf.dev, Encoding.
"""

from __future__ import annotations

import base64
import datetime
import functools
import struct
from collections.abc import Callable, Iterator, Mapping
from typing import Any, Final, TypeAlias

import msgspec

from towtank.model.json_values import DecodeFailure
from towtank.model.kinds import Body
from towtank.schemas import schema_parser

MEDIA_TYPE: Final = "application/vnd.kubernetes.protobuf"
_MAGIC: Final = b"k8s\0"
_META: Final = "io.k8s.apimachinery.pkg.apis.meta.v1"
_MAX_DEPTH: Final = 100

Wire: TypeAlias = int | bytes
"""A field as it is on the wire: a number, or bytes."""
Fields: TypeAlias = Mapping[int, tuple[str, str, str]]
"""Number -> JSON name, type, letters."""


class MalformedProtobuf(DecodeFailure):
    """These bytes are no object; the text says why."""


def read(data: bytes) -> Body:
    """An object. Raises MalformedProtobuf."""
    if not data.startswith(_MAGIC):
        raise MalformedProtobuf(
            "provided data does not appear to be a protobuf message, expected prefix [107 56 115 0]"
        )
    unknown = dict(_wire(data[len(_MAGIC) :]))
    type_meta = {number: _text(value) for number, value in _wire(_bytes(unknown.get(1, b"")))}
    api_version, kind = type_meta.get(1, ""), type_meta.get(2, "")
    message = _definition(api_version, kind)
    if message is None:
        raise MalformedProtobuf(f'no kind "{kind}" is registered for version "{api_version}"')
    return {
        "apiVersion": api_version,
        "kind": kind,
        **_object(_bytes(unknown.get(2, b"")), message, 0),
    }


def _definition(api_version: str, kind: str) -> str | None:
    if kind == "DeleteOptions":
        return f"{_META}.DeleteOptions"
    name: str | None = schema_parser.data("schemas.json")["kinds"].get(f"{api_version}/{kind}")
    return name


@functools.cache
def _fields(message: str) -> Fields:
    return {
        number: (name, kind, letters)
        for number, name, kind, letters in schema_parser.data("messages.json")[message]
    }


# ---- messages ------------------------------------------------------------------------------------


def _object(data: bytes, message: str, depth: int) -> Body:
    if depth > _MAX_DEPTH:
        raise MalformedProtobuf("exceeded max depth")
    made: Body = {}
    fields = _fields(message)
    # others are of a newer version, or JSON does not have them
    known = ((fields[number], wire) for number, wire in _wire(data) if number in fields)
    for (name, kind, letters), wire in known:
        if "m" in letters:
            key, value = _pair(_bytes(wire), kind, depth)
            made.setdefault(name, {})[key] = value
        elif "r" in letters:
            made.setdefault(name, []).append(_value(wire, kind, depth))
        elif not name:
            made |= _value(wire, kind, depth)
        elif (value := _value(wire, kind, depth)) or ("z" in letters and value is not None):
            made[name] = value
    return made


def _pair(data: bytes, kind: str, depth: int) -> tuple[str, Any]:
    """An item of a map: message fields 1 and 2."""
    parts = dict(_wire(data))
    return _text(parts.get(1, b"")), _value(
        parts.get(2, 0 if kind.startswith(("int", "uint", "bool")) else b""), kind, depth
    )


def _value(wire: Wire, kind: str, depth: int) -> Any:
    if (special := _SPECIAL.get(kind)) is not None:
        return special(_bytes(wire))
    match kind:
        case "string":
            return _text(wire)
        case "bytes":
            return base64.b64encode(_bytes(wire)).decode()
        case "bool":
            return bool(_number(wire))
        case "int32" | "int64":
            return _signed(wire)
        case "uint32" | "uint64":
            return _number(wire)
        case "double":
            return struct.unpack("<d", _bytes(wire))[0]
        case _:
            return _object(_bytes(wire), kind, depth + 1)


def _time(data: bytes) -> str | None:
    return _moment(data, "seconds")


def _micro_time(data: bytes) -> str | None:
    return _moment(data, "microseconds")


def _moment(data: bytes, precision: str) -> str | None:
    """None for Go's zero time, which has no bytes or lies before all others."""
    parts = dict(_wire(data))
    seconds, nanos = _signed(parts.get(1, 0)), _signed(parts.get(2, 0))
    if not data or seconds < 0:
        return None
    try:
        when = datetime.datetime.fromtimestamp(seconds, datetime.UTC) + datetime.timedelta(
            microseconds=nanos // 1000
        )
    except (OverflowError, ValueError, OSError) as error:
        raise MalformedProtobuf(f"time out of range: {seconds} seconds") from error
    return when.isoformat(timespec=precision).replace("+00:00", "Z")


def _signed(wire: Wire) -> int:
    number = _number(wire)
    return number - (1 << 64) if number >> 63 else number


def _int_or_string(data: bytes) -> Any:
    parts = dict(_wire(data))
    return _text(parts.get(3, b"")) if parts.get(1) else _signed(parts.get(2, 0))


def _raw_json(data: bytes) -> Any:
    """RawExtension, FieldsV1, JSON: a text within."""
    text = _bytes(dict(_wire(data)).get(1, b"null"))
    try:
        return msgspec.json.decode(text or b"null")
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        raise MalformedProtobuf(f"json parse error: {error}") from error


_SPECIAL: Final[Mapping[str, Callable[[bytes], Any]]] = {
    f"{_META}.Time": _time,
    f"{_META}.MicroTime": _micro_time,
    f"{_META}.FieldsV1": _raw_json,
    "io.k8s.apimachinery.pkg.runtime.RawExtension": _raw_json,
    "io.k8s.apiextensions_apiserver.pkg.apis.apiextensions.v1.JSON": _raw_json,
    "io.k8s.apimachinery.pkg.util.intstr.IntOrString": _int_or_string,
    "io.k8s.apimachinery.pkg.api.resource.Quantity": lambda data: (
        _text(dict(_wire(data)).get(1, b"")) or None
    ),
    "io.k8s.api.authentication.v1.ExtraValue": lambda data: [
        _text(wire) for _, wire in _wire(data)
    ],
    "io.k8s.api.authorization.v1.ExtraValue": lambda data: [_text(wire) for _, wire in _wire(data)],
}
"""Messages that JSON writes in a way of their own; None where it writes nothing."""


# ---- the wire ------------------------------------------------------------------------------------


def _wire(data: bytes) -> Iterator[tuple[int, Wire]]:
    at = 0
    while at < len(data):
        tag, at = _varint(data, at)
        match tag & 7:
            case 0:
                value, at = _varint(data, at)
                yield tag >> 3, value
            case 2:
                length, at = _varint(data, at)
                yield tag >> 3, _cut(data, at, length)
                at += length
            case 1 | 5 as sort:
                length = 8 if sort == 1 else 4
                yield tag >> 3, _cut(data, at, length)
                at += length
            case other:
                raise MalformedProtobuf(f"proto: wrong wireType = {other} for field {tag >> 3}")


def _varint(data: bytes, at: int) -> tuple[int, int]:
    value = 0
    for shift in range(0, 70, 7):
        if at >= len(data):
            raise MalformedProtobuf("unexpected EOF")
        value |= (data[at] & 0x7F) << shift
        at += 1
        if not data[at - 1] & 0x80:
            return value & (1 << 64) - 1, at
    raise MalformedProtobuf("proto: integer overflow")


def _cut(data: bytes, at: int, length: int) -> bytes:
    if at + length > len(data):
        raise MalformedProtobuf("unexpected EOF")
    return data[at : at + length]


def _bytes(wire: Wire) -> bytes:
    if isinstance(wire, int):
        raise MalformedProtobuf("proto: a message is expected, not a number")
    return wire


def _number(wire: Wire) -> int:
    if not isinstance(wire, int):
        raise MalformedProtobuf("proto: a number is expected")
    return wire


def _text(wire: Wire) -> str:
    return _bytes(wire).decode(errors="replace")
