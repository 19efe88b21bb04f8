"""`moorage trial`, as it is typed."""

from __future__ import annotations

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


@with_parameters(
    option(
        "--pods", bool, False, "List the pods that regressed, and the last that would be elsewhere."
    ),
    option("--stop", bool, False, "End the trial; the former revision goes on deciding."),
    output_option(),
    *CLUSTER_OPTIONS,
)
def trial(
    name: Annotated[
        str, typer.Argument(help="A SchedulerProfile.", autocompletion=names_of("profiles"))
    ],
    **flags: Any,
) -> None:
    """Say how the trial of a new revision stands, or stop it."""
    from moorage.apps.trial import trial_answers
    from moorage.apps.worlds.cluster_choice import ClusterChoice

    cluster = ClusterChoice(flags["kubeconfig"], flags["context"])
    options = trial_answers.TrialOptions(
        name, cluster, flags["output"], flags["pods"] or flags["output"] == "wide", flags["stop"]
    )
    end(lambda: trial_answers.run(options))
