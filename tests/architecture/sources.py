"""The source files of the package, parsed once, as the other modules here look at them."""

import ast
import subprocess
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Final

ROOT: Final = Path(__file__).resolve().parents[2]
PACKAGE: Final = ROOT / "operator" / "moorage"
PACKAGES: Final = (
    PACKAGE,
    *(ROOT / "packages" / name / "src" / name for name in ("kubefacts", "towtank")),
)

Function = ast.FunctionDef | ast.AsyncFunctionDef


@dataclass(frozen=True)
class Source:
    """A module: its name with dots, below moorage without that ("core.cycle.cycle",
    "towtank.storage"), its text and its syntax tree.
    """

    module: str
    text: str
    tree: ast.Module

    @property
    def layer(self) -> str:
        """The first part of the name: "core", "adapters" and so on."""
        return self.module.partition(".")[0]

    @property
    def lines(self) -> int:
        """How many lines the file has."""
        return self.text.count("\n")

    def functions(self) -> Iterator[tuple[str, Function]]:
        """All functions and methods, nested ones included, with names to find them by:
        "core.cycle.cycle:decide".
        """
        for node in ast.walk(self.tree):
            if isinstance(node, Function):
                yield f"{self.module}:{node.name}", node

    def imported(self) -> Iterator[str]:
        """The names of all imported modules, those imported inside functions included."""
        for node in ast.walk(self.tree):
            if isinstance(node, ast.Import):
                yield from (alias.name for alias in node.names)
            elif isinstance(node, ast.ImportFrom) and node.module:
                yield node.module


@cache
def sources() -> tuple[Source, ...]:
    """Every module of the packages."""
    return tuple(
        _source(path, package) for package in PACKAGES for path in sorted(package.rglob("*.py"))
    )


@cache
def sources_of_tests() -> tuple[Source, ...]:
    """Every module of the tests ("tests.fakes.kube")."""
    tests = ROOT / "tests"
    return tuple(_source(path, tests) for path in sorted(tests.rglob("*.py")))


def _source(path: Path, package: Path) -> Source:
    text = path.read_text()
    module = (
        ".".join(path.relative_to(package.parent).with_suffix("").parts)
        .removesuffix(".__init__")
        .removeprefix("moorage.")
    )
    return Source(module, text, ast.parse(text, str(path)))


@cache
def committed() -> tuple[Path, ...]:
    """Every file that is committed, or would be by `git add .`: what a user's clone holds."""
    listed = subprocess.run(
        ("git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"),
        cwd=ROOT,
        check=True,
        capture_output=True,
        text=True,
    )
    return tuple(
        path for name in listed.stdout.split("\0") if name and (path := ROOT / name).is_file()
    )
