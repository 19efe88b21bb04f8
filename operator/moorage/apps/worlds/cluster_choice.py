"""Which cluster a command was told to look at."""

from __future__ import annotations

import dataclasses
import os
from pathlib import Path


@dataclasses.dataclass(frozen=True, slots=True)
class ClusterChoice:
    """A kubeconfig file and one of its contexts, "" for the usual ones."""

    kubeconfig: str = ""
    context: str = ""

    def files(self) -> list[Path]:
        """As kubectl chooses: the file named, those of KUBECONFIG, ~/.kube/config where that is
        there.
        """
        if self.kubeconfig:
            return [Path(self.kubeconfig)]
        if named := os.environ.get("KUBECONFIG", ""):
            return [Path(file) for file in named.split(os.pathsep) if file]
        usual = Path.home() / ".kube" / "config"
        return [usual] if usual.is_file() else []
