"""Surveys of expressions: what a compiled one reads, and whether it could build something without
bounds.

An expression is as long as its text allows and its loops have a budget, but neither bounds what a
value can grow to: bound to a name and put together from itself thirty times over, a letter is a
gigabyte. So what a macro goes through and what ``cel.bind`` binds may be taken from the variables,
or written down, but not put together there. Then nothing grows faster than the text.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

from kubefacts.cel_trees import (
    CALL,
    COMPREHENSION,
    CONST,
    IDENT,
    LIST,
    SELECT,
    STRUCT,
    expression,
    fields,
    parts_of,
)

Reads = Mapping[str, frozenset[str] | None]
"""Variable -> the keys (fields) that are read of it, None for all of it."""
_INDEXING = frozenset({"_[_]", "_[?_]", "_?._"})
_JOINING = frozenset({b"add_string", b"add_list", b"add_bytes"})
_WHERE = "may not stand in what a macro goes through, or in what cel.bind binds"


class SyntaxFault(NamedTuple):
    """Something that an expression may not do; ``offset`` is its place in the text, in
    characters.
    """

    offset: int
    message: str


class ExpressionSurvey(NamedTuple):
    """What an expression reads, and what is wrong with it."""

    reads: Reads
    faults: tuple[SyntaxFault, ...]


def survey(serialized: bytes, variables: Mapping[str, object]) -> ExpressionSurvey:
    """Look through an expression that was compiled with these variables, whose names all have a
    dot.
    """
    walk = _Walk(serialized, variables)
    return ExpressionSurvey(
        {name: None if keys is None else frozenset(keys) for name, keys in walk.reads.items()},
        tuple(sorted(set(walk.faults))),
    )


class _Inside(NamedTuple):
    """Where the walk is: which loop variables there are, whether in something looped over or bound,
    and there in a literal.
    """

    local: frozenset[str] = frozenset()
    bound: bool = False
    literal: bool = False


class _Walk:
    """One walk through a tree."""

    def __init__(self, serialized: bytes, variables: Mapping[str, object]) -> None:
        self.reads: dict[str, set[str] | None] = {}
        self.faults: list[SyntaxFault] = []
        self._variables = variables
        self._joins: set[int] = set()
        """The numbers of the calls of + that may be on texts or lists."""
        checked = dict(fields(serialized))[2]  # in a google.protobuf.Any
        for number, value in fields(checked):
            if number == 2 and b"add_" in value:
                entry = dict(fields(value))
                if not _JOINING.isdisjoint(name for field, name in fields(entry[2]) if field == 3):
                    self._joins.add(entry[1])
        parts = dict(fields(checked))
        self._source = parts.get(5, b"")
        self._visit(parts[4], _Inside())

    def _visit(self, message: bytes, inside: _Inside) -> None:
        place, kind, body = expression(message)
        if kind == IDENT:
            self._name(place, dict(fields(body)).get(1, b"").decode(), inside)
        elif kind == SELECT:
            parts = dict(fields(body))
            self._of(parts[1], parts[2].decode(), inside)
        elif kind == CALL:
            self._call(place, body, inside)
        elif kind in (LIST, STRUCT):
            for part in parts_of(kind, body):
                self._visit(part, inside._replace(literal=inside.literal or inside.bound))
        elif kind == COMPREHENSION:
            self._loop(place, dict(fields(body)), inside)

    def _name(self, place: int, name: str, inside: _Inside) -> None:
        if name in self._variables:
            self.reads[name] = None
        elif inside.literal and name in inside.local:
            self._add_fault(place, "a list or map with a macro's variable in it")

    def _of(self, operand: bytes, key: str, inside: _Inside) -> None:
        """A field, or an entry with a constant key."""
        _, kind, body = expression(operand)
        name = dict(fields(body)).get(1, b"").decode() if kind == IDENT else ""
        if name not in self._variables:
            self._visit(operand, inside)
            return
        keys = self.reads.setdefault(name, set())
        if keys is not None:
            keys.add(key)

    def _call(self, place: int, body: bytes, inside: _Inside) -> None:
        function = ""
        operands: list[bytes] = []
        for number, value in fields(body):
            if number == 2:
                function = value.decode()
            else:
                operands.append(value)
        if inside.bound and place in self._joins:
            self._add_fault(place, "+ on anything but numbers")
        texts = [_text(operand) for operand in operands]
        if function in _INDEXING and texts[1] is not None:
            self._of(operands[0], texts[1], inside)
        elif function == "@in" and texts[0] is not None:
            self._of(operands[1], texts[0], inside)
        else:
            for operand in operands:
                self._visit(operand, inside)

    def _loop(self, place: int, parts: Mapping[int, Any], inside: _Inside) -> None:
        """A macro, or ``cel.bind``: a loop that is left at once, whose result is all that
        matters.
        """
        if inside.bound:
            self._add_fault(place, "a macro")
            return
        for part in (2, 4):  # the range; what the accumulator begins with, which is what is bound
            self._visit(parts[part], inside._replace(bound=True))
        local = inside.local | {parts[part].decode() for part in (1, 3, 8) if part in parts}
        for part in (5, 6, 7):
            self._visit(parts[part], inside._replace(local=local))

    def _add_fault(self, place: int, what: str) -> None:
        offsets = (dict(fields(value)) for number, value in fields(self._source) if number == 4)
        offset = next((entry.get(2, 0) for entry in offsets if entry.get(1) == place), 0)
        self.faults.append(SyntaxFault(offset, f"{what} {_WHERE}"))


def _text(message: bytes) -> str | None:
    """The text that a constant is, None for anything else."""
    _, kind, body = expression(message)
    if kind != CONST:
        return None
    text = dict(fields(body)).get(6)
    return text.decode() if isinstance(text, bytes) else None
