"""`moorage install`, as it is typed."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from moorage.apps.commands.command_line import (
    CLUSTER_OPTIONS,
    end,
    option,
    seconds_of,
    with_parameters,
)

if TYPE_CHECKING:
    from moorage.apps.install.variants import Options


def _variants() -> list[str]:
    from moorage.apps import resources

    return [*resources.variants()]


def _components() -> list[str]:
    from moorage.apps import resources

    return [*resources.components()]


@with_parameters(
    option("--variant", str, "default", "Which way to run the operator.", autocompletion=_variants),
    option(
        "--component",
        list[str] | None,
        None,
        "What goes with it; may be given again.",
        autocompletion=_components,
    ),
    option("--namespace -n", str, "moorage-system", "Where the operator is to be."),
    option("--name", str, "moorage", "The installation's name, and its Lease's."),
    option("--image", str, "", "The image, as your registry has it."),
    option("--replicas", int | None, None, "How many; else as the variant says.", min=0),
    option("--controller-name", str, "", "Serve the profiles that name it; else moorage."),
    option("--lease-namespace", str, "", "Keep the Lease there, where others own the namespace."),
    option(
        "--shards",
        int | None,
        None,
        "So many installations side by side, each for its own profiles: NAME-0 and so on.",
        min=1,
        max=20,
    ),
    option("--dry-run", bool, False, "Print the objects for `kubectl apply -f -`; ask no cluster."),
    option("--skip-preflight", bool, False, "Do not look first whether it can work."),
    option("--force-conflicts", bool, False, "Take over the fields that others manage."),
    option("--timeout", str, "2m", "How long the operator may take to answer, as in 60s."),
    *CLUSTER_OPTIONS,
)
def install(**flags: Any) -> None:
    """Install the operator, or upgrade it."""
    end(lambda: _run(flags))


def _run(flags: Mapping[str, Any]) -> int:
    from moorage.apps.install import installing
    from moorage.apps.worlds.cluster_choice import ClusterChoice

    asked = installing.Asked(
        flags["variant"],
        tuple(flags["component"] or ()),
        _options(flags),
        seconds_of("--timeout", flags["timeout"], "60s") or 0.0,
        skip_preflight=flags["skip_preflight"],
        force_conflicts=flags["force_conflicts"],
    )
    if flags["dry_run"]:
        return installing.print_documents(asked)
    return installing.run(ClusterChoice(flags["kubeconfig"], flags["context"]), asked)


def _options(flags: Mapping[str, Any]) -> Options:
    from moorage.apps.install.variants import Options

    return Options(
        flags["namespace"],
        flags["name"],
        flags["image"],
        flags["replicas"],
        flags["controller_name"],
        flags["lease_namespace"],
        flags["shards"] or 0,
    )
