"""The command line: plays conversations with both servers and prints what differs and is not
known.
"""

from __future__ import annotations

import argparse
import re
import sys
from contextlib import ExitStack
from pathlib import Path

import msgspec

from tests.conformance.comparing import Difference, differences
from tests.conformance.conversations import conversations
from tests.conformance.known import known, unknown
from tests.conformance.playing import Player, Record
from tests.conformance.servers import kube_apiserver, towtank
from tests.tools import assets

Records = dict[str, dict[str, Record]]


def main() -> int:
    """The exit code is 1 when something differs."""
    parser = argparse.ArgumentParser(prog="python -m tests.conformance", description=__doc__)
    parser.add_argument(
        "names",
        nargs="*",
        metavar="CONVERSATION",
        help="those whose names begin so; all by default",
    )
    parser.add_argument("--all", action="store_true", help="print the known differences too")
    parser.add_argument(
        "--show", choices=("real", "ours"), help="print one side's answers instead of differences"
    )
    parser.add_argument(
        "--summary",
        action="store_true",
        help="group the differences by their place, most common first",
    )
    parser.add_argument(
        "--recorded",
        type=Path,
        help="a file: take the real answers from there, or write them where it is absent",
    )
    arguments = parser.parse_args()
    chosen = [
        one
        for one in conversations()
        if not arguments.names or one.name.startswith(tuple(arguments.names))
    ]

    def played(side: str) -> Records:
        with ExitStack() as stack:
            server = kube_apiserver(assets.folder()) if side == "real" else towtank(assets.folder())
            player = Player(stack.enter_context(server))
            return {one.name: player.play(one) for one in chosen}

    if arguments.show:
        print_records(played(arguments.show))
        return 0
    if arguments.recorded and arguments.recorded.exists():
        real = msgspec.json.decode(arguments.recorded.read_bytes(), type=Records)
    else:
        real = played("real")
        if arguments.recorded:
            arguments.recorded.write_bytes(msgspec.json.encode(real))
    ours = played("ours")
    found = [
        difference
        for one in chosen
        for difference in differences(one, real[one.name], ours[one.name])
    ]
    found = found if arguments.all else unknown(found, known())
    return print_summary(found) if arguments.summary else print_differences(found)


def print_records(records: Records) -> None:
    """For people."""
    for name, steps in records.items():
        for step, record in steps.items():
            sys.stdout.write(
                f"{name}/{step}: {record.code} {record.content_type} "
                f"{' '.join(record.warnings)}\n  {record.body!r}\n"
            )


def print_differences(found: list[Difference]) -> int:
    """For people; returns the exit code."""
    sys.stdout.writelines(f"{difference}\n" for difference in found)
    return 1 if found else 0


def print_summary(found: list[Difference]) -> int:
    """For people; returns the exit code."""
    groups: dict[str, list[Difference]] = {}
    for difference in found:
        groups.setdefault(re.sub(r"\[\d+\]", "[]", difference.path), []).append(difference)
    for path, members in sorted(groups.items(), key=lambda group: -len(group[1])):
        sys.stdout.write(f"{len(members)} x {path}, such as {members[0]}\n")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
