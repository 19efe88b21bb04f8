"""`moorage completion`, as it is typed."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Annotated, Any

import typer

from moorage.apps.commands.command_line import fail, option, with_parameters

_SHELLS = ("bash", "zsh", "fish")


@with_parameters(option("--install", bool, False, "Put it where the shell looks."))
def completion(
    shell: Annotated[
        str,
        typer.Argument(
            help="bash, zsh or fish; else that of SHELL.", autocompletion=lambda: list(_SHELLS)
        ),
    ] = "",
    **flags: Any,
) -> None:
    """Print what a shell completes with, or install it."""
    from moorage.apps.commands import shells

    wanted = shell or Path(os.environ.get("SHELL", "")).name
    if wanted not in shells.SCRIPTS:
        fail(f"completion: {wanted or 'no shell'}: name one of {', '.join(shells.SCRIPTS)}")
    if not flags["install"]:
        print(shells.SCRIPTS[wanted], end="")
        return
    try:
        lines = shells.install(wanted, Path.home(), os.environ)
    except OSError as error:
        fail(f"completion --install: {error.filename}: {error.strerror}")
    for line in lines:
        print(line)
