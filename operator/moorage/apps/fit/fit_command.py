"""`moorage fit`, as it is typed."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from moorage.apps.commands.command_line import (
    CLUSTER_OPTIONS,
    CONFIG_OPTION,
    end,
    fail,
    option,
    output_option,
    with_parameters,
)
from moorage.apps.commands.input_files import recordings_on_disk


@with_parameters(
    option(
        "--file -f",
        list[Path] | None,
        None,
        "YAML files of pods, workloads and groups; - is stdin.",
    ),
    option("--replicas", int | None, None, "So many pods; else as many as the file says.", min=1),
    option("--empty-queue", bool, False, "As if no pods waited already."),
    option(
        "--from",
        list[Path] | None,
        None,
        "A snapshot, a recording or YAML files, not the cluster.",
        callback=recordings_on_disk,
    ),
    option("--at", str | None, None, "A moment of the recording, as in 14:32:08."),
    output_option(),
    CONFIG_OPTION,
    *CLUSTER_OPTIONS,
)
def fit(**flags: Any) -> None:
    """Say how many pods would fit, and what runs out."""
    if not flags["file"]:
        fail("fit: name a file with -f, - for stdin")
    from moorage.apps.fit import workload_fits
    from moorage.apps.worlds.cluster_choice import ClusterChoice

    options = workload_fits.FitOptions(
        files=tuple(flags["file"]),
        replicas=flags["replicas"],
        empty_queue=flags["empty_queue"],
        world=tuple(flags["from_"] or ()),
        at=flags["at"],
        cluster=ClusterChoice(flags["kubeconfig"], flags["context"]),
        form=flags["output"],
        config=flags["config"],
    )
    end(lambda: workload_fits.run(options))
