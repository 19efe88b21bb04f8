"""`moorage ui`, as it is typed."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from moorage.apps.commands.command_line import (
    CLUSTER_OPTIONS,
    CONFIG_OPTION,
    end,
    option,
    with_parameters,
)
from moorage.apps.commands.input_files import on_disk


@with_parameters(
    option(
        "--recording",
        Path | None,
        None,
        "A recording to look at instead of a cluster.",
        callback=on_disk,
    ),
    option(
        "--profile",
        list[str] | None,
        None,
        "FILE or NAME=FILE: another world of the recording, under this profile.",
    ),
    option("--port", int, 0, "The page's port; 0 takes a free one.", min=0, max=65535),
    option("--no-browser", bool, False, "Open no browser; the address is printed."),
    CONFIG_OPTION,
    *CLUSTER_OPTIONS,
)
def ui(**flags: Any) -> None:
    """Show a cluster or a recording as a web page on this machine. Ctrl-C ends it."""
    from moorage.apps.ui import showing as page
    from moorage.apps.worlds.cluster_choice import ClusterChoice

    options = page.UiOptions(
        cluster=ClusterChoice(flags["kubeconfig"], flags["context"]),
        recording=flags["recording"],
        candidates=tuple(flags["profile"] or ()),
        config=flags["config"],
        port=flags["port"],
        browser=not flags["no_browser"],
    )
    end(lambda: page.run(options))
