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
    called = {node.func.id for node in ast.walk(source.tree) if isinstance(node, ast.Call) and isinstance(node.func, ast.Name)}
    assert not called & _FORBIDDEN


@pytest.mark.parametrize("source", CORE, ids=lambda source: source.module)
def test_core_does_not_loop_over_sets(source: Source) -> None:
    """No loop over a set that is written in place: its order changes with PYTHONHASHSEED. Sets in variables: see the vectors."""
    loops = [node.iter for node in ast.walk(source.tree) if isinstance(node, ast.For | ast.comprehension)]
    assert not [node.lineno for node in loops if isinstance(node, ast.Set | ast.SetComp)]
