"""Which cluster a command was told to look at."""

from __future__ import annotations

import dataclasses


@dataclasses.dataclass(frozen=True, slots=True)
class ClusterChoice:
    """A kubeconfig file and one of its contexts, "" for the usual ones."""

    kubeconfig: str = ""
    context: str = ""
