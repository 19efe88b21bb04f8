"""What a mutant is: one change of the source that a test must notice."""

from __future__ import annotations

import ast
import re
from dataclasses import dataclass
from pathlib import Path
from typing import Final

ROOT: Final = Path(__file__).resolve().parents[2]
_OPERATOR: Final = ROOT / "operator" / "moorage"
_PACKAGES: Final = {
    name: ROOT / "packages" / name / "src" / name for name in ("kubefacts", "towtank")
}


def pattern(text: str) -> re.Pattern[str]:
    """What finds this text, whatever its quotes."""
    return re.compile("[\"']".join(re.escape(part) for part in re.split("[\"']", text)))


@dataclass(frozen=True)
class Mutant:
    """In ``file`` the text ``old``, which occurs once there, becomes ``new``; ``tests`` are to
    notice.

    ``file`` is below operator/moorage, or begins with the package's name: towtank/cli.py. Both
    texts are written as ``ast.unparse`` writes code, each statement on one line, whatever the
    quotes: how the file is formatted does not matter.
    """

    name: str
    file: str
    old: str
    new: str
    tests: tuple[str, ...]

    @property
    def path(self) -> Path:
        """Where the file is."""
        package, _, rest = self.file.partition("/")
        return _PACKAGES[package] / rest if package in _PACKAGES else _OPERATOR / self.file

    @property
    def module(self) -> str:
        """The file as an import names it."""
        root = self.path.parents[self.file.count("/") + (self.path.is_relative_to(_OPERATOR))]
        return ".".join(self.path.relative_to(root).with_suffix("").parts).removesuffix(".__init__")

    def applied(self) -> str:
        """The file's code, changed. Raises ValueError when ``old`` does not occur exactly once."""
        code = ast.unparse(ast.parse(self.path.read_text()))
        old = pattern(self.old)
        if (found := len(old.findall(code))) != 1:
            raise ValueError(
                f"{self.name}: {self.old!r} occurs {found} times in {self.file}, not once: "
                f"adapt tests/mutants"
            )
        return old.sub(lambda _: self.new, code)
