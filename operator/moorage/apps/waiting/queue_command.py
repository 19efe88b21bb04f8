"""`moorage queue`, as it is typed."""

from __future__ import annotations

from typing import Annotated, Any

import typer

from moorage.apps.commands.command_line import (
    CLUSTER_OPTIONS,
    OPERATOR_OPTIONS,
    WATCH_OPTION,
    end,
    operator_choice,
    output_option,
    with_parameters,
)


@with_parameters(output_option(), WATCH_OPTION, *OPERATOR_OPTIONS, *CLUSTER_OPTIONS)
def queue(
    profile: Annotated[str, typer.Argument(help="A SchedulerProfile; else all of them.")] = "",
    **flags: Any,
) -> None:
    """Say who waits for a node, in which order, and for what."""
    from moorage.apps.waiting import queue_answers
    from moorage.apps.worlds.cluster_choice import ClusterChoice

    cluster = ClusterChoice(flags["kubeconfig"], flags["context"])
    choice = operator_choice(flags)
    options = queue_answers.QueueOptions(cluster, choice, profile, flags["output"], flags["watch"])
    end(lambda: queue_answers.run(options))
