"""`moorage tune`, as it is typed."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from moorage.apps.commands.command_line import (
    CONFIG_OPTION,
    end,
    option,
    output_option,
    seconds_of,
    with_parameters,
)
from moorage.apps.commands.input_files import on_disk
from moorage.apps.exit_status import ExitStatus

_SEARCHED = "Share of the time to search; else 2/3. The rest judges."


@with_parameters(
    option("--profile", str, "", "The profile: its NAME, or NAME=FILE; else the only one."),
    option("--for", list[str] | None, None, "A measure to gain; the most important one first."),
    option("--not-worse", list[str] | None, None, "A measure that must not get worse."),
    option("--vary", list[str] | None, None, "A plugin whose weight may change, too."),
    option("--trials", int, 100, "How many profiles to try at most.", min=1, max=100_000),
    option("--timeout", str, "", "How long to search at most, as in 30m."),
    option("--seed", int, 0, "The same search for the same seed.", min=0, max=2**32 - 1),
    option("--searched", float | None, None, _SEARCHED, min=0.1, max=0.9),
    option(
        "--write",
        Path | None,
        None,
        "The file for the profile, - for stdout; else NAME-tuned.yaml.",
    ),
    CONFIG_OPTION,
    output_option(),
)
def tune(
    recording: Annotated[Path, typer.Argument(help="A recording; - is stdin.", callback=on_disk)],
    **flags: Any,
) -> None:
    """Search a recording for a profile that does better."""
    end(lambda: _tune(recording, flags))


def _tune(recording: Path, flags: dict[str, Any]) -> ExitStatus:
    from moorage.apps.plugin_resolver import resolver_of
    from moorage.apps.tune import tune as tuning
    from moorage.apps.tune.searching import SearchLimits

    seconds = seconds_of("--timeout", flags["timeout"], "30m")
    options = tuning.TuneOptions(
        recording=recording,
        resolver=resolver_of(flags["config"]),
        profile=flags["profile"],
        gains=tuple(flags["for_"] or ()),
        guards=tuple(flags["not_worse"] or ()),
        varied=tuple(flags["vary"] or ()),
        share=flags["searched"] or 2 / 3,
        limits=SearchLimits(flags["trials"], seconds, flags["seed"]),
        file=flags["write"],
        form=flags["output"],
    )
    return tuning.run(options)
