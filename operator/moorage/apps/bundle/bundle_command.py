"""`moorage bundle`, as it is typed."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from moorage.apps.commands.command_line import (
    CLUSTER_OPTIONS,
    OPERATOR_OPTIONS,
    end,
    operator_choice,
    option,
    with_parameters,
)


@with_parameters(
    option("--output -o", Path | None, None, "The file, - for stdout; else one named by the time."),
    option("--hash-names", bool, False, "Hashes for the names of nodes, namespaces and pods."),
    *OPERATOR_OPTIONS,
    *CLUSTER_OPTIONS,
)
def bundle(**flags: Any) -> None:
    """Write an archive for a report of a bug, without secrets."""
    from moorage.apps.bundle import bundling
    from moorage.apps.worlds.cluster_choice import ClusterChoice

    cluster = ClusterChoice(flags["kubeconfig"], flags["context"])
    options = bundling.BundleOptions(
        cluster, operator_choice(flags), flags["output"], flags["hash_names"]
    )
    end(lambda: bundling.run(options))
