"""`moorage snapshot`, `record` and `replay`, as they are typed."""

from __future__ import annotations

import inspect
import sys
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, TextIO

import typer

from moorage.apps.commands.command_line import (
    CLUSTER_OPTIONS,
    CONFIG_OPTION,
    end,
    option,
    output_option,
    seconds_of,
    with_parameters,
)
from moorage.apps.commands.input_files import on_disk
from moorage.apps.commands.output_files import told_beside
from moorage.apps.exit_status import ExitStatus
from moorage.apps.worlds.cluster_choice import ClusterChoice

if TYPE_CHECKING:
    from rich.console import RenderableType

    from moorage.api.resolution import Resolver

_NEW_FILE = "The file, which must not be there; - is stdout."
_RECORDED = "A recording, or an operator's folder of them; - is stdin."


@with_parameters(
    option("--output -o", Path | None, None, f"{_NEW_FILE} Else one that is named by the time."),
    *CLUSTER_OPTIONS,
    CONFIG_OPTION,
)
def snapshot(**flags: Any) -> None:
    """Write what the API server says now into a file."""
    end(lambda: _snapshot(flags))


@with_parameters(
    option("--output -o", Path, inspect.Parameter.empty, _NEW_FILE),
    option("--for", str, "", "How long, as in 1h; else until Ctrl-C."),
    *CLUSTER_OPTIONS,
    CONFIG_OPTION,
)
def record(**flags: Any) -> None:
    """Record a cluster from outside, by reading alone."""
    end(lambda: _record(flags))


@with_parameters(
    option("--verify", bool, False, "Make every decision of ours again."),
    option("--processes", int | None, None, "How many verify; else one a processor.", min=1),
    option("--keep-going", bool, False, "List all decisions that differ, not only the first."),
    option("--others", bool, False, "Say why nodes that others chose are not among our best."),
    option("--at", str, "", "Show the cluster as it was then, as in 14:32:08."),
    option("--all", bool, False, "Shorten no list."),
    CONFIG_OPTION,
    output_option(),
)
def replay(
    file: Annotated[Path, typer.Argument(help=_RECORDED, callback=on_disk)],
    **flags: Any,
) -> None:
    """Look into a recording, and make its decisions again."""
    end(lambda: _moment(file, flags) if flags["at"] else _replay(file, flags))


# ---- what they do --------------------------------------------------------------------------------


def _snapshot(flags: Mapping[str, Any]) -> ExitStatus:
    from moorage.apps.printing.progress_line import working
    from moorage.apps.printing.terminal import sentence
    from moorage.apps.recordings import snapshots

    resolver = _resolver(flags)
    with working("Reading the cluster") as line:
        lines = snapshots.snapshot(_choice(flags), flags["output"], resolver, line.say)
    _print(map(sentence, lines), told_beside(flags["output"]))
    return ExitStatus.YES


def _record(flags: Mapping[str, Any]) -> ExitStatus:
    from moorage.apps.recordings import observer
    from moorage.apps.recordings.observer_view import TerminalRecordingView

    seconds = seconds_of("--for", flags["for_"], "1h")
    view = TerminalRecordingView(seconds, told_beside(flags["output"]), sys.stderr)
    observer.record(_choice(flags), flags["output"], seconds, _resolver(flags), view)
    return ExitStatus.YES


def _moment(file: Path, flags: Mapping[str, Any]) -> ExitStatus:
    from moorage.apps.printing.documents import document, is_for_people
    from moorage.apps.recordings import verification_view
    from moorage.apps.worlds.opening import open_world

    form = flags["output"]
    world = open_world([file], _resolver(flags), at=flags["at"])
    if not is_for_people(form):
        sys.stdout.write(document("Moment", verification_view.moment_document(world), form))
    else:
        _print(verification_view.at_moment(world))
    return ExitStatus.YES


def _replay(file: Path, flags: Mapping[str, Any]) -> ExitStatus:
    from moorage.apps.plugin_resolver import resolver_maker
    from moorage.apps.printing.documents import document, is_for_people
    from moorage.apps.printing.progress_line import working
    from moorage.apps.recordings import stretches, verification, verification_view

    form = flags["output"]
    everything = flags["all"] or form == "wide"
    options = stretches.ReplayOptions(flags["verify"], flags["keep_going"], flags["others"])
    with working(f"Replaying {file}") as line:
        found = verification.replay(
            file, resolver_maker(flags["config"]), options, line.tell, flags["processes"]
        )
    if not is_for_people(form):
        body = verification_view.replay_document(found, file, options)
        sys.stdout.write(document("Replay", body, form))
    elif options.others:
        _print(verification_view.others(found, everything))
    elif options.verify:
        _print(verification_view.verification(found, everything))
    else:
        _print(verification_view.contents(found, file))
    return verification_view.exit_status_of(found, options)


# ---- what was typed ------------------------------------------------------------------------------


def _resolver(flags: Mapping[str, Any]) -> Resolver:
    from moorage.apps.plugin_resolver import resolver_of

    return resolver_of(flags["config"])


def _choice(flags: Mapping[str, Any]) -> ClusterChoice:
    return ClusterChoice(flags["kubeconfig"], flags["context"])


def _print(parts: Iterable[RenderableType], out: TextIO | None = None) -> None:
    from moorage.apps.printing.terminal import open_console, write

    write(open_console(sys.stdout if out is None else out), *parts)
