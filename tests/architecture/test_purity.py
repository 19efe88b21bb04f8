"""Core decides, and decides the same for the same input. Its imports are .importlinter's matter."""

import ast
from typing import Final

import pytest

from tests.architecture.sources import Source, sources

CORE: Final = [source for source in sources() if source.layer == "core"]

_ASYNC: Final = (ast.AsyncFunctionDef, ast.AsyncFor, ast.AsyncWith, ast.Await)
# hash() of text differs from process to process; the others reach the world.
_FORBIDDEN: Final = frozenset({"__import__", "eval", "exec", "hash", "input", "open", "print"})


@pytest.mark.parametrize("source", CORE, ids=lambda source: source.module)
def test_core_waits_for_nothing(source: Source) -> None:
    """No coroutine, no await: without extenders a cycle is one synchronous call."""
    assert not [node.lineno for node in ast.walk(source.tree) if isinstance(node, _ASYNC)]


@pytest.mark.parametrize("source", CORE, ids=lambda source: source.module)
def test_core_calls_nothing_that_varies(source: Source) -> None:
    """No built-in function whose answer depends on the process or on the world."""
    called = {
        node.func.id
        for node in ast.walk(source.tree)
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name)
    }
    assert not called & _FORBIDDEN


@pytest.mark.parametrize("source", CORE, ids=lambda source: source.module)
def test_core_does_not_loop_over_sets(source: Source) -> None:
    """No loop over a set that is written in place: its order changes with PYTHONHASHSEED. Sets in
    variables: see the vectors.
    """
    loops = [
        node.iter for node in ast.walk(source.tree) if isinstance(node, ast.For | ast.comprehension)
    ]
    assert not [node.lineno for node in loops if isinstance(node, ast.Set | ast.SetComp)]


@pytest.mark.parametrize("source", CORE, ids=lambda source: source.module)
def test_nothing_is_held_while_it_may_be_replaced(source: Source) -> None:
    """No ``self.array[self.index(x)] += 1``: the array is fetched first, and the call may put a
    longer one in its place.
    """
    targets = [
        target
        for node in ast.walk(source.tree)
        for target in _targets(node)
        if isinstance(target, ast.Subscript)
    ]
    assert not [
        target.lineno
        for target in targets
        if _own(target.value) and any(map(_calls_own, ast.walk(target.slice)))
    ]


@pytest.mark.parametrize(
    "source",
    [source for source in CORE if "columns" in source.module],
    ids=lambda source: source.module,
)
def test_columns_grow_in_one_way(source: Source) -> None:
    """By ``structures.growing.grown``: no module has a way of its own."""
    called = [
        node.func
        for node in ast.walk(source.tree)
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute)
    ]
    grows = [
        func.lineno
        for func in called
        if func.attr in ("concatenate", "append", "resize") and ast.unparse(func.value) == "np"
    ]
    assert not grows


def _targets(node: ast.AST) -> list[ast.expr]:
    return (
        node.targets
        if isinstance(node, ast.Assign)
        else [node.target]
        if isinstance(node, ast.AugAssign)
        else []
    )


def _own(node: ast.AST) -> bool:
    """An attribute of self."""
    return (
        isinstance(node, ast.Attribute)
        and isinstance(node.value, ast.Name)
        and node.value.id == "self"
    )


def _calls_own(node: ast.AST) -> bool:
    return isinstance(node, ast.Call) and _own(node.func)
