"""How much of the source somebody sees who follows a pod, or an edit of a profile, through it."""

import re
import subprocess
import sys
from typing import Final, NamedTuple

import pytest

from tests.architecture.sources import ROOT


class Way(NamedTuple):
    """What ``tests.tools.passed`` follows, the most that it may pass, and where it begins and
    ends.
    """

    what: str
    modules: int
    functions: int
    first: str
    last: str


WAYS: Final = (
    Way(
        "a pod of a known template",
        modules=46,
        functions=150,
        first="engine/intake/object_sink.py ObjectSink.put",
        last="engine/binding/actors/default_binder.py DefaultBinder.bind",
    ),
    Way(
        "an edit of a profile",
        modules=28,
        functions=98,
        first="engine/engine.py Engine.profile_changed",
        last="engine/profiles/activation.py RevisionActivator._report_swap",
    ),
)


@pytest.fixture(scope="module")
def report() -> str:
    """What the tool says, of a process of its own: nothing is remembered there from other tests."""
    command = [sys.executable, "-m", "tests.tools.passed", "--list"]
    return subprocess.run(command, cwd=ROOT, check=True, capture_output=True, text=True).stdout


@pytest.mark.parametrize("way", WAYS, ids=lambda way: way.what)
def test_ways_are_short(report: str, way: Way) -> None:
    """From its beginning to its end no more modules and functions than these."""
    found = re.search(
        rf"^{way.what}: (\d+) modules, (\d+) functions\n((?:  .+\n)+)", report, re.MULTILINE
    )
    assert found is not None
    modules, functions, passed = int(found[1]), int(found[2]), found[3]
    assert f"  {way.first}\n" in passed
    assert f"  {way.last}\n" in passed
    assert modules <= way.modules, f"{way.what} passes {modules} modules: do less on its way"
    assert functions <= way.functions, f"{way.what} passes {functions} functions: do less"
