"""Surveys of expressions: what a compiled one reads, and whether it could build something without
bounds.

An expression is as long as its text allows and its loops have a budget, but neither bounds what a
value can grow to: bound to a name and put together from itself thirty times over, a letter is a
gigabyte. So what a macro goes through and what ``cel.bind`` binds may be taken from the variables,
or written down, but not put together there. Then nothing grows faster than the text.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

from kubefacts.cel_trees import (
    Call,
    Comprehension,
    Constant,
    CreateList,
    CreateStruct,
    Ident,
    Node,
    Select,
    checked_expression,
)

Reads = Mapping[str, frozenset[str] | None]
"""Variable -> the keys (fields) that are read of it, None for all of it."""
_INDEXING = frozenset({"_[_]", "_[?_]", "_?._"})
_JOINING = frozenset({"add_string", "add_list", "add_bytes"})
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
        self._expression = checked_expression(serialized)
        self._visit(self._expression.root, _Inside())

    def _visit(self, node: Node, inside: _Inside) -> None:
        match node:
            case Ident():
                self._name(node, inside)
            case Select():
                self._of(node.operand, node.field, inside)
            case Call():
                self._call(node, inside)
            case CreateList() | CreateStruct():
                within = inside._replace(literal=inside.literal or inside.bound)
                for part in node.elements:
                    self._visit(part, within)
            case Comprehension():
                self._loop(node, inside)

    def _name(self, ident: Ident, inside: _Inside) -> None:
        if ident.name in self._variables:
            self.reads[ident.name] = None
        elif inside.literal and ident.name in inside.local:
            self._add_fault(ident, "a list or map with a macro's variable in it")

    def _of(self, operand: Node, key: str, inside: _Inside) -> None:
        """A field, or an entry with a constant key."""
        if not isinstance(operand, Ident) or operand.name not in self._variables:
            self._visit(operand, inside)
            return
        keys = self.reads.setdefault(operand.name, set())
        if keys is not None:
            keys.add(key)

    def _call(self, call: Call, inside: _Inside) -> None:
        if inside.bound and self._may_join(call):
            self._add_fault(call, "+ on anything but numbers")
        match call.function, call.operands:
            case "@in", (Constant(text=str(key)), of):
                self._of(of, key, inside)
            case function, (of, Constant(text=str(key))) if function in _INDEXING:
                self._of(of, key, inside)
            case _:
                for operand in call.operands:
                    self._visit(operand, inside)

    def _may_join(self, call: Call) -> bool:
        """Whether it is a + that may be on texts or lists."""
        overloads = self._expression.overloads.get(call.place, frozenset())
        return not _JOINING.isdisjoint(overloads)

    def _loop(self, loop: Comprehension, inside: _Inside) -> None:
        if inside.bound:
            self._add_fault(loop, "a macro")
            return
        for part in (loop.iter_range, loop.accu_init):  # the second is what cel.bind binds
            self._visit(part, inside._replace(bound=True))
        within = inside._replace(local=inside.local | {*loop.iter_vars, loop.accu_var})
        for part in (loop.loop_condition, loop.loop_step, loop.result):
            self._visit(part, within)

    def _add_fault(self, node: Node, what: str) -> None:
        offset = self._expression.offsets.get(node.place, 0)
        self.faults.append(SyntaxFault(offset, f"{what} {_WHERE}"))
