"""Accept headers: in which form a client wants its answer."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping, Sequence
from typing import Final

from towtank.model.api_errors import not_acceptable, not_negotiable, wrong_form
from towtank.model.kinds import APIResource
from towtank.wire import protobuf
from towtank.wire.bodies import JSON, SERVED, YAML

_META: Final = "meta.k8s.io"
_VERSIONS: Final = ("v1", "v1beta1")
_ONE: Final = "PartialObjectMetadata"
_MANY: Final = "PartialObjectMetadataList"
_ANYTHING: Final = ("*/*", "application/*", JSON)
_WATCHED: Final = tuple(f"{media};stream=watch" for media in (JSON, protobuf.MEDIA_TYPE))


@dataclasses.dataclass(frozen=True, slots=True)
class AcceptedForm:
    """JSON or YAML, of objects as they are, of a Table, or of metadata alone."""

    yaml: bool = False
    table: bool = False
    metadata_only: bool = False
    version: str = "v1"
    """Of meta.k8s.io: that of a Table, or of metadata alone."""

    @property
    def whole(self) -> bool:
        """Whether it is of objects as they are."""
        return not self.table and not self.metadata_only

    @property
    def meta(self) -> str:
        """The apiVersion of a Table, or of metadata alone."""
        return f"{_META}/{self.version}"


def accepted_form(
    accept: str, resource: APIResource, *, collection: bool = False, watched: bool = False
) -> AcceptedForm:
    """The first that is served. Raises ApiError 406."""
    if not accept.strip():
        return AcceptedForm()
    clauses = _clauses(accept)
    if not any(media == "*/*" or media in SERVED for media, _ in clauses):
        raise not_negotiable([*SERVED, *(_WATCHED if collection or watched else ())])
    written = _ANYTHING if watched else (*_ANYTHING, YAML)
    for media, parameters in clauses:
        if media in written and (form := _form(parameters, yaml=media == YAML)):
            said, wrong = parameters.get("as"), _ONE if collection else _MANY
            if said == wrong:
                kind = resource.list_kind if collection else resource.kind
                raise wrong_form(wrong, kind, resource.group)
            return form
    raise not_acceptable(_WATCHED if watched else SERVED)


def _form(parameters: Mapping[str, str], *, yaml: bool) -> AcceptedForm | None:
    """What a clause asks for; None for a form that there is not."""
    form, version = parameters.get("as", ""), parameters.get("v", "")
    if not form:
        return AcceptedForm(yaml)
    if parameters.get("g") != _META or version not in _VERSIONS:
        return None
    if form == "Table":
        return AcceptedForm(yaml, table=True, version=version)
    metadata_only = form in (_ONE, _MANY)
    return AcceptedForm(yaml, metadata_only=True, version=version) if metadata_only else None


def yaml_first(accept: str) -> bool:
    """Whether a refusal is to be in YAML; who accepts nothing that is served gets JSON."""
    return next(
        (media == YAML for media, _ in _clauses(accept) if media in _ANYTHING or media == YAML),
        False,
    )


def discovery_version(accept: str) -> str:
    """``v2`` or ``v2beta1`` where a client asks for aggregated discovery, else ""."""
    for media, parameters in _clauses(accept):
        if (
            parameters.get("g") == "apidiscovery.k8s.io"
            and parameters.get("as") == "APIGroupDiscoveryList"
        ):
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
        parameters = {
            name.strip().lower(): value.strip()
            for name, _, value in (one.partition("=") for one in said)
        }
        clauses.append((media.lower(), parameters))
    return sorted(clauses, key=lambda clause: -_quality(clause[1].get("q", "1")))


def _quality(text: str) -> float:
    try:
        return min(max(float(text), 0.0), 1.0)
    except ValueError:
        return 1.0
