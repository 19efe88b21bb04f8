"""Accept headers: in which form a client wants its answer."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from typing import Final

from moorage.devcluster.bodies import JSON, SERVED, YAML
from moorage.devcluster.problems import not_acceptable

_META: Final = "meta.k8s.io"
_ANYTHING: Final = ("*/*", "application/*", JSON)


@dataclasses.dataclass(frozen=True, slots=True)
class Wanted:
    """JSON or YAML, of objects as they are, of a Table, or of metadata alone."""

    yaml: bool = False
    table: bool = False
    metadata_only: bool = False


def wanted(accept: str, *, collection: bool) -> Wanted:
    """The first that is served. Raises Problem 406."""
    if not accept.strip():
        return Wanted()
    for media, parameters in _clauses(accept):
        if media not in _ANYTHING and media != YAML:
            continue
        form = parameters.get("as", "")
        if not form:
            return Wanted(yaml=media == YAML)
        if parameters.get("g") != _META or parameters.get("v") != "v1":
            continue
        if form == "Table":
            return Wanted(yaml=media == YAML, table=True)
        if form == ("PartialObjectMetadataList" if collection else "PartialObjectMetadata"):
            return Wanted(yaml=media == YAML, metadata_only=True)
    raise not_acceptable(SERVED)


def discovery_version(accept: str) -> str:
    """``v2`` or ``v2beta1`` where a client asks for aggregated discovery, else ""."""
    for media, parameters in _clauses(accept):
        if parameters.get("g") == "apidiscovery.k8s.io" and parameters.get("as") == "APIGroupDiscoveryList":
            if media == JSON and parameters.get("v") in ("v2", "v2beta1"):
                return parameters["v"]
        elif media in _ANYTHING:
            return ""
    return ""


def _clauses(accept: str) -> Sequence[tuple[str, dict[str, str]]]:
    """By preference: the quality, then the order."""
    clauses = []
    for text in accept.split(","):
        media, *said = (part.strip() for part in text.split(";"))
        parameters = {name.strip().lower(): value.strip() for name, _, value in (one.partition("=") for one in said)}
        clauses.append((media.lower(), parameters))
    return sorted(clauses, key=lambda clause: -_quality(clause[1].get("q", "1")))


def _quality(text: str) -> float:
    try:
        return min(max(float(text), 0.0), 1.0)
    except ValueError:
        return 1.0
