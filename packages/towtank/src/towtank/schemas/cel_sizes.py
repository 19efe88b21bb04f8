"""How much an expression can make of what it sees. The CEL library bounds how often loops go round,
not how much each round makes.

Two bounds, both by the expression's text: ``growth_factor`` is known when a rule is written;
``LoopBound`` is asked with the value at hand.
"""

from __future__ import annotations

import dataclasses
import re
from collections.abc import Iterator
from typing import Any, Final

from kubefacts import cel

MAX_GROWTH_FACTOR: Final = 64
MAX_LOOP_BYTES: Final = 2**28
"""What the loops of an expression may make, or hand to functions, of one value: about so many bytes
of memory, and a second.
"""
_MAX_ROUNDS: Final = 10_000
"""The CEL library goes round no more often, all loops of an expression together."""
_VALUE_BYTES: Final = 64
"""A number, an entry of a list: what the CEL library needs for one, about."""

_TEXTS: Final = re.compile(
    r"""(?s:[rR]?(\"{3}.*?\"{3}|'{3}.*?'{3}))|[rR]?("(?:[^"\\\n]|\\.)*"|'(?:[^'\\\n]|\\.)*')"""
)
_GROWING: Final = re.compile(r"\b(?:map|optMap|optFlatMap)\s*(\()")
_MACRO: Final = re.compile(
    r"\.\s*(map|filter|all|exists|exists_one|existsOne|optMap|optFlatMap)\s*(\()\s*(\w+)\s*,"
)
_ONCE: Final = frozenset({"optMap", "optFlatMap"})
_LISTING: Final = re.compile(r"\.\s*(?:split|findAll|flatten)\s*\(|\blists\s*\.\s*range\s*\(")


_OURS: Final = sorted(cel.FUNCTION_NAMES | {"replace", "join", "format"})
_CALL: Final = re.compile(rf"\b(?:{'|'.join(map(re.escape, _OURS))})\s*\(")
"""A call of a function that is ours, not the CEL library's."""


def code(text: str) -> str:
    """An expression without what stands in quotation marks, each character in its place."""
    return _TEXTS.sub(lambda found: '"' + " " * (len(found[0]) - 2) + '"', text)


def closing(text: str, opening: int) -> int:
    """Where the parenthesis that opens here is closed, in code without texts."""
    depth = 0
    for at in range(opening, len(text)):
        depth += (text[at] == "(") - (text[at] == ")")
        if not depth:
            return at
    return len(text)


def growth_factor(text: str) -> int:
    """By how much what an expression makes may be larger than what it sees: each macro may add its
    variable to itself so often.
    """
    bare, product = code(text), 1
    for macro in _GROWING.finditer(bare):
        product *= 1 + bare.count("+", macro.end(), closing(bare, macro.start(1)))
    return product


@dataclasses.dataclass(frozen=True, slots=True)
class _Loop:
    start: int
    end: int
    name: str
    variable: str


@dataclasses.dataclass(frozen=True, slots=True)
class LoopBound:
    """Loops that make something of a value from outside of them in each round, such as
    ``self.items.map(i, self.text + i)``.

    A loop that looks only at its own item is none: its rounds together see the list once.
    """

    depth: int
    """How many loops are nested around what is made; 0: there is none."""
    reads: tuple[tuple[str, ...], ...]
    """The paths of what is read from outside, from ``self`` on; () where that is another loop's
    variable, which may be anything.
    """
    growth: int
    literal: int
    """Entries of the lists that the expression itself writes, at most."""
    listing: bool
    """Whether it makes lists out of texts or numbers: then there is no telling how long they
    are.
    """

    @classmethod
    def of(cls, text: str) -> LoopBound:
        """Of an expression."""
        bare = code(text)
        loops = list(_loops(bare))
        making = [
            (loop, reads)
            for loop in loops
            if (reads := _reads(loop, loops, bare)) and _makes(loop, bare)
        ]
        depths = (sum(_encloses(outer, loop) for outer in loops) for loop, _ in making)
        paths = tuple(path for _, reads in making for path in reads)
        literal, listing = bare.count(",") + 1, _LISTING.search(bare) is not None
        return cls(max(depths, default=0), paths, growth_factor(text), literal, listing)

    def exceeded(self, values: list[Any]) -> bool:
        """Whether loops over these values, ``self`` and what it was, may make too much."""
        if not self.depth:
            return False
        longest = _measure(values)[1]
        rounds = (
            _MAX_ROUNDS
            if self.listing
            else min(_MAX_ROUNDS, max(longest, self.literal) ** self.depth)
        )
        size = sum(_measure([_at(value, path) for value in values])[0] for path in self.reads)
        return size * rounds * self.growth > MAX_LOOP_BYTES


def _loops(bare: str) -> Iterator[_Loop]:
    for macro in _MACRO.finditer(bare):
        yield _Loop(macro.end(), closing(bare, macro.start(2)), macro[1], macro[3])


def _encloses(outer: _Loop, loop: _Loop) -> bool:
    return outer.name not in _ONCE and outer.start <= loop.start and loop.end <= outer.end


def _makes(loop: _Loop, bare: str) -> bool:
    """Whether each round makes something: a list's item, or arguments of our functions."""
    return loop.name == "map" or _CALL.search(bare, loop.start, loop.end) is not None


def _reads(loop: _Loop, loops: list[_Loop], bare: str) -> list[tuple[str, ...]]:
    """The paths of what a loop reads from outside of it."""
    outside = {"self", "oldSelf", *(other.variable for other in loops)} - {loop.variable}
    names = "|".join(map(re.escape, sorted(outside)))
    found = re.finditer(rf"(?<![\w.])({names})\b((?:\.[A-Za-z_]\w*)*)", bare[loop.start : loop.end])
    return [tuple(one[2].split(".")[1:]) if one[1] in ("self", "oldSelf") else () for one in found]


def _at(value: Any, path: tuple[str, ...]) -> Any:
    """What stands at a path, as far as it leads; its end may be a method's name."""
    for name in path:
        if not isinstance(value, dict) or name not in value:
            break
        value = value[name]
    return value


def _measure(values: list[Any]) -> tuple[int, int]:
    """Bytes of all values, about, and the entries of the longest list or map in them."""
    size, longest, rest = 0, 1, list(values)
    while rest:
        value = rest.pop()
        size += _VALUE_BYTES
        if isinstance(value, str):
            size += len(value)
        elif isinstance(value, list | dict):
            longest = max(longest, len(value))
            rest += value if isinstance(value, list) else value.values()
            size += sum(len(key) for key in value) if isinstance(value, dict) else 0
    return size, longest
