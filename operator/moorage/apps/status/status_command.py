"""`moorage status`, as it is typed."""

from __future__ import annotations

from typing import Any

from moorage.apps.commands.command_line import end, with_parameters
from moorage.apps.commands.looking_options import LOOKING_OPTIONS, looking_options


@with_parameters(*LOOKING_OPTIONS)
def status(**flags: Any) -> None:
    """Say whether all is well: profiles, replicas, problems."""
    from moorage.apps.status import status_answers

    end(lambda: status_answers.run(looking_options(flags)))
