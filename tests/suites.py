"""Run the suites in turn and print a ledger: ``python -m tests.suites [--all] [SUITE ...]``,
without names those of `make test`.

A suite is one or more commands, each a process of its own, with a budget in seconds for the whole
suite. A suite fails when a command fails, when a pytest run executes no test, or when the budget is
exceeded: slow tests are noticed on the day they become slow. Suites that measure nothing run side
by side, one more than there are cores, since some wait for servers; what they print is shown when
each has ended.
MOORAGE_TEST_BUDGET_FACTOR stretches all budgets, for a cold or slow machine. Exit code 0 when every
suite passed, 1 otherwise.
"""

from __future__ import annotations

import argparse
import os
import resource
import signal
import subprocess
import sys
import tempfile
import time
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import Final, TextIO
from xml.etree import ElementTree

from tests.tools.assets import OLDER

ROOT: Final = Path(__file__).resolve().parent.parent
BUDGET_FACTOR: Final = "MOORAGE_TEST_BUDGET_FACTOR"
CORES: Final = os.cpu_count() or 1

# A suite that takes this many times its budget hangs: it is ended instead of waited for.
_HANGS: Final = 2
_SECONDS_TO_CLEAN_UP: Final = 30
# nohup and a shell's background jobs have SIGINT ignored, and whoever they start inherits that.
_INTERRUPTIBLE: Final = (
    sys.executable,
    "-c",
    (
        "import os, signal, sys; signal.signal(signal.SIGINT, signal.SIG_DFL); "
        "os.execv(sys.argv[1], sys.argv[1:])"
    ),
)


@dataclass(frozen=True)
class Suite:
    """A row of the ledger: tests for pytest (paths that must exist), or commands of other checkers,
    and the seconds both may take.
    """

    name: str
    budget: int
    tests: tuple[str, ...] = ()
    options: tuple[str, ...] = ()
    commands: tuple[tuple[str, ...], ...] = ()
    measures: bool = True
    """Whether it must have the machine for itself."""


UNIT: Final = (
    *(
        f"tests/{folder}"
        for folder in ("api", "ports", "adapters", "handlers", "apps", "architecture", "mutants")
    ),
    "tests/upgrade/test_schema.py",
    "packages/kubefacts/kubefacts_tests",
)
ENGINE: Final = ("tests/engine",)
CORE: Final = ("tests/core",)
FUZZ: Final = ("tests/fuzz",)
TOWTANK: Final = ("packages/towtank/towtank_tests",)
BOTH: Final = ("tests/real", "tests/scenarios")
"""They run on a kube-apiserver and on the embedded cluster (tests/real/conftest.py)."""
REAL: Final = ("-m", "not embedded")

# `make test`. Together about 20 minutes; budgets allow for what runs beside a suite, and some more.
SUITES: Final = (
    Suite(
        "lint",
        30,
        commands=(("ruff", "check"), ("ruff", "format", "--check"), ("lint-imports", "--no-logo")),
        measures=False,
    ),
    Suite("types", 90, commands=(("mypy",),), measures=False),
    Suite("unit", 540, tests=UNIT, measures=False),
    Suite("engine", 300, tests=ENGINE, measures=False),
    Suite("core", 330, tests=CORE, measures=False),
    Suite("vectors", 120, tests=("tests/vectors",), measures=False),
    Suite("fuzz", 150, tests=FUZZ, measures=False),
    Suite("towtank", 210, tests=TOWTANK, measures=False),
    Suite("embedded", 480, tests=BOTH, options=("-m", "embedded"), measures=False),
    Suite(
        "throughput",
        90,
        tests=(
            "tests/load/test_device_windows.py",
            "tests/load/test_embedded.py",
            "tests/load/test_help.py",
            "tests/load/test_status.py",
        ),
    ),
    Suite("real", 720, tests=("tests/real",), options=REAL, measures=False),
    Suite("conformance", 120, tests=("tests/conformance",), measures=False),
    Suite("rehearsal", 60, tests=("tests/upgrade/test_rehearsal.py",), measures=False),
    Suite("packaging", 60, tests=("tests/packaging",), measures=False),
    Suite("scenarios", 120, tests=("tests/scenarios",), options=REAL, measures=False),
    Suite("stories", 480, tests=("tests/stories",), options=REAL, measures=False),
    Suite("load", 90, tests=("tests/load/test_hot_swap.py",)),
    Suite("failover", 60, tests=("tests/load/test_failover.py",)),
    Suite("page", 270, tests=("tests/page",), measures=False),
    Suite("page-speed", 60, tests=("tests/load/test_page.py",)),
    Suite("page-live", 120, tests=("tests/page_live",)),
    Suite("release", 60, tests=("tests/release",), measures=False),
    Suite("install", 120, tests=("tests/install",), measures=False),
)

# Each builds its servers first, where they are not built yet (8 minutes).
_OLDER: Final = tuple(
    Suite(
        f"real-{version}",
        1200,
        tests=("tests/real",),
        options=(f"--kubernetes={version}", *REAL),
        commands=(("python", "tests/tools/assets.py", version),),
    )
    for version in OLDER
)
# What `make test-all` runs too.
LONGER: Final = (
    Suite(
        "stories-embedded",
        360,
        tests=("tests/stories",),
        options=("-m", "embedded"),
        measures=False,
    ),
    Suite("installing", 420, tests=("tests/installing",), measures=False),
    *_OLDER,
    # Each variant as Deployment, with kube-scheduler for its own pods.
    Suite("variants", 300, tests=("tests/variants",)),
    # Installs into an empty root and environments, and runs there; needs root and a package index.
    Suite("image", 600, tests=("tests/image",), measures=False),
    Suite("shards", 120, tests=("tests/shards",)),
    # Builds older releases first, where they are not built yet: needs their commits, and an index.
    Suite("upgrade", 600, tests=("tests/upgrade/test_side_by_side.py",), measures=False),
    Suite("leaving", 180, tests=("tests/leaving",), measures=False),
    # README's two commands in a clone; the second one runs suites itself.
    Suite("fresh", 1500, tests=("tests/fresh",)),
    Suite("failover-groups", 300, tests=("tests/load/test_group_failover.py",)),
    Suite("memory", 360, tests=("tests/load/test_memory.py",)),
    Suite("faults", 2400, tests=("tests/faults",)),
    Suite("mutants", 1200, commands=(("python", "-m", "tests.mutants"),)),
    Suite("fuzz-long", 900, tests=FUZZ, options=("--hypothesis-profile=thorough",)),
    Suite(
        "thorough",
        1800,
        tests=CORE + UNIT + ENGINE + TOWTANK,
        options=("--hypothesis-profile=thorough",),
    ),
)


# These need a control plane that Go builds: `--without-go` leaves them out.
GO: Final = frozenset(
    {
        "real",
        *(suite.name for suite in _OLDER),
        "conformance",
        "rehearsal",
        "upgrade",
        "packaging",
        "scenarios",
        "stories",
        "stories-embedded",
        "variants",
        "load",
        "failover",
        "failover-groups",
        "shards",
        "leaving",
        "page-live",
        "memory",
        "faults",
    }
)


@dataclass
class Outcome:
    """What became of a suite: counts of tests (or of commands), how long it took, and what is wrong
    beyond failed tests.
    """

    suite: Suite
    passed: int = 0
    failed: int = 0
    skipped: int = 0
    seconds: float = 0.0
    problem: str = ""
    interrupted: bool = False
    """Whether it took so long that it was ended."""

    @property
    def good(self) -> bool:
        """Whether nothing failed and nothing is wrong."""
        return not self.failed and not self.problem

    @property
    def verdict(self) -> str:
        """What is wrong, all of it; "" when it is good."""
        failed = f"{self.failed} failed" if self.failed else ""
        return "" if self.good else f"FAILED {', '.join(filter(None, (failed, self.problem)))}"


def main(arguments: list[str]) -> int:
    """The command line."""
    parser = argparse.ArgumentParser(
        prog="python -m tests.suites", description="Run the suites and print a ledger."
    )
    parser.add_argument(
        "suites",
        nargs="*",
        metavar="SUITE",
        help=f"of {', '.join(suite.name for suite in SUITES + LONGER)}",
    )
    parser.add_argument("--all", action="store_true", help="the longer suites too")
    parser.add_argument(
        "--without-go",
        action="store_true",
        help=f"all but {', '.join(sorted(GO))}, which need what Go builds",
    )
    options = parser.parse_args(arguments)
    known = {suite.name: suite for suite in SUITES + LONGER}
    if unknown := [name for name in options.suites if name not in known]:
        parser.error(f"no suite is called {', '.join(unknown)}; there are {', '.join(known)}")
    chosen = [known[name] for name in options.suites] or list(
        SUITES + LONGER if options.all else SUITES
    )
    if options.without_go:
        chosen = [suite for suite in chosen if suite.name not in GO]
    factor = float(os.environ.get(BUDGET_FACTOR, "1"))
    started = time.monotonic()
    outcomes = run_all(chosen, factor)
    print_ledger(outcomes, factor, time.monotonic() - started)
    return 0 if all(outcome.good for outcome in outcomes) else 1


def run_all(chosen: list[Suite], factor: float) -> list[Outcome]:
    """Run the suites, those that measure nothing first and side by side; the outcomes in the order
    of ``chosen``.
    """
    quiet = [suite for suite in chosen if not suite.measures]
    outcomes: dict[str, Outcome] = {}
    if len(quiet) > 1:
        with ThreadPoolExecutor(CORES + 1) as pool:
            # The longest first, so that none is left alone at the end.
            for outcome in pool.map(
                lambda suite: run_beside(suite, suite.budget * factor),
                sorted(quiet, key=lambda suite: -suite.budget),
            ):
                outcomes[outcome.suite.name] = outcome
    for suite in chosen:
        if suite.name not in outcomes:
            outcomes[suite.name] = run(suite, suite.budget * factor)
    return [outcomes[suite.name] for suite in chosen]


def run_beside(suite: Suite, budget: float) -> Outcome:
    """Run one suite while others run; what it prints comes in one piece."""
    with tempfile.TemporaryFile("w+", prefix="moorage-") as output:
        outcome = run(suite, budget, output)
        output.seek(0)
        print(output.read(), end="", flush=True)
    return outcome


def run(suite: Suite, budget: float, output: TextIO | None = None) -> Outcome:
    """Run one suite to its end, however it ends; it prints to ``output``, or where this program
    prints.
    """
    print(f"\n== {suite.name}: at most {budget:.0f} s", flush=True, file=output)
    outcome = Outcome(suite)
    started = time.monotonic()
    for command in suite.commands:
        run_command(command, outcome, budget, output)
    if suite.tests:
        run_pytest(outcome, budget, output)
    outcome.seconds = time.monotonic() - started
    if outcome.seconds > budget and not outcome.interrupted:
        outcome.problem = ", ".join(
            filter(None, (outcome.problem, f"took longer than {budget:.0f} s"))
        )
    return outcome


def run_command(
    command: tuple[str, ...], outcome: Outcome, budget: float, output: TextIO | None
) -> None:
    """Run a checker of the virtual environment; it counts as one test, and its exit code is its
    verdict.
    """
    print(f"-- {' '.join(command)}", flush=True, file=output)
    if exit_code(
        [str(Path(sys.executable).with_name(command[0])), *command[1:]], budget, outcome, output
    ):
        outcome.failed += 1
    else:
        outcome.passed += 1


def run_pytest(outcome: Outcome, budget: float, output: TextIO | None) -> None:
    """Run pytest over the suite's paths; the counts come from its report, since text is for
    people.
    """
    suite = outcome.suite
    if missing := [path for path in suite.tests if not (ROOT / path).exists()]:
        outcome.problem = f"there is no {', '.join(missing)}"
        return
    with tempfile.TemporaryDirectory(prefix="moorage-") as folder:
        report = Path(folder) / "report.xml"
        command = [
            sys.executable,
            "-m",
            "pytest",
            "-q",
            f"--junitxml={report}",
            *suite.options,
            *suite.tests,
        ]
        code = exit_code(command, budget, outcome, output)
        if report.exists():
            count(report, outcome)
    if outcome.interrupted:
        return
    if not outcome.passed + outcome.failed:
        outcome.problem = "ran no test"
    elif code and not outcome.failed:
        outcome.problem = f"pytest ended with {code}"


def exit_code(command: list[str], budget: float, outcome: Outcome, output: TextIO | None) -> int:
    """The command's exit code. One that hangs is interrupted, so that its fixtures can clean up,
    then killed; the outcome says so.
    """
    full = [*_INTERRUPTIBLE, *command]
    with subprocess.Popen(full, cwd=ROOT, stdout=output, stderr=output) as process:
        try:
            return process.wait(_HANGS * budget)
        except subprocess.TimeoutExpired:
            process.send_signal(signal.SIGINT)
            outcome.interrupted, outcome.problem = (
                True,
                f"interrupted after {_HANGS * budget:.0f} s",
            )
        try:
            process.wait(_SECONDS_TO_CLEAN_UP)
        except subprocess.TimeoutExpired:
            process.kill()
    return process.returncode or 1


def count(report: Path, outcome: Outcome) -> None:
    """Add the counts of a JUnit report: an error in a fixture is a failed test."""
    for element in ElementTree.parse(report).getroot().iter("testsuite"):
        tests, failed, errors, skipped = (
            int(element.get(name, "0")) for name in ("tests", "failures", "errors", "skipped")
        )
        outcome.passed += tests - failed - errors - skipped
        outcome.failed += failed + errors
        outcome.skipped += skipped


def print_ledger(outcomes: list[Outcome], factor: float, seconds: float) -> None:
    """Print a row per suite, and one for the ``seconds`` of all with how busy it kept the
    processors. The last line is the sum of all tests in the words that CI runners read.
    """
    print(
        f"\n{'suite':<10} {'passed':>7} {'failed':>7} {'skipped':>8} {'seconds':>8} {'budget':>7}"
    )
    for outcome in outcomes:
        print(
            f"{outcome.suite.name:<10} {outcome.passed:>7} {outcome.failed:>7} "
            f"{outcome.skipped:>8} "
            f"{outcome.seconds:>8.1f} {outcome.suite.budget * factor:>7.0f}  "
            f"{outcome.verdict}".rstrip()
        )
    print(
        f"{'all':<10} {'':>7} {'':>7} {'':>8} "
        f"{seconds:>8.1f} {'':>7}  {busy_share(seconds):.0%} of {CORES} processors\n"
    )
    tested = [outcome for outcome in outcomes if outcome.suite.tests]
    passed, failed, skipped = (
        sum(getattr(outcome, name) for outcome in tested)
        for name in ("passed", "failed", "skipped")
    )
    if tested:
        print(f"{passed} passed, {failed} failed" + (f", {skipped} skipped" if skipped else ""))


def busy_share(seconds: float) -> float:
    """How much of the processors' time in these seconds the suites took: what is left is waiting,
    or was taken by other programs.
    """
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return (used.ru_utime + used.ru_stime) / (seconds * CORES)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
