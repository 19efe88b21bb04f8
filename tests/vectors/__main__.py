"""Run vectors: ``python -m tests.vectors DIR [--families A,B]``.

Exit code 0 when families that are built ran and every case of them passed, 1 otherwise, 2 for a
wrong command line.
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from moorage.core.framework.revisions import ProfileErrors
from tests.vectors.comparing import differences
from tests.vectors.deviations import meant
from tests.vectors.families import BUILT, Adapter
from tests.vectors.files import Case, family_files, read_cases
from tests.vectors.profiles import revision_of

_SHOWN_CASES = 3
_SHOWN_DIFFERENCES = 6


def failures_of(case: Case, adapter: Adapter) -> list[str]:
    """Where our decision differs from kube-scheduler's, and is not meant to; a crash is a
    difference too.
    """
    try:
        found = list(differences(case["expect"], adapter(case)))
        return [one for one in found if _field(one) not in meant(case)] if found else []
    except Exception as error:  # noqa: BLE001 - see below
        # reported as this case's failure, the others still run
        return [f"{type(error).__name__}: {error}"]


def cannot_run(case: Case) -> bool:
    """Whether the case's profile enables a plugin at filter or score and not where that prepares:
    nothing else to compare.
    """
    try:
        if "profile" in case:
            revision_of(case["profile"])
    except ProfileErrors as refusal:
        return all("enable both or neither" in error.message for error in refusal.errors)
    return False


def _field(difference: str) -> str:
    """The field of ``expect`` that a difference is in."""
    return difference.partition(":")[0].partition(".")[0]


def run_family(family: str, path: Path) -> int:
    """Print a family's result; how many cases failed."""
    failed: list[tuple[str, list[str]]] = []
    total = refused = 0
    for case in read_cases(path):
        total += 1
        if cannot_run(case):
            refused += 1
        elif found := failures_of(case, BUILT[family]):
            failed.append((case["id"], found))
    apart = f", {refused} with a profile that is refused (docs/adr/0008)" if refused else ""
    print(f"{family}: {total - len(failed) - refused} passed, {len(failed)} failed{apart}")
    for name, found in failed[:_SHOWN_CASES]:
        print(f"  {name}")
        for difference in found[:_SHOWN_DIFFERENCES]:
            print(f"    {difference}")
        if len(found) > _SHOWN_DIFFERENCES:
            print(f"    and {len(found) - _SHOWN_DIFFERENCES} more")
    return len(failed)


def main(arguments: list[str]) -> int:
    """The command line."""
    parser = argparse.ArgumentParser(
        prog="python -m tests.vectors", description="Compare our decisions with kube-scheduler's."
    )
    parser.add_argument("folder", type=Path, help="holds FAMILY.jsonl or FAMILY.jsonl.gz files")
    parser.add_argument("--families", help="comma-separated names; all of the folder's otherwise")
    options = parser.parse_args(arguments)
    if not options.folder.is_dir():
        parser.error(f"{options.folder} is not a folder")
    files = family_files(options.folder)
    wanted = options.families.split(",") if options.families else list(files)
    if unknown := [family for family in wanted if family not in files]:
        parser.error(f"no file in {options.folder} for: {', '.join(unknown)}")
    built = [family for family in wanted if family in BUILT]
    failed = sum(run_family(family, files[family]) for family in built)
    for family in wanted:
        if family not in BUILT:
            print(f"{family}: not built yet, not run")
    if not built:
        print("no family here is built: nothing was run")
        return 1
    print(f"{len(built)} of {len(wanted)} families are built; {failed} cases failed")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
