"""What docstrings name in double backticks as Python has it is there: ``engine.engine`` and
``Revision.points`` are not left behind when what they name moves.
"""

from __future__ import annotations

import ast
import builtins
import re
from collections import defaultdict
from collections.abc import Iterator
from functools import cache
from typing import Final

import pytest

from tests.architecture.sources import Source, sources, sources_of_tests

_NAME: Final = re.compile(r"``([A-Za-z_]\w*(?:\.[A-Za-z_]\w*)*)(?:\(\))?``")
_FIELD_OF_A_DOCUMENT: Final = re.compile(r"(^|\.)[a-z]+[A-Z]")
"""As in ``status.claimedBy``: a field of Kubernetes' objects, not of ours."""
_FILE: Final = re.compile(r"\.(py|jsonl|gz)$")
"""As in ``table.py``."""
_CLASS: Final = re.compile(r"_?[A-Z][A-Za-z0-9]*[a-z][A-Za-z0-9]*[A-Z]\w*|_?[A-Z][a-z]+[a-z0-9]*")
FOREIGN: Final = {
    "of Kubernetes": (
        "Allocate AssignedPodDelete DefaultSelector EventsToRegister GatherPools "
        "IsDNS1123Subdomain IsQualifiedName List NodeAdd NodeInfo NodeSchedulingPropertiesChange "
        "PodRequests PodSchedulingPropertiesChange PreEnqueue PriorityQueue System ToleratesTaint "
        "Unknown UpdateNodeLabel"
    ),
    "of CEL": "cel.bind cel.expr.CheckedExpr pod.requests",
    "of documents": "plugins.packages status.allocation",
    "of objects, not of their modules": "cluster.kubeconfig cluster.server snapshot.store",
}
"""Whose the names are that only look like ours."""
_FOREIGN: Final = frozenset(" ".join(FOREIGN.values()).split())


def _all_sources() -> tuple[Source, ...]:
    return (*sources(), *sources_of_tests())


@cache
def _modules() -> dict[str, frozenset[str]]:
    """What each defines."""
    return {source.module: frozenset(_defined(source.tree.body)) for source in _all_sources()}


@cache
def _parts() -> frozenset[str]:
    return frozenset(part for module in _modules() for part in module.split("."))


@cache
def _classes() -> dict[str, list[ast.ClassDef]]:
    found = defaultdict(list)
    for source in _all_sources():
        for node in ast.walk(source.tree):
            if isinstance(node, ast.ClassDef):
                found[node.name].append(node)
    return found


def _docstrings(source: Source) -> Iterator[str]:
    """Those of modules, classes and functions, and what stands below a field or a constant."""
    for node in ast.walk(source.tree):
        if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant):
            yield str(node.value.value)


def _defined(body: list[ast.stmt]) -> Iterator[str]:
    """The names that a module or a class gives something."""
    for node in body:
        if isinstance(node, ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef):
            yield node.name
        elif isinstance(node, ast.Import | ast.ImportFrom):
            yield from ((alias.asname or alias.name) for alias in node.names)
        elif isinstance(node, ast.Assign | ast.AnnAssign):
            for target in node.targets if isinstance(node, ast.Assign) else [node.target]:
                yield from (part.id for part in ast.walk(target) if isinstance(part, ast.Name))


def _has(kind: ast.ClassDef, name: str) -> bool:
    """Whether a class has the attribute, by itself, by what it sets of ``self``, or by a base."""
    set_in_methods = (
        node.attr
        for node in ast.walk(kind)
        if isinstance(node, ast.Attribute) and isinstance(node.ctx, ast.Store)
    )
    bases = [one.value if isinstance(one, ast.Subscript) else one for one in kind.bases]
    return name in {*_defined(kind.body), *set_in_methods} or any(
        _has(base, name)
        for one in bases
        if isinstance(one, ast.Name) and one.id != kind.name
        for base in _classes().get(one.id, ())
    )


@cache
def _is_there(name: str) -> bool:
    parts = name.removeprefix("moorage.").split(".")
    return _is_of_a_class(parts) or any(
        _is_below(".".join(parts[:count]), parts[count:]) for count in range(len(parts), 0, -1)
    )


def _is_of_a_class(parts: list[str]) -> bool:
    kinds = _classes().get(parts[0], [])
    return any(len(parts) == 1 or _has(kind, parts[1]) for kind in kinds)


def _is_below(path: str, parts: list[str]) -> bool:
    """Whether a module of this name has them."""
    return any(
        not parts or (parts[0] in defined and (len(parts) == 1 or _is_of_a_class(parts)))
        for module, defined in _modules().items()
        if f".{module}".endswith(f".{path}")
    )


def _ours(name: str) -> bool:
    """Whether it looks like a name of ours."""
    if _FIELD_OF_A_DOCUMENT.search(name) or _FILE.search(name):
        return False
    first, _, rest = name.partition(".")
    if not rest:
        return bool(_CLASS.fullmatch(name)) and not hasattr(builtins, name)
    return first == "moorage" or first in _parts() or first in _classes()


def _named(source: Source) -> Iterator[str]:
    for text in _docstrings(source):
        yield from (found[1] for found in _NAME.finditer(text))


def test_what_docstrings_name_is_there() -> None:
    """Modules, classes, functions and attributes of ours."""
    missing = [
        f"{source.module}: {name}"
        for source in _all_sources()
        for name in _named(source)
        if _ours(name) and not _is_there(name) and name not in _FOREIGN
    ]
    assert not missing


def test_foreign_names_are_used() -> None:
    """And are not ours."""
    assert {name for source in _all_sources() for name in _named(source)} >= _FOREIGN
    assert not [name for name in _FOREIGN if _is_there(name)]


@pytest.mark.parametrize(
    ("name", "there"),
    [
        ("Revision", True),
        ("Revision.points", True),
        ("Revision.pints", False),
        ("Revisoin", False),
        ("ports.errors", True),
        ("ports.errors.Conflict", True),
        ("ports.errors.Conflicts", False),
        ("moorage.core.cycle.cycle.decide", True),
        ("moorage.core.cycle.decide", False),
        ("ProfileErrors.errors", True),
    ],
)
def test_what_is_there(name: str, there: bool) -> None:
    """The search finds what it should, and no more."""
    assert _ours(name) and _is_there(name) is there
