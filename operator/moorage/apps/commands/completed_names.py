"""Parameters that are names: what completes them, without loading what asks the cluster."""

from __future__ import annotations

from collections.abc import Callable

import typer


def names_of(kind: str) -> Callable[[typer.Context, str], list[str]]:
    """What completes a parameter: "profiles", "revisions" (and profiles), "ownRevisions" (of
    the profile that was named), "pods", "namespaces" or "nodes".
    """

    def complete(ctx: typer.Context, incomplete: str) -> list[str]:
        from moorage.apps.commands.known_names import known

        return known(kind, ctx.params, incomplete)

    return complete
