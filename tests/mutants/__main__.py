"""Try mutants: ``python -m tests.mutants [WORD ...]``. Exit status 1 when one lives, 2 when one
could not be tried.
"""

from __future__ import annotations

import argparse
import os
import sys
import time
from concurrent.futures import ThreadPoolExecutor

from tests.mutants.mutant import Mutant
from tests.mutants.table import MUTANTS
from tests.mutants.trial import fault_unchanged, killed


def main(arguments: list[str]) -> int:
    """The command line."""
    parser = argparse.ArgumentParser(
        prog="python -m tests.mutants",
        description="Try mutants. Exit status 1 when one lives, 2 when one could not be tried.",
    )
    parser.add_argument("words", nargs="*", metavar="WORD", help="part of a mutant's name")
    words: list[str] = parser.parse_args(arguments).words
    chosen = [
        mutant for mutant in MUTANTS if not words or any(word in mutant.name for word in words)
    ]
    if not chosen:
        parser.error(f"no mutant's name has {' or '.join(words)} in it")
    if said := fault_unchanged(chosen):
        print(f"These tests fail without any change, so they prove nothing:\n{said}")
        return 2
    status = 0
    with ThreadPoolExecutor(os.cpu_count()) as pool:
        for number, (line, its_status) in enumerate(pool.map(_tried, chosen), 1):
            status = max(status, its_status)
            print(f"{number:>3}/{len(chosen)} {line}", flush=True)
    return status


def _tried(mutant: Mutant) -> tuple[str, int]:
    """What is said of it, and the exit status that it asks for."""
    began = time.monotonic()
    try:
        verdict, status = ("killed", 0) if killed(mutant) else ("LIVES", 1)
    except ValueError as error:
        verdict, status = f"NOT TRIED: {error}", 2
    return f"{mutant.name}: {verdict} ({time.monotonic() - began:.0f} s)", status


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
