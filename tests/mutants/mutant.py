"""What a mutant is, and how one is tried."""

from __future__ import annotations

import ast
import os
import re
import shutil
import subprocess
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path
from typing import Final

ROOT: Final = Path(__file__).resolve().parents[2]
PACKAGE: Final = ROOT / "operator"
_SECONDS: Final = 300
_TESTS_FAILED: Final = 1
"""pytest's exit status."""


def pattern(text: str) -> re.Pattern[str]:
    """What finds this text, whatever its quotes."""
    return re.compile("[\"']".join(re.escape(part) for part in re.split("[\"']", text)))


@dataclass(frozen=True)
class Mutant:
    """In ``file`` (below operator/moorage) the text ``old``, which occurs once there, becomes
    ``new``; ``tests`` are to notice.

    Both are written as ``ast.unparse`` writes code, each statement on one line, whatever the
    quotes: how the file is formatted does not matter.
    """

    name: str
    file: str
    old: str
    new: str
    tests: tuple[str, ...]

    def applied(self) -> str:
        """The file's code, changed. Raises ValueError when ``old`` does not occur exactly once."""
        code = ast.unparse(ast.parse((PACKAGE / "moorage" / self.file).read_text()))
        old = pattern(self.old)
        if (found := len(old.findall(code))) != 1:
            raise ValueError(
                f"{self.name}: {self.old!r} occurs {found} times in {self.file}, not once: "
                f"adapt tests/mutants/table.py"
            )
        return old.sub(lambda _: self.new, code)

    def killed(self) -> bool:
        """Whether a test fails when the operator is a copy with this change. Raises ValueError
        where tests could not be run.
        """
        with tempfile.TemporaryDirectory(prefix="moorage-mutant-") as folder:
            operator = Path(folder) / "operator"
            shutil.copytree(PACKAGE, operator, ignore=shutil.ignore_patterns("__pycache__"))
            (operator / "moorage" / self.file).write_text(self.applied())
            # Processes that tests start find the copy by PYTHONPATH where they are not isolated;
            # tests of mutants run in one process.
            command = [
                sys.executable,
                "-m",
                "pytest",
                "-x",
                "-q",
                "-p",
                "no:cacheprovider",
                "-o",
                f"pythonpath={operator} .",
                *self.tests,
            ]
            environment = {
                **os.environ,
                "PYTHONPATH": str(operator),
                "PYTHONDONTWRITEBYTECODE": "1",
            }
            try:
                ended = subprocess.run(
                    command,
                    cwd=ROOT,
                    env=environment,
                    capture_output=True,
                    text=True,
                    timeout=_SECONDS,
                    check=False,
                )
            except subprocess.TimeoutExpired:
                return True  # a test that waits for ever has noticed: suites end what hangs
        if ended.returncode not in (0, _TESTS_FAILED):
            raise ValueError(
                f"{self.name}: pytest ended with "
                f"{ended.returncode}:\n{ended.stdout[-2000:]}{ended.stderr[-2000:]}"
            )
        return ended.returncode == _TESTS_FAILED
