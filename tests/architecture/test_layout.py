"""Where things are: mistakes that would break the interpreter, the installation or the test run
itself.
"""

import re
import subprocess
import sys
from typing import Final

import pytest

from tests.architecture.sources import PACKAGE, ROOT, committed, sources
from tests.suites import LONGER, SUITES

# Slow to load: a person who asks for help must not wait for them.
LIKE_A_STANDARD_ONE: Final = {
    "core.queue": "as kube-scheduler calls it, and as everybody looks for it"
}
HEAVY: Final = re.compile(r"\b(kopf|kubernetes|numpy|pydantic|aiohttp)\b")


def test_operator_is_a_folder_and_no_package() -> None:
    """With operator/__init__.py, `import collections` fails from the repository's root: the
    standard library imports `operator`.
    """
    assert not (PACKAGE.parent / "__init__.py").exists()
    assert sorted(path.name for path in PACKAGE.parent.iterdir()) == ["moorage"]


def test_the_interpreter_works_at_the_root() -> None:
    """The current directory comes first on the import path of `python -c`, and nothing here hides a
    standard module.
    """
    subprocess.run(
        (sys.executable, "-c", "import collections, operator; operator.itemgetter"),
        cwd=ROOT,
        check=True,
    )


@pytest.mark.parametrize("module", [source.module for source in sources() if source.module])
def test_no_module_is_named_like_a_standard_one(module: str) -> None:
    """`queue`, `types`, `signal` …: such a name is confusing to read and hides the real one when
    its folder is on the path.
    """
    assert (
        module.rpartition(".")[2] not in sys.stdlib_module_names - {"__main__"}
        or module in LIKE_A_STANDARD_ONE
    )


def test_the_module_starts_isolated() -> None:
    """`python -I -m moorage` answers from the repository's root, without loading what only the
    commands need.
    """
    answer = subprocess.run(
        (sys.executable, "-I", "-X", "importtime", "-m", "moorage", "--help"),
        cwd=ROOT,
        check=True,
        capture_output=True,
        text=True,
    )
    assert "run" in answer.stdout
    assert not HEAVY.findall(answer.stderr)


def test_every_test_is_in_a_suite() -> None:
    """A file of tests that no suite of tests/suites.py runs would be green for ever. towtank's own
    tests run its examples.
    """
    run = tuple(ROOT / path for suite in SUITES + LONGER for path in suite.tests)
    tests = [
        path
        for path in committed()
        if path.name.startswith("test_") and path.suffix == ".py" and "examples" not in path.parts
    ]
    assert tests
    assert not [
        str(path.relative_to(ROOT))
        for path in tests
        if not any(path.is_relative_to(one) for one in run)
    ]


def test_suites_have_names_of_their_own() -> None:
    """Suites are asked for by name."""
    names = [suite.name for suite in SUITES + LONGER]
    assert len(set(names)) == len(names)
