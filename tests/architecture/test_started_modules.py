"""Shipped code starts only what is shipped: tests, tools and rigs are in no wheel."""

import ast
import importlib.util
import re
from collections.abc import Iterator
from typing import Final

import pytest

from tests.architecture.sources import PACKAGES, Source, sources

SHIPPED: Final = {package.name for package in PACKAGES}
OF_TESTS: Final = re.compile(r"tests(\.\w+)+|tests?/\w.*")


def started(tree: ast.Module) -> Iterator[ast.expr | None]:
    """What follows each "-m" of a command; None where nothing does."""
    for node in ast.walk(tree):
        if isinstance(node, ast.List | ast.Tuple):
            for i, word in enumerate(node.elts):
                if isinstance(word, ast.Constant) and word.value == "-m":
                    yield node.elts[i + 1] if i + 1 < len(node.elts) else None


def wrong(tree: ast.Module) -> list[str]:
    """Modules that are started and are not shipped, or are not named where they are started."""
    found = []
    for name in started(tree):
        if not isinstance(name, ast.Constant) or not isinstance(name.value, str):
            found.append("a module that is not named" if name is None else ast.unparse(name))
        elif (
            name.value.partition(".")[0] not in SHIPPED
            or importlib.util.find_spec(name.value) is None
        ):
            found.append(name.value)
    return found


@pytest.mark.parametrize("source", sources(), ids=lambda source: source.module)
def test_what_is_started_is_shipped(source: Source) -> None:
    """By `python -m`, and no text names a module or a folder of the tests."""
    assert wrong(source.tree) == []
    texts = [
        node.value
        for node in ast.walk(source.tree)
        if isinstance(node, ast.Constant) and isinstance(node.value, str)
    ]
    assert [text for text in texts if OF_TESTS.fullmatch(text)] == []


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ('[python, "-I", "-m", "towtank", *nodes]', []),
        ('[python, "-m", "tests.rig.demo"]', ["tests.rig.demo"]),
        ('(python, "-m", module)', ["module"]),
        ('[python, "-m", "moorage.nowhere"]', ["moorage.nowhere"]),
        ('[python, "-m"] + words', ["a module that is not named"]),
    ],
)
def test_what_is_found(text: str, found: list[str]) -> None:
    """A name that stands in a variable could be any."""
    assert wrong(ast.parse(text)) == found
