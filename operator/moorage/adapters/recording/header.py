"""The header of a recording: where it is from, and what a replay has to know of that."""

from __future__ import annotations

from typing import Annotated, Final

import msgspec

import moorage

RULES: Final = "kube-scheduler"
"""Among versions: the release whose rules decided; 1.36 where it is missing."""
OWN_VERSIONS: Final = {"moorage": moorage.__version__, RULES: moorage.FOLLOWED}
"""Of what records now."""
SEEDS: Final = 2**64
"""How many seeds there are: 0 to one less."""


class RecordingHeader(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """Where a recording is from."""

    versions: dict[str, str] = {}
    """Of Moorage, Kubernetes and the packages of plugins, by name; and whose rules decided."""
    seed: int = 0
    """Of the tie-break."""
    percentage_of_nodes_to_score: Annotated[int, msgspec.Meta(ge=0, le=100)] = 100
    """The operator's, for profiles that don't say."""
    replica: str = ""
    """The identity of the process that recorded."""
    not_listed: tuple[str, ...] = ()
    """Resources that are left out, as they could not be listed."""
    begin: float = 0.0
    """Seconds since 1970."""
    follows: float = 0.0
    """The begin of the file before, where nothing is missing between its end and this one's begin;
    else 0.
    """

    def __post_init__(self) -> None:
        """What is read may say anything. Raises ValueError."""
        if not 0 <= self.seed < SEEDS:
            raise ValueError(f"the seed {self.seed} is none")
