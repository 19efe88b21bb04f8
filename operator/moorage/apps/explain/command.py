"""`moorage explain`, as it is typed."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from moorage.apps.commands.command_line import (
    CLUSTER_OPTIONS,
    CONFIG_OPTION,
    OPERATOR_OPTIONS,
    end,
    fail,
    operator_choice,
    option,
    output_option,
    with_parameters,
)
from moorage.apps.commands.completed_names import names_of
from moorage.apps.commands.input_files import on_disk

_PODS, _GROUPS = ("pod", "pods", "po"), ("podgroup", "podgroups", "pg")


@with_parameters(
    option(
        "--namespace -n",
        str,
        "default",
        "Where the pod is, unless its name says it.",
        autocompletion=names_of("namespaces"),
    ),
    option("--profile", Path | None, None, "YAML file with a profile to try in its place."),
    option("--file -f", list[Path] | None, None, "YAML files or folders to look at instead."),
    option(
        "--recording",
        Path | None,
        None,
        "A recording or snapshot to look at instead.",
        callback=on_disk,
    ),
    option("--at", str | None, None, "The moment of the recording, as in 14:32:08."),
    option("--nodes", str, "", "all: name every node."),
    option("--changes", str, "", "all: show every change that would help."),
    option("--absolute", bool, False, "Show every score in full, and no differences."),
    output_option(),
    CONFIG_OPTION,
    *OPERATOR_OPTIONS,
    *CLUSTER_OPTIONS,
)
def explain(
    kind: Annotated[
        str, typer.Argument(help="pod or podgroup.", autocompletion=lambda: ["pod", "podgroup"])
    ],
    name: Annotated[
        str, typer.Argument(help="NAMESPACE/NAME.", autocompletion=names_of("pods"))
    ] = "",
    **flags: Any,
) -> None:
    """Say why a pod or pod group waits, and what would help."""
    if not name:  # as kubectl takes it, too: pod/NAME
        kind, _, name = kind.partition("/")
    if kind not in (*_PODS, *_GROUPS) or not name:
        what = "podgroup" if kind in _GROUPS else "pod"
        fail(f"explain {kind}: one pod or podgroup can be explained: explain {what} NAMESPACE/NAME")
    from moorage.apps.explain import explain as explaining
    from moorage.apps.worlds.cluster_choice import ClusterChoice

    cluster = ClusterChoice(flags["kubeconfig"], flags["context"])
    wide = "all" if flags["output"] == "wide" else ""
    options = explaining.ExplainOptions(
        group=kind in _GROUPS,
        name=name if "/" in name else f"{flags['namespace']}/{name}",
        cluster=cluster,
        operator=operator_choice(flags),
        profile=flags["profile"],
        files=tuple(filter(None, (*(flags["file"] or ()), flags["recording"]))),
        at=flags["at"],
        form=flags["output"],
        config=flags["config"],
        all_nodes="all" in (flags["nodes"], wide),
        all_changes="all" in (flags["changes"], wide),
        absolute=flags["absolute"],
    )
    end(lambda: explaining.run(options))
