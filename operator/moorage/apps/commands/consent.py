"""Whether somebody wants what a command is about to do."""

from __future__ import annotations

import sys

from moorage.apps.exit_status import WrongUse


def confirmed(command: str) -> bool:
    """Ask at the terminal. Raises WrongUse where nobody can be asked."""
    if not sys.stdin.isatty():
        text = f"{command}: nobody can be asked here: --yes goes on, --dry-run only looks"
        raise WrongUse(text)
    print("Go on? [y/N] ", end="", file=sys.stderr, flush=True)
    return sys.stdin.readline().strip().lower() in ("y", "yes")
