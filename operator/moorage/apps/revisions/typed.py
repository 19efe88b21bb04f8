"""`moorage history`, `moorage diff` and `moorage rollback`, as they are typed."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from moorage.apps.commands.command_line import (
    CLUSTER_OPTIONS,
    end,
    option,
    output_option,
    with_parameters,
)
from moorage.apps.commands.completed_names import names_of

_CONFIG = option(
    "--config", Path | None, None, "The operator's OperatorConfiguration: its plugins, its values."
)
_FORMAT = output_option()
_Profile = Annotated[
    str,
    typer.Argument(metavar="NAME", help="A SchedulerProfile.", autocompletion=names_of("profiles")),
]
_Sides = Annotated[
    list[str],
    typer.Argument(
        metavar="A B",
        help="Profiles, revisions (PROFILE@REVISION), or files.",
        autocompletion=names_of("revisions"),
    ),
]


@with_parameters(*CLUSTER_OPTIONS, _CONFIG, _FORMAT)
def history(name: _Profile, **flags: Any) -> None:
    """Print which revisions decided for a profile, and when."""
    from moorage.apps.revisions import running

    end(lambda: running.history(name, flags))


@with_parameters(
    option("--spec", bool, False, "Compare what decides for one profile with its spec."),
    option("--yaml", bool, False, "Print a unified diff of the specs."),
    *CLUSTER_OPTIONS,
    _CONFIG,
    _FORMAT,
)
def diff(names: _Sides, **flags: Any) -> None:
    """Print what two profiles or revisions differ in."""
    from moorage.apps.revisions import running

    end(lambda: running.diff(names, flags))


@with_parameters(
    option(
        "--to",
        str,
        "",
        "A revision that history shows; else the last one that decided.",
        autocompletion=names_of("ownRevisions"),
    ),
    option("--pause", bool, False, "Write no spec, and hold the revision that decides."),
    option("--yes", bool, False, "Do not ask."),
    option("--dry-run", bool, False, "Only say what would be written."),
    *CLUSTER_OPTIONS,
    _FORMAT,
)
def rollback(name: _Profile, **flags: Any) -> None:
    """Write an older revision of a profile back."""
    from moorage.apps.revisions import running

    end(lambda: running.rollback(name, flags))
