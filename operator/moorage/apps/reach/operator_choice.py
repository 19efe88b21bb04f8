"""Which operator a command was told to ask."""

from __future__ import annotations

import dataclasses
from typing import Final

NOBODY: Final = "none"


@dataclasses.dataclass(frozen=True, slots=True)
class OperatorChoice:
    """The operator at ``server``: "" for the leader, wherever it is found, NOBODY for none at all.

    ``authority``: a file of certificates by which ``server`` is known, "" for those of the
    kubeconfig. ``insecure``: any certificate will do there.
    """

    server: str = ""
    authority: str = ""
    insecure: bool = False
