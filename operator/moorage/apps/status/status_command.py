"""`moorage status`, as it is typed."""

from __future__ import annotations

from typing import Any

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
def status(**flags: Any) -> None:
    """Say whether all is well: profiles, replicas, problems."""
    from moorage.apps.status import status_answers
    from moorage.apps.worlds.cluster_choice import ClusterChoice

    cluster = ClusterChoice(flags["kubeconfig"], flags["context"])
    options = status_answers.StatusOptions(
        cluster, operator_choice(flags), flags["output"], flags["watch"]
    )
    end(lambda: status_answers.run(options))
