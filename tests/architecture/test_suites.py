"""The runner of the suites: what it must never call passed."""

import signal
import sys
import threading
from collections.abc import Callable
from pathlib import Path
from types import FrameType

import pytest

from tests import suites
from tests.suites import Outcome, Suite

PASSES = "def test_it():\n    pass\n"
FAILS = "def test_it():\n    assert False\n"
SKIPS = "import pytest\n\ndef test_it():\n    pytest.skip('no reason')\n"
BREAKS = (
    "import pytest\n\n@pytest.fixture\ndef it():\n    raise OSError\n\ndef test_it(it):\n    pass\n"
)
# Ended by the runner's interrupt; what a fixture would clean up is done.
HANGS = """import time, pathlib, pytest

@pytest.fixture
def it():
    pathlib.Path("begun").touch()
    yield
    pathlib.Path("cleaned").touch()

def test_it(it):
    time.sleep(60)
"""


@pytest.fixture
def root(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A repository of its own for the runner."""
    monkeypatch.setattr(suites, "ROOT", tmp_path)
    # it starts quicker, and nothing here needs hypothesis
    monkeypatch.setenv("PYTEST_DISABLE_PLUGIN_AUTOLOAD", "1")
    (tmp_path / "tests").mkdir()
    return tmp_path


def outcome_of(root: Path, text: str, budget: float = 30) -> Outcome:
    """What the runner makes of a folder with one module of tests."""
    (root / "tests" / "test_it.py").write_text(text)
    return suites.run(Suite("one", 1, tests=("tests",)), budget)


@pytest.mark.parametrize(
    ("text", "counts", "problem"),
    [
        (PASSES, (1, 0, 0), ""),
        (FAILS, (0, 1, 0), ""),
        (BREAKS, (0, 1, 0), ""),
        (SKIPS, (0, 0, 1), "ran no test"),
        ("", (0, 0, 0), "ran no test"),
    ],
    ids=["passes", "fails", "broken fixture", "only skips", "no tests"],
)
def test_verdicts(root: Path, text: str, counts: tuple[int, int, int], problem: str) -> None:
    """Only a run in which something passed and nothing failed is good."""
    outcome = outcome_of(root, text)
    assert (outcome.passed, outcome.failed, outcome.skipped) == counts
    assert outcome.problem == problem
    assert outcome.good is (text is PASSES)


def test_a_suite_over_its_budget_fails(root: Path) -> None:
    """What passes too slowly has not passed."""
    outcome = suites.run(
        Suite(
            "slow", 1, commands=((Path(sys.executable).name, "-c", "import time; time.sleep(3)"),)
        ),
        3.0,  # a machine that is busy begins late, and what takes twice as long is ended
    )
    assert (outcome.passed, outcome.problem) == (1, "took longer than 3 s")
    assert not outcome.good


@pytest.mark.parametrize(
    "disposition", [signal.default_int_handler, signal.SIG_IGN], ids=["usual", "as nohup has it"]
)
def test_a_suite_that_hangs_is_interrupted(
    root: Path, disposition: signal.Handlers | Callable[[int, FrameType | None], None]
) -> None:
    """Fixtures of a hanging test run their clean-up, and the suite is not good; be SIGINT ignored
    where the runner was started.
    """
    for budget in (1.5, 6.0, 24.0):  # a machine that is busy begins late
        before = signal.signal(signal.SIGINT, disposition)
        try:
            outcome = outcome_of(root, HANGS, budget)
        finally:
            signal.signal(signal.SIGINT, before)
        assert outcome.problem == f"interrupted after {2 * budget:.0f} s"
        assert not outcome.good
        if (root / "begun").exists():
            break
    assert (root / "cleaned").exists()


def test_a_missing_path_is_an_error(root: Path) -> None:
    """A suite whose tests are gone does not pass with none."""
    outcome = suites.run(Suite("gone", 1, tests=("tests/gone",)), 1)
    assert outcome.problem == "there is no tests/gone"


def test_the_last_line_sums_the_tests(capsys: pytest.CaptureFixture[str]) -> None:
    """Checks by commands have their row and don't count as tests; the last line is what CI runners
    read.
    """
    rows = [
        Outcome(Suite("lint", 30, commands=(("true",),)), passed=3),
        Outcome(
            Suite("unit", 90, tests=("tests",)),
            passed=40,
            failed=2,
            problem="took longer than 90 s",
        ),
        Outcome(Suite("real", 90, tests=("tests",)), passed=5),
    ]
    suites.print_ledger(rows, 1.0, 90.0)
    lines = capsys.readouterr().out.splitlines()
    assert lines[-1] == "45 passed, 2 failed"
    assert [line for line in lines if "FAILED" in line] == [
        line for line in lines if line.startswith("unit")
    ]
    assert any(line.endswith("FAILED 2 failed, took longer than 90 s") for line in lines)


@pytest.mark.parametrize(
    ("code", "good"), [("", True), ("raise SystemExit(3)", False)], ids=["ends well", "fails"]
)
def test_a_command_is_judged_by_its_exit_code(root: Path, code: str, good: bool) -> None:
    """Linters count as one check each."""
    outcome = suites.run(Suite("lint", 30, commands=((Path(sys.executable).name, "-c", code),)), 30)
    assert outcome.good is good


def test_an_unknown_suite_is_named(capsys: pytest.CaptureFixture[str]) -> None:
    """A misspelt name is no empty, green run."""
    with pytest.raises(SystemExit) as ended:
        suites.main(["unti"])
    assert ended.value.code == 2
    assert "no suite is called unti" in capsys.readouterr().err


def test_what_needs_go_can_be_left_out(monkeypatch: pytest.MonkeyPatch) -> None:
    """On a machine that has Python only, the rest still runs."""
    ran: list[str] = []

    def run(suite: Suite, _budget: float, _output: object = None) -> Outcome:
        ran.append(suite.name)
        return Outcome(suite, passed=1)

    monkeypatch.setattr(suites, "run", run)
    assert suites.main(["--without-go"]) == 0
    assert {suite.name for suite in suites.SUITES} - set(ran) == suites.GO & {
        suite.name for suite in suites.SUITES
    }
    assert {suite.name for suite in suites.SUITES + suites.LONGER} > suites.GO


def test_what_measures_has_the_machine_for_itself(monkeypatch: pytest.MonkeyPatch) -> None:
    """The others run at the same time, one more than there are cores."""
    side_by_side = suites.CORES + 1
    together = threading.Barrier(side_by_side)
    running: list[str] = []

    def run(suite: Suite, _budget: float, _output: object = None) -> Outcome:
        running.append(suite.name)
        if not suite.measures:
            together.wait(10)
        beside = len(running) if suite.measures else 1
        running.remove(suite.name)
        return Outcome(suite, passed=int(beside == 1), failed=int(beside != 1))

    monkeypatch.setattr(suites, "run", run)
    measured = [Suite(f"measured-{i}", 1) for i in range(2)]
    quiet = [Suite(f"quiet-{i}", 1, measures=False) for i in range(side_by_side)]
    chosen = [measured[0], *quiet, measured[1]]
    outcomes = suites.run_all(chosen, 1.0)
    assert [outcome.suite for outcome in outcomes] == chosen
    assert all(outcome.good for outcome in outcomes)
