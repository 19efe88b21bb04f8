"""Selectors as texts: what somebody types after ``kubectl get -l``, read and written.

Source: Kubernetes apimachinery ``labels`` (v1.36), whose messages administrators and tools know.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from kubefacts.labels import (
    NODE_OPERATORS,
    LabelRequirementCheck,
    Requirement,
    RequirementFault,
    RequirementLike,
    Selector,
    SelectorError,
    SelectorLike,
    condition,
    requirement_faults,
)
from kubefacts.names import qualified_name

# ---- as text -------------------------------------------------------------------------------------

_TOKENS = re.compile(r"==|!=|[=!(),<>]|[^ \t\r\n=!(),<>]+")
_SYMBOLS = frozenset({"==", "!=", "=", "!", "(", ")", ",", "<", ">", ""})
_END = ""
_OPERATORS = {
    "in": "In",
    "notin": "NotIn",
    "=": "In",
    "==": "In",
    "!=": "NotIn",
    ">": "Gt",
    "<": "Lt",
}


class SelectorSyntaxError(ValueError):
    """A text that is no selector, in the API server's words."""


def parse_selector(text: str) -> Selector:
    """``a=b``, ``a!=b``, ``a in (x, y)``, ``a``, ``!a``, ``a > 1``, with commas between. Raises
    SelectorSyntaxError.
    """
    return Selector(tuple(_Parser(text).requirements()))


def selector_text(selector: SelectorLike | None) -> str:
    """A selector as one would type it, ordered by keys; "" for one that is missing or empty."""
    if selector is None:
        return ""
    parts = [(key, f"{key}={value}") for key, value in (selector.match_labels or {}).items()]
    parts += [(one.key, _requirement_text(one)) for one in selector.match_expressions or ()]
    return ",".join(text for _, text in sorted(parts, key=lambda part: part[0]))


def _requirement_text(requirement: RequirementLike) -> str:
    key, values = requirement.key, ",".join(sorted(requirement.values or ()))
    texts = {
        "In": f"{key} in ({values})",
        "NotIn": f"{key} notin ({values})",
        "DoesNotExist": f"!{key}",
    }
    return texts.get(requirement.operator, key)


class _Parser:
    """Reads tokens from left to right, one ahead; every text has one end token."""

    def __init__(self, text: str) -> None:
        self._tokens: list[str] = [*_TOKENS.findall(text), _END]
        self._at = 0

    def _next(self) -> str:
        token = self._tokens[self._at]
        self._at = min(self._at + 1, len(self._tokens) - 1)
        return token

    @property
    def _ahead(self) -> str:
        return self._tokens[self._at]

    def requirements(self) -> Iterator[LabelRequirementCheck]:
        if self._ahead == _END:
            return
        expected = "!, identifier, or 'end of string'"
        while True:
            if self._ahead in _SYMBOLS - {"!"}:
                raise SelectorSyntaxError(f"found '{self._ahead}', expected: {expected}")
            yield self._requirement()
            follows = self._next()
            if follows == _END:
                return
            if follows != ",":
                raise SelectorSyntaxError(f"found '{follows}', expected: ',' or 'end of string'")
            expected = "identifier after ','"

    def _requirement(self) -> LabelRequirementCheck:
        absent = self._ahead == "!"
        if absent:
            self._next()
        key = self._identifier()
        if wrong := qualified_name(key):
            raise _unparsed(RequirementFault("<nil>", key, "; ".join(wrong)))
        if absent or self._ahead in (_END, ","):
            return LabelRequirementCheck(key, "DoesNotExist" if absent else "Exists")
        operator = self._next()
        if operator not in _OPERATORS:
            raise _unparsed(f"found '{operator}', expected: in, notin, =, ==, !=, gt, lt")
        values = self._set() if operator in ("in", "notin") else {self._value()}
        requirement = Requirement(key, _OPERATORS[operator], tuple(sorted(values)))
        if faults := tuple(requirement_faults(requirement, "", NODE_OPERATORS)):
            raise _unparsed(SelectorError(faults))
        return condition(requirement)

    def _identifier(self) -> str:
        token = self._next()
        if token in _SYMBOLS:
            raise _unparsed(f"found '{token}', expected: identifier")
        return token

    def _value(self) -> str:
        return "" if self._ahead in (_END, ",") else self._identifier()

    def _set(self) -> set[str]:
        """``(x, y)``."""
        opening = self._next()
        if opening != "(":
            raise _unparsed(f"found '{opening}' expected: '('")
        if self._ahead in _SYMBOLS - {",", ")"}:
            raise _unparsed(f"found '{self._ahead}', expected: ',', ')' or identifier")
        values = {self._member()}
        while self._next() == ",":
            values.add(self._member())
        return values

    def _member(self) -> str:
        """A value of a set; what is missing beside a comma, or between the brackets, is the empty
        one.
        """
        if self._ahead in (",", ")"):
            return ""
        if self._ahead in _SYMBOLS:
            raise _unparsed(f"found '{self._ahead}', expected: ',', or identifier")
        value = self._next()
        if self._ahead not in (",", ")"):
            raise _unparsed(f"found '{self._ahead}', expected: ',' or ')'")
        return value


def _unparsed(why: object) -> SelectorSyntaxError:
    return SelectorSyntaxError(f"unable to parse requirement: {why}")
