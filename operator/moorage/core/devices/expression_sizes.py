"""Expression sizes: how much work a compiled CEL expression on a device can be, at most.

Kubernetes ends an expression at a run-time cost; the CEL library here has a budget of iterations,
but texts may grow within a few of them (``replace``, ``join``, ``+`` of a name that is bound to a
sum). So the work is bounded before it is done: each step counts once, and once for each character
or entry of a text or list that it makes, times the iterations of the macros around it.
Source: google/cel-spec, proto/cel/expr/{checked,syntax}.proto; k8s.io/apiserver's cost estimator,
which takes sizes likewise.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

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

FIELD_BYTES = 64
"""Characters of an attribute, or entries of the maps of a device."""
MAX_WORK = 2**23
"""Work of an expression: a few hundredths of a second."""
_GROWING = frozenset({"replace", "join"})
"""What makes more than it is given."""
_KEEPING = frozenset(
    {
        "_+_",
        "_?_:_",
        "_[_]",
        "_[?_]",
        "split",
        "substring",
        "lowerAscii",
        "upperAscii",
        "trim",
        "charAt",
        "format",
        "quote",
        "reverse",
    }
    | {
        "_?._",
        "orValue",
        "or",
        "value",
        "optional.of",
        "optional.ofNonZeroValue",
        "optional.none",
        "optMap",
        "optFlatMap",
        "string",
    }
)
"""What makes as much; all else gives a number or a truth value."""


def is_too_expensive(serialized: bytes) -> bool:
    """Whether a compiled expression may be more work than is done for one."""
    checked = dict(fields(dict(fields(serialized))[2]))  # in a google.protobuf.Any
    bound = _Bound()
    bound.size(checked[4], {}, 1)
    return bound.work > MAX_WORK


class _Bound:
    """Adds up the work of an expression."""

    def __init__(self) -> None:
        self.work = 0

    def size(self, message: bytes, local: Mapping[str, int], times: int) -> int:
        """The most that an expression can come to; ``local``: what variables of macros can. It is
        evaluated so many times.
        """
        _, kind, body = expression(message)
        if kind == IDENT:
            return local.get(dict(fields(body)).get(1, b"").decode(), FIELD_BYTES)
        if kind == SELECT:
            return self.size(dict(fields(body))[1], local, times)
        if kind == COMPREHENSION:
            return self._loop(dict(fields(body)), local, times)
        found = max(1, len(body)) if kind == CONST else 1
        if kind in (LIST, STRUCT):
            found += sum(self.size(part, local, times) for part in parts_of(kind, body))
        elif kind == CALL:
            found = self._call(body, local, times)
        self.work += found * times if kind != CONST else times
        return found

    def _call(self, body: bytes, local: Mapping[str, int], times: int) -> int:
        name = next((value.decode() for number, value in fields(body) if number == 2), "")
        sizes = [
            self.size(value, local, times) for number, value in fields(body) if number in (1, 3)
        ]
        if name in _GROWING:
            return (sizes[0] + 1) * (sizes[-1 if len(sizes) < 4 else 2] + 1)
        return 1 + sum(sizes) if name in _KEEPING else 1

    def _loop(self, parts: Mapping[int, Any], local: Mapping[str, int], times: int) -> int:
        """A macro, or ``cel.bind``, which loops over nothing and whose accumulator is what it
        binds.
        """
        through, begins = self.size(parts[2], local, times), self.size(parts[4], local, times)
        count = _count(parts[2], through)
        inside = {
            **local,
            **{parts[number].decode(): through for number in (1, 8) if number in parts},
        }
        accumulator = parts[3].decode()
        step = self.size(parts[6], {**inside, accumulator: begins}, times * count) if count else 0
        return self.size(parts[7], {**inside, accumulator: begins + count * step}, times)


def _count(message: bytes, most: int) -> int:
    """How many entries a macro goes through: those of a list that is written down, or of what
    another macro makes of one.
    """
    _, kind, body = expression(message)
    if kind == COMPREHENSION:
        return _count(dict(fields(body))[2], most)
    return sum(1 for _ in parts_of(kind, body)) if kind == LIST else most
