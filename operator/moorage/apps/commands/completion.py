"""Completion: what could come next on the command line, as a shell or kubectl asks for it.

One protocol for all, that of kubectl's own completion (cobra's): the words so far as arguments, the
last of them unfinished; the answer is a candidate a line, after a tab what it means, and at the end
what the shell is to do besides. Shells run ``moorage __complete``, kubectl runs
``kubectl_complete-moorage``.
"""

from __future__ import annotations

import contextlib
import io
import sys
from collections.abc import Sequence
from typing import Any, Final

import typer
from typer._click.shell_completion import (
    CompletionItem,
    ShellComplete,
    _resolve_context,
    _resolve_incomplete,
)

NO_SPACE, NO_FILES, OF_FILES = 2, 4, 0
"""Directives: the word goes on; files would mean nothing here; files of this name would."""
PREFIXES: Final = ("/", "@")
"""Candidates that end so are followed by more."""


def answer(app: typer.Typer, words: Sequence[str]) -> None:
    """Print what could stand for the last of the words. Nothing that goes wrong is told: it would
    stand in the line that somebody types.
    """
    found: Sequence[CompletionItem] = ()
    # Faults too: a traceback would stand in that line, and whoever types can do nothing about it.
    with (
        contextlib.redirect_stderr(io.StringIO()),
        contextlib.suppress(SystemExit, Exception),
    ):
        found = _candidates(app, words)
    for item in found:
        print("\t".join(filter(None, (item.value, item.help))))
    print(f":{_directive([item.value for item in found])}")
    sys.stdout.flush()


def _candidates(app: typer.Typer, words: Sequence[str]) -> Sequence[CompletionItem]:
    completed = _Completion(typer.main.get_command(app), {}, "moorage", "")
    *before, last = words or [""]
    return completed.get_completions(list(before), last)


def _directive(found: Sequence[str]) -> int:
    if not found:
        return OF_FILES
    return NO_FILES + (NO_SPACE if all(name.endswith(PREFIXES) for name in found) else 0)


class _Completion(ShellComplete):
    """Typer's own way through commands and options; the rest of it is that of single shells."""

    name = "cobra"
    source_template = ""

    def source_vars(self) -> dict[str, Any]:
        return {}

    def get_completions(self, args: list[str], incomplete: str) -> list[CompletionItem]:
        """Without an option that waits for its value nothing is wrong with the words so far, so
        that what they name is known.
        """
        whole = args[:-1] if args and args[-1].startswith("-") else args
        context = _resolve_context(self.cli, self.ctx_args, self.prog_name, whole)
        wanted, incomplete = _resolve_incomplete(context, args, incomplete)
        return wanted.shell_complete(context, incomplete)

    def get_completion_args(self) -> tuple[list[str], str]:
        return [], ""

    def format_completion(self, item: CompletionItem) -> str:
        return str(item.value)
