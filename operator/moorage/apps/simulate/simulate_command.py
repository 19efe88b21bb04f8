"""`moorage simulate`, as it is typed."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

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
from moorage.apps.commands.completed_names import names_of
from moorage.apps.commands.input_files import recordings_on_disk


@with_parameters(
    option("--profile", list[str] | None, None, "FILE or NAME=FILE: a candidate beside what is."),
    option(
        "--drain",
        list[str] | None,
        None,
        "A node to drain; several one after another.",
        autocompletion=names_of("nodes"),
    ),
    option("--each-node-drained", bool, False, "Drain each node alone."),
    option("--add-nodes", int, 0, "So many nodes more, like the one of --like.", min=0),
    option("--like", str, "", "The node that they are like.", autocompletion=names_of("nodes")),
    option("--pods", list[Path] | None, None, "YAML files of pods or workloads that come."),
    option("--at", str | None, None, "A moment of the recording, as in 14:32:08."),
    option("--timeout", str, "10m", "How long to have a recorded time again; twice at least."),
    option("--report", Path | None, None, "Write a page of HTML there, too; - is stdout."),
    output_option(),
    CONFIG_OPTION,
    *CLUSTER_OPTIONS,
)
def simulate(
    files: Annotated[
        list[Path] | None,
        typer.Argument(
            help="A snapshot, a recording or YAML files; - is stdin; else the cluster.",
            callback=recordings_on_disk,
        ),
    ] = None,
    **flags: Any,
) -> None:
    """Say what other nodes, pods or profiles would do."""
    end(lambda: _simulate(files or [], flags))


def _simulate(files: list[Path], flags: dict[str, Any]) -> int:
    from moorage.apps.simulate import simulate as simulating
    from moorage.apps.worlds.cluster_choice import ClusterChoice

    options = simulating.SimulateOptions(
        world=tuple(files),
        candidates=tuple(flags["profile"] or ()),
        drains=tuple(flags["drain"] or ()),
        each_node_drained=flags["each_node_drained"],
        more_nodes=flags["add_nodes"],
        like=flags["like"],
        pods=tuple(flags["pods"] or ()),
        at=flags["at"],
        seconds=seconds_of("--timeout", flags["timeout"], "10m"),
        report=flags["report"],
        cluster=ClusterChoice(flags["kubeconfig"], flags["context"]),
        form=flags["output"],
        config=flags["config"],
    )
    return simulating.run(options)
