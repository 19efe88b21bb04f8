"""Selectors: which objects a list, a watch or a deletion of a collection is about.

Label selectors know equality, sets, existence and integers (``a=b``, ``a!=b``, ``a in (x, y)``,
``!a``, ``a > 1``), field selectors only ``=``, ``==`` and ``!=``. What cannot be read is refused
with the API server's words.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Container
from typing import Any, NamedTuple, TypeAlias

from kubefacts import labels, selector_texts
from kubefacts.labels import Selector
from towtank.model.api_errors import bad_request, quoted
from towtank.model.kinds import APIResource, Body

FieldReader: TypeAlias = Callable[[Body], str]


def object_filter(
    resource: APIResource, label_selector: str, field_selector: str
) -> Callable[[Body], bool] | None:
    """Whether an object is chosen, by both selectors; None where both are empty. Raises ApiError
    400.
    """
    checks: list[Callable[[Body], bool]] = []
    if label_selector.strip():
        selector = parsed(label_selector)
        checks.append(lambda body: selector.matches(body["metadata"].get("labels")))
    checks += [
        _check(resource, term)
        for term in field_terms(field_selector, _known(resource), _refusal(resource))
    ]
    if len(checks) <= 1:
        return checks[0] if checks else None
    return lambda body: all(check(body) for check in checks)


# ---- fields --------------------------------------------------------------------------------------


class FieldTerm(NamedTuple):
    """One term of a field selector."""

    field: str
    equal: bool
    value: str


_TERMS = re.compile(r"(?:[^,\\]|\\.|\\$)+", re.DOTALL)
"""Between commas that no backslash precedes."""
_TERM = re.compile(r"(.*?)(!=|==|=)(.*)", re.DOTALL)


def _unsupported(field: str) -> str:
    return f"field label not supported: {field}"


def field_terms(
    text: str, known: Container[str], refusal: Callable[[str], str] = _unsupported
) -> tuple[FieldTerm, ...]:
    """The terms, all of which must hold. Raises ApiError 400, for an unknown field with the text
    that ``refusal`` has for it.
    """
    terms = []
    for part in _TERMS.findall(text):
        split = _TERM.fullmatch(part)
        if not split:
            raise bad_request(f"invalid selector: '{text}'; can't understand '{part}'")
        terms.append(FieldTerm(split[1], split[2] != "!=", _unescaped(split[3])))
    terms = [term for term in terms if term.field or term.value]
    for term in terms:
        if term.field not in known:
            raise bad_request(refusal(term.field))
    return tuple(terms)


def _unescaped(value: str) -> str:
    """A backslash stands before each comma, equals sign and backslash of a value."""
    for found in re.finditer(r"\\(.?)|[,=]", value, re.DOTALL):
        if found[1] is None:
            raise bad_request(
                f"invalid field selector: unescaped character in value: {ord(found[0])}"
            )
        if found[1] not in ("\\", ",", "="):
            raise bad_request(f"invalid field selector: invalid escape sequence: {found[0]}")
    return re.sub(r"\\(.)", r"\1", value)


def _known(resource: APIResource) -> frozenset[str]:
    """A cluster's kinds with fields of their own, and custom ones, do not take the namespace, which
    for others is just empty.
    """
    own = {path.removeprefix(".") for path in resource.selectable}.union(
        resource.strategy.selectable
    )
    without_namespace = not resource.namespaced and (resource.custom or own)
    return frozenset(
        own | {"metadata.name"} | (set() if without_namespace else {"metadata.namespace"})
    )


def _refusal(resource: APIResource) -> Callable[[str], str]:
    """How a kind refuses a field that it does not know: the texts differ for historical reasons."""
    if resource.key == "jobs.batch":
        return lambda field: f"field label {quoted(field)} not supported for Job"
    if resource.key == "resourceslices.resource.k8s.io":
        return lambda field: (
            f"field label not supported for {resource.api_version}, Kind={resource.kind}: {field}"
        )
    if resource.custom or resource.strategy.selectable:
        return _unsupported
    return lambda field: (
        f'{quoted(field)} is not a known field selector: only "metadata.name", "metadata.namespace"'
    )


def _check(resource: APIResource, term: FieldTerm) -> Callable[[Body], bool]:
    field, equal, value = term
    read = resource.strategy.selectable.get(field) or field_reader(field)
    return lambda body: (read(body) == value) is equal


def field_readers(*paths: str, unsaid: str = "") -> dict[str, FieldReader]:
    """How to read the scalars at paths, as text: ``unsaid`` where there is none."""
    return {path: field_reader(path, unsaid) for path in paths}


def field_reader(path: str, unsaid: str = "") -> FieldReader:
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


# ---- labels --------------------------------------------------------------------------------------


def parsed(text: str) -> Selector:
    """The label selector of a query. Raises ApiError 400."""
    try:
        return selector_texts.parse_selector(text)
    except selector_texts.SelectorSyntaxError as error:
        raise bad_request(str(error)) from error


def compiled(selector: Body | None, empty: Selector = labels.EVERYTHING) -> Selector:
    """The label selector that an object holds. One with faults selects nothing, as for Kubernetes'
    controllers.
    """
    try:
        return labels.compile_selector(labels.from_body(selector), empty=empty)
    except labels.SelectorError:
        return labels.NOTHING
