"""`moorage admission-ca`, as it is typed."""

from __future__ import annotations

from typing import Any

from moorage.apps.commands.command_line import CLUSTER_OPTIONS, end, option, with_parameters


@with_parameters(
    option("--namespace -n", str, "moorage-system", "Where the operator is."),
    option("--name", str, "moorage", "The installation's name."),
    option("--renew", bool, False, "Make another authority though there is a good one."),
    option("--dry-run", bool, False, "Only say what would be written."),
    *CLUSTER_OPTIONS,
)
def admission_ca(**flags: Any) -> None:
    """Have API servers believe the operator's admission webhook."""
    from moorage.apps.authority import authority_setting
    from moorage.apps.worlds.cluster_choice import ClusterChoice

    place = authority_setting.Installed(flags["namespace"], flags["name"])
    cluster = ClusterChoice(flags["kubeconfig"], flags["context"])
    steps = authority_setting.Steps(renew=flags["renew"], dry_run=flags["dry_run"])
    end(lambda: authority_setting.run(cluster, place, steps))
