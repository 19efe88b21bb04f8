"""Try mutants: ``python -m tests.mutants [WORD ...]``. Exit status 1 when one lives, 2 when one
could not be tried.
"""

from __future__ import annotations

import sys
import time

from tests.mutants.table import MUTANTS


def main(words: list[str]) -> int:
    """The command line."""
    status = 0
    chosen = [
        mutant for mutant in MUTANTS if not words or any(word in mutant.name for word in words)
    ]
    for number, mutant in enumerate(chosen, 1):
        began = time.monotonic()
        try:
            verdict = "killed" if mutant.killed() else "LIVES"
        except ValueError as error:
            verdict, status = f"NOT TRIED: {error}", 2
        status = max(status, int(verdict == "LIVES"))
        print(
            (
                f"{number:>3}/{len(chosen)} {mutant.name}: {verdict} "
                f"({time.monotonic() - began:.0f} s)"
            ),
            flush=True,
        )
    return status


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
