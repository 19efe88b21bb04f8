"""Trees of compiled CEL expressions.

The CEL library hands a compiled expression out as a protocol buffer (``cel.expr.CheckedExpr``), in
which each variable is one identifier with its full name. The few fields that matter are read here,
without a library for it.
Source: google/cel-spec, proto/cel/expr/{checked,syntax}.proto.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

CONST, IDENT, SELECT, CALL, LIST, STRUCT, COMPREHENSION = range(3, 10)

_KINDS = frozenset(range(CONST, COMPREHENSION + 1))


def expression(message: bytes) -> tuple[int, int, bytes]:
    """An expression's number, kind and content."""
    place, kind, body = 0, 0, b""
    for number, value in fields(message):
        if number == 2:
            place = value
        elif number in _KINDS:
            kind, body = number, value
    return place, kind, body


def parts_of(kind: int, body: bytes) -> Iterator[bytes]:
    """What stands in a list; keys and values of a map."""
    for number, value in fields(body):
        if kind == LIST and number == 1:
            yield value
        elif kind == STRUCT and number == 2:
            yield from (part for field, part in fields(value) if field in (3, 4))


def fields(message: bytes) -> Iterator[tuple[int, Any]]:
    """(number, value) of each field: int, or bytes for what has a length. Eight fixed bytes are a
    double, which nobody reads here.
    """
    at = 0
    while at < len(message):
        tag, at = _varint(message, at)
        if tag & 7 == 0:
            value, at = _varint(message, at)
            yield tag >> 3, value
        elif tag & 7 == 1:
            at += 8
        else:
            size, at = _varint(message, at)
            yield tag >> 3, message[at : at + size]
            at += size


def _varint(message: bytes, at: int) -> tuple[int, int]:
    value = shift = 0
    while True:
        byte = message[at]
        value |= (byte & 127) << shift
        at, shift = at + 1, shift + 7
        if byte < 128:
            return value, at
