"""JSON paths of custom resources' columns: fields, indexes, ``[*]`` and filters, each of which
yields any number of values.
"""

from __future__ import annotations

import itertools
import operator
import re
from collections.abc import Callable, Iterator, Sequence
from typing import Any, TypeAlias

Step: TypeAlias = Callable[[Any], Iterator[Any]]

_STEP = re.compile(
    r"""\.(?P<field>(?:[^.\[\]\\\s]|\\.)+)
      | \[\s*'(?P<quoted>(?:[^'\\]|\\.)*)'\s*\]
      | \[\s*"(?P<double>(?:[^"\\]|\\.)*)"\s*\]
      | \[\s*(?P<index>-?\d+)\s*\]
      | (?P<all>\[\s*\*\s*\])
      | \[\s*\?\(\s*@(?P<left>[^=!<>\s]+?)\s*
        (?:(?P<operator>==|!=|<=|>=|<|>)\s*(?P<right>[^)]+?)\s*)?\)\s*\]""",
    re.VERBOSE,
)
_OPERATORS: dict[str, Callable[[Any, Any], bool]] = {
    "==": operator.eq,
    "!=": operator.ne,
    "<": operator.lt,
    "<=": operator.le,
    ">": operator.gt,
    ">=": operator.ge,
}
_WORDS = {"true": True, "false": False}


def parse(path: str) -> Step:
    """The values at a path; one that we cannot read leads nowhere."""
    steps = _steps(path)
    return lambda value: iter(()) if steps is None else _walk(value, steps)


def _steps(path: str) -> Sequence[Step] | None:
    steps, at = [], 0
    while at < len(path):
        found = _STEP.match(path, at)
        step = _step(found) if found else None
        if found is None or step is None:
            return None
        steps.append(step)
        at = found.end()
    return steps


def _step(found: re.Match[str]) -> Step | None:
    name = next(
        (found[group] for group in ("field", "quoted", "double") if found[group] is not None), None
    )
    if found["all"]:
        return _all
    if name is not None:
        return _field(re.sub(r"\\(.)", r"\1", name))
    if found["index"]:
        return _index(int(found["index"]))
    return _filter(found["left"], found["operator"], found["right"])


def _walk(value: Any, steps: Sequence[Step]) -> Iterator[Any]:
    if not steps:
        yield value
        return
    for item in steps[0](value):
        yield from _walk(item, steps[1:])


def _field(name: str) -> Step:
    return lambda value: iter((value[name],) if isinstance(value, dict) and name in value else ())


def _index(index: int) -> Step:
    return lambda value: iter(
        (value[index],) if isinstance(value, list) and -len(value) <= index < len(value) else ()
    )


def _all(value: Any) -> Iterator[Any]:
    return iter(_items(value))


def _filter(left: str, name: str | None, right: str | None) -> Step | None:
    """Items that have a value at ``left``, or one that compares."""
    inner = _steps(left)
    if inner is None:
        return None
    if name is None or right is None:
        return lambda value: (item for item, _ in _having(value, inner))
    compare, wanted = _OPERATORS[name], _literal(right)
    return lambda value: _comparing(list(_having(value, inner)), compare, wanted)


def _having(value: Any, steps: Sequence[Step]) -> Iterator[tuple[Any, Any]]:
    """Items, each with the first value that the steps lead to."""
    for item in _items(value):
        yield from ((item, found) for found in itertools.islice(_walk(item, steps), 1))


def _comparing(
    found: Sequence[tuple[Any, Any]], compare: Callable[[Any, Any], bool], wanted: Any
) -> Iterator[Any]:
    """None where one value is of another type: those cannot be told."""
    alike = all(type(given) is type(wanted) for _, given in found)
    return (item for item, given in found if alike and compare(given, wanted))


def _items(value: Any) -> list[Any]:
    return value if isinstance(value, list) else []


def _literal(text: str) -> Any:
    if text[0] in "'\"":
        return text[1:-1]
    if text in _WORDS:
        return _WORDS[text]
    try:
        return float(text) if "." in text else int(text)
    except ValueError:
        return text
