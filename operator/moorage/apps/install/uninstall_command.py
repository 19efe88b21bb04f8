"""`moorage uninstall`, as it is typed."""

from __future__ import annotations

from typing import Any

from moorage.apps.commands.command_line import (
    CLUSTER_OPTIONS,
    end,
    option,
    seconds_of,
    with_parameters,
)


@with_parameters(
    option("--namespace -n", str, "moorage-system", "Where the operator is."),
    option("--name", str, "moorage", "The installation's name, its shards included, or a shard's."),
    option("--keep-profiles", bool, False, "Leave CRDs, and with them profiles and PluginConfigs."),
    option("--yes", bool, False, "Do not ask."),
    option("--dry-run", bool, False, "Only say what would go."),
    option("--timeout", str, "2m", "How long each step may take, as in 60s."),
    *CLUSTER_OPTIONS,
)
def uninstall(**flags: Any) -> None:
    """Remove the operator, its kinds and all profiles."""

    def run() -> int:
        from moorage.apps.authority.authority_setting import Installed
        from moorage.apps.install import uninstalling
        from moorage.apps.worlds.cluster_choice import ClusterChoice

        asked = uninstalling.Leaving(
            Installed(flags["namespace"], flags["name"]),
            seconds_of("--timeout", flags["timeout"], "60s") or 0.0,
            yes=flags["yes"],
            dry_run=flags["dry_run"],
            keep_profiles=flags["keep_profiles"],
        )
        return uninstalling.run(ClusterChoice(flags["kubeconfig"], flags["context"]), asked)

    end(run)
