"""The header of a recording: where it is from, and what a replay has to know of that."""

from __future__ import annotations

import msgspec


class RecordingHeader(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """Where a recording is from."""

    versions: dict[str, str] = {}
    """Of Moorage, Kubernetes and the packages of plugins, by name."""
    seed: int = 0
    """Of the tie-break."""
    percentage_of_nodes_to_score: int = 100
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
