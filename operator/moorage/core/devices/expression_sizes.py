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
    bound = _Bound()
    bound.size(checked_expression(serialized).root, {}, 1)
    return bound.work > MAX_WORK


class _Bound:
    """Adds up the work of an expression."""

    def __init__(self) -> None:
        self.work = 0

    def size(self, node: Node, local: Mapping[str, int], times: int) -> int:
        """The most that it comes to, evaluated so often; ``local``: what macros' variables do."""
        found = 1
        match node:
            case Ident():
                return local.get(node.name, FIELD_BYTES)
            case Select():
                return self.size(node.operand, local, times)
            case Comprehension():
                return self._loop(node, local, times)
            case Constant():
                self.work += times
                return max(1, node.size)
            case CreateList() | CreateStruct():
                found += sum(self.size(part, local, times) for part in node.elements)
            case Call():
                found = self._call(node, local, times)
        self.work += found * times
        return found

    def _call(self, call: Call, local: Mapping[str, int], times: int) -> int:
        sizes = [self.size(operand, local, times) for operand in call.operands]
        if call.function in _GROWING:
            return (sizes[0] + 1) * (sizes[-1 if len(sizes) < 4 else 2] + 1)
        return 1 + sum(sizes) if call.function in _KEEPING else 1

    def _loop(self, loop: Comprehension, local: Mapping[str, int], times: int) -> int:
        through = self.size(loop.iter_range, local, times)
        begins = self.size(loop.accu_init, local, times)
        count = _count(loop.iter_range, through)
        inside = {**local, **dict.fromkeys(loop.iter_vars, through), loop.accu_var: begins}
        step = self.size(loop.loop_step, inside, times * count) if count else 0
        ended = {**inside, loop.accu_var: begins + count * step}
        return self.size(loop.result, ended, times)


def _count(node: Node, most: int) -> int:
    """How many entries a macro goes through: those of a list that is written down, or of what
    another macro makes of one.
    """
    if isinstance(node, Comprehension):
        return _count(node.iter_range, most)
    return len(node.elements) if isinstance(node, CreateList) else most
