"""Trees of compiled CEL expressions.

The CEL library hands a compiled expression out as a protocol buffer (``cel.expr.CheckedExpr``), in
which each variable is one identifier with its full name. The few fields that matter are read here,
without a library for it; nodes and their fields are called as there.
Source: google/cel-spec, proto/cel/expr/{checked,syntax}.proto.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any, Final, NamedTuple, TypeAlias


class Constant(NamedTuple):
    """``text``: None where it is something else; ``size`` in bytes. Also what is of no known
    kind.
    """

    place: int
    text: str | None
    size: int


class Ident(NamedTuple):
    """A variable, or one of a macro."""

    place: int
    name: str


class Select(NamedTuple):
    """A field of something, or whether it has it."""

    place: int
    operand: Node
    field: str


class Call(NamedTuple):
    """``operands``: what a method is called on comes first."""

    place: int
    function: str
    operands: tuple[Node, ...]


class CreateList(NamedTuple):
    """A list that is written down."""

    place: int
    elements: tuple[Node, ...]


class CreateStruct(NamedTuple):
    """A map that is written down; ``elements`` are its keys and values."""

    place: int
    elements: tuple[Node, ...]


class Comprehension(NamedTuple):
    """A macro, or ``cel.bind``: a loop over nothing, whose accumulator is what it binds."""

    place: int
    iter_vars: tuple[str, ...]
    accu_var: str
    iter_range: Node
    accu_init: Node
    loop_condition: Node
    loop_step: Node
    result: Node


Node: TypeAlias = Constant | Ident | Select | Call | CreateList | CreateStruct | Comprehension
"""``place`` is its number in the expression."""


class CheckedExpression(NamedTuple):
    """A compiled expression."""

    root: Node
    overloads: Mapping[int, frozenset[str]]
    """Of calls, by place: the functions that may be meant, by their kinds of operands."""
    offsets: Mapping[int, int]
    """By place: where it stands in the text, in characters."""


def checked_expression(serialized: bytes) -> CheckedExpression:
    """What the CEL library hands out, a google.protobuf.Any of it."""
    checked = dict(_fields(serialized))[2]
    parts = dict(_fields(checked))
    references, positions = _entries(checked, 2), _entries(parts.get(5, b""), 4)
    return CheckedExpression(
        _node(parts[4]),
        {entry.get(1, 0): frozenset(_texts(entry.get(2, b""), 3)) for entry in references},
        {entry.get(1, 0): entry.get(2, 0) for entry in positions},
    )


def _node(message: bytes) -> Node:
    made: Callable[[int, bytes], Node] = _constant
    place, body = 0, b""
    for number, value in _fields(message):
        if number == 2:
            place = value
        elif number in _KINDS:
            made, body = _KINDS[number], value
    return made(place, body)


def _constant(place: int, body: bytes) -> Constant:
    text = dict(_fields(body)).get(6)
    return Constant(place, text.decode() if isinstance(text, bytes) else None, len(body))


def _ident(place: int, body: bytes) -> Ident:
    return Ident(place, "".join(_texts(body, 1)))


def _select(place: int, body: bytes) -> Select:
    parts = dict(_fields(body))
    return Select(place, _node(parts[1]), parts[2].decode())


def _call(place: int, body: bytes) -> Call:
    operands = tuple(_node(value) for number, value in _fields(body) if number != 2)
    return Call(place, "".join(_texts(body, 2)), operands)


def _create_list(place: int, body: bytes) -> CreateList:
    return CreateList(place, tuple(_node(value) for number, value in _fields(body) if number == 1))


def _create_struct(place: int, body: bytes) -> CreateStruct:
    entries = (value for number, value in _fields(body) if number == 2)
    parts = (part for entry in entries for number, part in _fields(entry) if number in (3, 4))
    return CreateStruct(place, tuple(map(_node, parts)))


def _comprehension(place: int, body: bytes) -> Comprehension:
    parts = dict(_fields(body))
    names = tuple(parts[number].decode() for number in (1, 8) if number in parts)
    nodes = (_node(parts[number]) for number in (2, 4, 5, 6, 7))
    return Comprehension(place, names, parts[3].decode(), *nodes)


_KINDS: Final[Mapping[int, Callable[[int, bytes], Node]]] = {
    3: _constant,
    4: _ident,
    5: _select,
    6: _call,
    7: _create_list,
    8: _create_struct,
    9: _comprehension,
}


def _entries(message: bytes, number: int) -> Iterator[dict[int, Any]]:
    """Those of a map: its keys are the fields 1, its values the fields 2."""
    return (dict(_fields(value)) for found, value in _fields(message) if found == number)


def _texts(message: bytes, number: int) -> Iterator[str]:
    return (value.decode() for found, value in _fields(message) if found == number)


def _fields(message: bytes) -> Iterator[tuple[int, Any]]:
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
