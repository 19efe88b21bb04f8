"""Selectors: which objects a list, a watch or a deletion of a collection is about.

Label selectors know equality, sets, existence and integers (``a=b``, ``a!=b``, ``a in (x, y)``, ``!a``, ``a > 1``), field selectors only
``=``, ``==`` and ``!=``. What cannot be read is refused with the API server's words.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Container, Mapping
from typing import Any, NamedTuple, TypeAlias

from towtank.model import names
from towtank.model.kinds import Body, Resource
from towtank.model.problems import Problem, bad_request, quoted

Labels: TypeAlias = Mapping[str, str]
Reader: TypeAlias = Callable[[Body], str]
_NO_LABELS: Labels = {}


def chooser(resource: Resource, label_selector: str, field_selector: str) -> Callable[[Body], bool] | None:
    """Whether an object is chosen, by both selectors; None where both are empty. Raises Problem 400."""
    checks: list[Callable[[Body], bool]] = []
    if label_selector.strip():
        matches = labels(label_selector)
        checks.append(lambda body: matches(body["metadata"].get("labels") or _NO_LABELS))
    checks += [_check(resource, term) for term in fields(field_selector, _known(resource), _refusal(resource))]
    if len(checks) <= 1:
        return checks[0] if checks else None
    return lambda body: all(check(body) for check in checks)


# ---- fields ----------------------------------------------------------------------------------------------------------------


class Term(NamedTuple):
    """One term of a field selector."""

    field: str
    equal: bool
    value: str


_TERMS = re.compile(r"(?:[^,\\]|\\.|\\$)+", re.DOTALL)
"""Between commas that no backslash precedes."""
_TERM = re.compile(r"(.*?)(!=|==|=)(.*)", re.DOTALL)


def _unsupported(field: str) -> str:
    return f"field label not supported: {field}"


def fields(text: str, known: Container[str], refusal: Callable[[str], str] = _unsupported) -> tuple[Term, ...]:
    """The terms, all of which must hold. Raises Problem 400, for an unknown field with the text that ``refusal`` has for it."""
    terms = []
    for part in _TERMS.findall(text):
        split = _TERM.fullmatch(part)
        if not split:
            raise bad_request(f"invalid selector: '{text}'; can't understand '{part}'")
        terms.append(Term(split[1], split[2] != "!=", _unescaped(split[3])))
    terms = [term for term in terms if term.field or term.value]
    for term in terms:
        if term.field not in known:
            raise bad_request(refusal(term.field))
    return tuple(terms)


def _unescaped(value: str) -> str:
    """A backslash stands before each comma, equals sign and backslash of a value."""
    for found in re.finditer(r"\\(.?)|[,=]", value, re.DOTALL):
        if found[1] is None:
            raise bad_request(f"invalid field selector: unescaped character in value: {ord(found[0])}")
        if found[1] not in ("\\", ",", "="):
            raise bad_request(f"invalid field selector: invalid escape sequence: {found[0]}")
    return re.sub(r"\\(.)", r"\1", value)


def _known(resource: Resource) -> frozenset[str]:
    """A cluster's kinds with fields of their own, and custom ones, do not take the namespace, which for others is just empty."""
    own = {path.removeprefix(".") for path in resource.selectable}.union(resource.strategy.selectable)
    without_namespace = not resource.namespaced and (resource.custom or own)
    return frozenset(own | {"metadata.name"} | (set() if without_namespace else {"metadata.namespace"}))


def _refusal(resource: Resource) -> Callable[[str], str]:
    """How a kind refuses a field that it does not know: the texts differ for historical reasons."""
    if resource.key == "jobs.batch":
        return lambda field: f"field label {quoted(field)} not supported for Job"
    if resource.key == "resourceslices.resource.k8s.io":
        return lambda field: f"field label not supported for {resource.api_version}, Kind={resource.kind}: {field}"
    if resource.custom or resource.strategy.selectable:
        return _unsupported
    return lambda field: f'{quoted(field)} is not a known field selector: only "metadata.name", "metadata.namespace"'


def _check(resource: Resource, term: Term) -> Callable[[Body], bool]:
    field, equal, value = term
    read = resource.strategy.selectable.get(field) or reader(field)
    return lambda body: (read(body) == value) is equal


def at(*paths: str, unsaid: str = "") -> dict[str, Reader]:
    """How to read the scalars at paths, as text: ``unsaid`` where there is none."""
    return {path: reader(path, unsaid) for path in paths}


def reader(path: str, unsaid: str = "") -> Reader:
    """How to read the scalar at a path, as text."""
    *way, last = path.split(".")

    def read(body: Any) -> str:
        for step in way:
            body = body.get(step)
            if not isinstance(body, dict):
                return unsaid
        value = body.get(last)
        if isinstance(value, str):
            return value
        return unsaid if value is None else str(value).lower()

    return read


# ---- labels ----------------------------------------------------------------------------------------------------------------

_TOKENS = re.compile(r"==|!=|[=!(),<>]|[^ \t\r\n=!(),<>]+")
_SYMBOLS = frozenset({"==", "!=", "=", "!", "(", ")", ",", "<", ">", ""})
_END = ""
_OPERATORS = frozenset({"in", "notin", "=", "==", "!=", ">", "<"})


def labels(text: str) -> Callable[[Labels], bool]:
    """A predicate over labels. Raises Problem 400."""
    requirements = _Parser(text).requirements()
    if len(requirements) == 1:
        return requirements[0]
    return lambda given: all(requirement(given) for requirement in requirements)


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

    def requirements(self) -> list[Callable[[Labels], bool]]:
        found: list[Callable[[Labels], bool]] = []
        if self._ahead == _END:
            return found
        expected = "!, identifier, or 'end of string'"
        while True:
            if self._ahead in _SYMBOLS - {"!"}:
                raise bad_request(f"found '{self._ahead}', expected: {expected}")
            found.append(self._requirement())
            follows = self._next()
            if follows == _END:
                return found
            if follows != ",":
                raise bad_request(f"found '{follows}', expected: ',' or 'end of string'")
            expected = "identifier after ','"

    def _requirement(self) -> Callable[[Labels], bool]:
        absent = self._ahead == "!"
        if absent:
            self._next()
        key = self._identifier()
        if wrong := "; ".join(names.qualified(key)):
            raise _unparsed(f"<nil>: Invalid value: {quoted(key)}: {wrong}")
        if absent:
            return lambda given: key not in given
        if self._ahead in (_END, ","):
            return lambda given: key in given
        operator = self._next()
        if operator not in _OPERATORS:
            raise _unparsed(f"found '{operator}', expected: in, notin, =, ==, !=, gt, lt")
        values = self._set() if operator in ("in", "notin") else frozenset({self._value()})
        _check_values(key, operator, sorted(values))
        return _requirement(key, operator, values)

    def _identifier(self) -> str:
        token = self._next()
        if token in _SYMBOLS:
            raise _unparsed(f"found '{token}', expected: identifier")
        return token

    def _value(self) -> str:
        return "" if self._ahead in (_END, ",") else self._identifier()

    def _set(self) -> frozenset[str]:
        """``(x, y)``; what is missing beside a comma, or between the brackets, is the empty value."""
        opening = self._next()
        if opening != "(":
            raise _unparsed(f"found '{opening}' expected: '('")
        values: set[str] = set()
        if self._ahead in _SYMBOLS - {",", ")"}:
            raise _unparsed(f"found '{self._ahead}', expected: ',', ')' or identifier")
        while True:
            if self._ahead in (",", ")"):
                values.add("")
            elif self._ahead in _SYMBOLS:
                raise _unparsed(f"found '{self._ahead}', expected: ',', or identifier")
            else:
                values.add(self._next())
                if self._ahead not in (",", ")"):
                    raise _unparsed(f"found '{self._ahead}', expected: ',' or ')'")
            if self._next() == ")":
                return frozenset(values)


def _requirement(key: str, operator: str, values: frozenset[str]) -> Callable[[Labels], bool]:
    if operator in ("=", "==", "in"):
        return lambda given: given.get(key) in values
    if operator in ("!=", "notin"):
        return lambda given: given.get(key) not in values
    (limit,) = [int(value) for value in values]
    sign = 1 if operator == ">" else -1

    def beyond(given: Labels) -> bool:
        value = given.get(key, "")
        return _integer(value) and (int(value) - limit) * sign > 0

    return beyond


def _unparsed(why: str) -> Problem:
    return bad_request(f"unable to parse requirement: {why}")


# ---- what labels may be ----------------------------------------------------------------------------------------------------

_MAX_INTEGER = 2**63


def _check_values(key: str, operator: str, values: list[str]) -> None:
    causes = []
    if operator in ("<", ">") and not _integer(values[0]):
        wrong = "for 'Gt', 'Lt' operators, the value must be an integer"
        causes.append(f"values[0]: Invalid value: {quoted(values[0])}: {wrong}")
    for index, value in enumerate(values):
        if wrong := "; ".join(names.label_value(value)):
            causes.append(f"values[{index}][{key}]: Invalid value: {quoted(value)}: {wrong}")
    if causes:
        raise _unparsed(causes[0] if len(causes) == 1 else f"[{', '.join(causes)}]")


def _integer(value: str) -> bool:
    return re.fullmatch(r"[+-]?[0-9]{1,30}", value) is not None and -_MAX_INTEGER <= int(value) < _MAX_INTEGER
