"""Run suites on each Python from the oldest that is supported on: ``python -m tests.tools.pythons
[SUITE ...]``, without names unit and core.

Interpreters are those on the path and pyenv's. Each has an environment in .pythons/, made anew when
what goes into it has changed. Exit code 0 when all suites passed on all that there are.
"""

from __future__ import annotations

import hashlib
import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Final

ROOT: Final = Path(__file__).resolve().parents[2]
FOLDER: Final = ROOT / ".pythons"
TESTED: Final = ("3.11", "3.12", "3.13")
"""Those on which the suites have passed: the classifiers of the distributions."""
KNOWN: Final = (*TESTED, "3.14")
DEFAULT: Final = ("unit", "core")
_EDITABLE: Final = ("-e", "packages/kubefacts", "-e", "packages/towtank", "-e", ".")


def main(suites: list[str]) -> int:
    """The command line."""
    results: dict[str, str] = {}
    for version in KNOWN:
        interpreter = next(interpreters(version), None)
        if interpreter is None:
            results[version] = "not on this machine"
            continue
        command = [environment(version, interpreter), "-m", "tests.suites", *suites]
        passed = subprocess.run(command, cwd=ROOT, check=False).returncode == 0
        results[version] = "passed" if passed else "FAILED"
    for version, result in results.items():
        print(f"Python {version}: {result}")
    return 1 if "FAILED" in results.values() else 0


def interpreters(version: str) -> Iterator[str]:
    """Those that run and say that they are of this version, which has major and minor."""
    home = Path(os.environ.get("PYENV_ROOT", Path.home() / ".pyenv"))
    newest_first = sorted(home.glob(f"versions/{version}.*/bin/python"), reverse=True)
    for found in (shutil.which(f"python{version}"), sys.executable, *map(str, newest_first)):
        if found is not None and _version(found) == version:
            yield found


def _version(interpreter: str) -> str:
    """What it says; "" if it does not run, as pyenv's stand-ins do."""
    script = "import sys; print(*sys.version_info[:2], sep='.')"
    done = subprocess.run(
        [interpreter, "-I", "-c", script], capture_output=True, text=True, check=False
    )
    return done.stdout.strip() if done.returncode == 0 else ""


def environment(version: str, interpreter: str) -> str:
    """The Python of an environment with everything pinned, which is made if need be."""
    folder = FOLDER / version
    python, stamp = folder / "bin" / "python", folder / f".made-{_inputs()}"
    if not stamp.exists():
        shutil.rmtree(folder, ignore_errors=True)
        subprocess.run([interpreter, "-m", "venv", folder], check=True)
        pip = [str(python), "-m", "pip", "install", "--quiet", "--disable-pip-version-check"]
        requirements = str(ROOT / "requirements" / "dev.txt")
        subprocess.run([*pip, "--require-hashes", "-r", requirements], cwd=ROOT, check=True)
        subprocess.run(
            [*pip, "--no-deps", "--no-build-isolation", *_EDITABLE], cwd=ROOT, check=True
        )
        stamp.touch()
    return str(python)


def _inputs() -> str:
    paths = [
        ROOT / "requirements" / "dev.txt",
        ROOT / "pyproject.toml",
        *sorted(ROOT.glob("packages/*/pyproject.toml")),
    ]
    return hashlib.sha256(b"".join(path.read_bytes() for path in paths)).hexdigest()[:16]


if __name__ == "__main__":
    raise SystemExit(main(sys.argv[1:] or list(DEFAULT)))
