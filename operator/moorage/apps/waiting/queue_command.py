"""`moorage queue`, as it is typed."""

from __future__ import annotations

from typing import Annotated, Any

import typer

from moorage.apps.commands.command_line import end, with_parameters
from moorage.apps.commands.completed_names import names_of
from moorage.apps.commands.looking_options import LOOKING_OPTIONS, looking_options


@with_parameters(*LOOKING_OPTIONS)
def queue(
    profile: Annotated[
        str,
        typer.Argument(
            help="A SchedulerProfile; else all of them.", autocompletion=names_of("profiles")
        ),
    ] = "",
    **flags: Any,
) -> None:
    """Say who waits for a node, in which order, and for what."""
    from moorage.apps.waiting import queue_answers

    end(lambda: queue_answers.run(looking_options(flags), profile))
