"""Sizes that keep the source readable. Branches (10) and parameters (5) are ruff's C901 and
PLR0913.
"""

import ast
import re
import statistics
from typing import Final

import pytest

from tests.architecture.sources import ROOT, Function, Source, committed, sources

FILE_MEDIAN: Final = 150
FILE_LIMIT: Final = 400
FUNCTION_P95: Final = 18
FUNCTION_LIMIT: Final = 60

# Exemptions by name, each with its reason. Flat declarations are exempt by kind, see below.
LONG_FILES: Final[dict[str, str]] = {  # module -> reason
}
LONG_FUNCTIONS: Final[dict[str, str]] = {  # module:function -> reason
}
# path -> reason, for a file that lifts C901 or PLR0913 on a line
MANY_BRANCHES_OR_PARAMETERS: Final[dict[str, str]] = {}


def declares_only(tree: ast.Module) -> bool:
    """Whether a module only declares: docstrings, imports, constants, and classes that hold fields
    and no code.
    """
    return all(
        isinstance(node, ast.Expr | ast.Import | ast.ImportFrom | ast.Assign | ast.AnnAssign)
        or (
            isinstance(node, ast.ClassDef)
            and all(isinstance(field, ast.Expr | ast.Assign | ast.AnnAssign) for field in node.body)
        )
        for node in tree.body
    )


def assigns_only(function: Function) -> bool:
    """Whether a constructor is a plain list of assignments and calls, as a table of metrics is."""
    return function.name == "__init__" and all(
        isinstance(node, ast.Expr | ast.Assign | ast.AnnAssign) for node in function.body
    )


def length(function: Function) -> int:
    """Lines from `def` to the end, docstring included."""
    return (function.end_lineno or function.lineno) - function.lineno + 1


def budgeted_files() -> dict[str, Source]:
    """Modules that the budgets count."""
    return {source.module: source for source in sources() if not declares_only(source.tree)}


def budgeted_functions() -> dict[str, int]:
    """The lengths of the functions that the budgets count; of two with one name, the longer."""
    lengths: dict[str, int] = {}
    for source in sources():
        for name, function in source.functions():
            if not assigns_only(function):
                lengths[name] = max(length(function), lengths.get(name, 0))
    return lengths


def test_files_are_short() -> None:
    """No file is over the limit but the named ones, and a typical one is far below it."""
    files = {module: source.lines for module, source in budgeted_files().items()}
    too_long = {
        module: lines
        for module, lines in files.items()
        if lines > FILE_LIMIT and module not in LONG_FILES
    }
    assert not too_long, f"over {FILE_LIMIT} lines: split them"
    assert statistics.median(files.values()) <= FILE_MEDIAN


def test_functions_are_short() -> None:
    """No function is over the limit but the named ones, and 95 of 100 are far below it."""
    functions = budgeted_functions()
    too_long = {
        name: lines
        for name, lines in functions.items()
        if lines > FUNCTION_LIMIT and name not in LONG_FUNCTIONS
    }
    assert not too_long, f"over {FUNCTION_LIMIT} lines: split them"
    assert statistics.quantiles(functions.values(), n=20)[-1] <= FUNCTION_P95


def test_branches_and_parameters_are_lifted_by_name_only() -> None:
    """Ruff's two budgets are lifted nowhere but in the files of the table."""
    lifting = re.compile(r"#\s*(ruff:\s*)?noqa:.*(C901|PLR0913)")
    lifted = {
        str(path.relative_to(ROOT))
        for path in committed()
        if path.suffix == ".py" and lifting.search(path.read_text())
    }
    assert lifted == set(MANY_BRANCHES_OR_PARAMETERS)


@pytest.mark.parametrize("table", [LONG_FILES, LONG_FUNCTIONS], ids=["files", "functions"])
def test_exemptions_are_needed(table: dict[str, str]) -> None:
    """An exemption has a reason and is still needed: a budget that is kept again must not be
    lifted.
    """
    files = {module: source.lines for module, source in budgeted_files().items()}
    needed = {name for name, lines in files.items() if lines > FILE_LIMIT} | {
        name for name, lines in budgeted_functions().items() if lines > FUNCTION_LIMIT
    }
    assert set(table) <= needed
    assert all(table.values())


@pytest.mark.parametrize(
    ("text", "flat"),
    [
        ('"""Doc."""\nimport enum\nX = 1\nclass A:\n    """Doc."""\n    x: int = 3\n', True),
        ("class A:\n    def f(self): ...\n", False),
        ("def f(): ...\n", False),
        ("if x:\n    y = 1\n", False),
    ],
    ids=["fields", "method", "function", "branch"],
)
def test_what_counts_as_flat(text: str, flat: bool) -> None:
    """A file escapes the budget only when nothing in it runs."""
    assert declares_only(ast.parse(text)) is flat
