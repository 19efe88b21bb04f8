"""What every object has: its metadata, which only the server may write in parts, and its body's way
in.

``decoded`` is the door: whatever passes it has the right apiVersion and kind, no field that its
schema does not know, and all defaults.
"""

from __future__ import annotations

import secrets
from collections.abc import Callable, Mapping
from datetime import datetime
from typing import Any

import msgspec

from towtank.model import metadata_rules, times
from towtank.model.api_errors import (
    STALE,
    ApiError,
    StatusCause,
    bad_request,
    conflict,
    invalid,
    undecodable,
    unregistered,
)
from towtank.model.json_values import json_type
from towtank.model.kinds import META, APIResource, Body
from towtank.model.requests import RequestTarget, WriteOptions
from towtank.schemas import omit_empty, pruning

_OWN = ("uid", "creationTimestamp", "deletionTimestamp", "deletionGracePeriodSeconds", "selfLink")
"""Metadata that a writer cannot change; what it says there is not looked at."""
_GENERATED = "bcdfghjklmnpqrstvwxz2456789"
_RANDOM = 5
_MAX_PREFIX_LENGTH = 63 - _RANDOM
_TRIES = 8
_PRECONDITIONS = {
    "uid": ("UID", "deleted and then recreated"),
    "resourceVersion": ("ResourceVersion", "modified"),
}
"""What a client may say of the object that it means: its name in messages, and what may have
happened to the object.
"""


def decoded(resource: APIResource, body: Any, options: WriteOptions) -> Body:
    """Check and complete a body in place. Raises ApiError for what cannot be an object of this
    resource.
    """
    made = _with_metadata(resource, body)
    _require_type(resource, made)
    _prune(resource, made, options)
    if text := pruning.mistyped(made, resource.schema):
        raise _undecodable(resource, text)
    pruning.default(made, resource.schema)
    for key in made["metadata"].keys() & META:
        if not made["metadata"][key]:
            del made["metadata"][key]
    if not resource.custom:
        omit_empty.compact(made, resource.schema)
    resource.strategy.default(made)
    return made


def _with_metadata(resource: APIResource, body: Any) -> Body:
    """The same body, seen to be an object, with metadata that is one."""
    if not isinstance(body, dict):
        raise bad_request(
            f"an object of kind {resource.kind} is expected, not {type(body).__name__}"
        )
    if body.get("metadata") is None:
        body["metadata"] = {}
    if not isinstance(body["metadata"], dict):
        place = "value" if resource.custom else f"struct field {resource.kind}.metadata"
        given = json_type(body["metadata"])
        raise _undecodable(
            resource, f"json: cannot unmarshal {given} into Go {place} of type v1.ObjectMeta"
        )
    return body


def _require_type(resource: APIResource, body: Body) -> None:
    """See that it is of this resource. Built-in objects need not say so."""
    if resource.custom and not body.get("kind"):
        raise bad_request(
            f"the object provided is unrecognized (must be of type {resource.kind}): Object "
            f"'Kind' is missing"
        )
    version = body.setdefault("apiVersion", resource.api_version)
    if body.setdefault("kind", resource.kind) != resource.kind:
        raise _of_another_kind(resource, body)
    if version != resource.api_version:
        raise bad_request(
            f"the API version in the data ({version}) does not match the expected API "
            f"version ({resource.api_version})"
        )


def _of_another_kind(resource: APIResource, body: Body) -> ApiError:
    kind, version = body["kind"], body["apiVersion"]
    if resource.custom:
        name = str(body["metadata"].get("name", ""))
        cause = StatusCause.invalid("kind", kind, f"must be {resource.kind}")
        return invalid(kind, resource.group, name, [cause])
    of_version = str(version).rpartition("/")[2]
    return undecodable(kind, of_version, resource.kind, unregistered(kind, version))


def _prune(resource: APIResource, body: Body, options: WriteOptions) -> None:
    """Drop fields that the schema does not know; refuse them or warn of them, as the client wants
    it.
    """
    unknown = [f'unknown field "{path}"' for path in pruning.prune(body, resource.schema)]
    if unknown and options.field_validation == "Strict":
        raise _undecodable(resource, f"strict decoding error: {', '.join(unknown)}")
    if options.field_validation == "Warn":
        options.warnings += unknown


def _undecodable(resource: APIResource, why: str) -> ApiError:
    return undecodable(resource.kind, resource.version, resource.kind, why)


def unpatched(resource: APIResource, patched: Body, refused: ApiError) -> ApiError:
    """The refusal of a patch that makes of an object what cannot be decoded as one: where a body's
    is 400, this is 422.
    """
    if refused.code != 400:
        return refused
    why = refused.message.rpartition(f" cannot be handled as a {resource.kind}: ")[2]
    return invalid(
        "",
        "",
        "",
        [StatusCause.invalid("patch", msgspec.json.encode(patched, order="sorted").decode(), why)],
    )


def initialise(
    target: RequestTarget, body: Body, now: datetime, uid: str, taken: Callable[[str], object]
) -> None:
    """Give a new object its metadata; a name that is made up is, if at all possible, not
    ``taken``. A generation that nobody counts may be the writer's.
    """
    metadata = body["metadata"]
    for field in _OWN:
        metadata.pop(field, None)
    if metadata.pop("resourceVersion", ""):
        raise bad_request("resourceVersion should not be set on objects to be created")
    same_namespace(target, metadata)
    if not metadata.get("name") and (prefix := metadata.get("generateName")):
        metadata["name"] = _made_up_name(prefix[:_MAX_PREFIX_LENGTH], taken)
    metadata |= {"uid": uid, "creationTimestamp": times.timestamp(now)}
    if target.resource.generation:
        metadata["generation"] = 1


def _made_up_name(prefix: str, taken: Callable[[str], object]) -> str:
    made_up = [
        prefix + "".join(secrets.choice(_GENERATED) for _ in range(_RANDOM)) for _ in range(_TRIES)
    ]
    return next((name for name in made_up if not taken(name)), made_up[-1])


def require_version(target: RequestTarget, new: Body) -> None:
    """Refuse to replace an object without knowing which state of it, where its kind wants that."""
    resource = target.resource
    if resource.strategy.conditional and not new["metadata"].get("resourceVersion"):
        cause = StatusCause.invalid(
            "metadata.resourceVersion", 0, "must be specified for an update"
        )
        raise invalid(resource.plural, resource.group, target.name, [cause])


def keep_server_fields(target: RequestTarget, new: Body, old: Body) -> None:
    """Give a changed object what the old one had and nobody may change. Raises ApiError where the
    writer meant another object.
    """
    metadata, before, resource = new["metadata"], old["metadata"], target.resource
    same_namespace(target, metadata)
    require_name(metadata, name := before["name"])
    require_same(target, old, {"uid": metadata.get("uid")})
    if (version := metadata.get("resourceVersion")) and version != before["resourceVersion"]:
        if not str(version).isdecimal():
            raise bad_request(f'strconv.ParseUint: parsing "{version}": invalid syntax')
        raise conflict(resource.plural, resource.group, name, STALE)
    metadata["resourceVersion"] = before["resourceVersion"]
    for field in (*_OWN, "generation"):
        metadata.pop(field, None)
        if field in before:
            metadata[field] = before[field]


def require_same(
    target: RequestTarget, body: Body, wanted: Mapping[str, Any], *, going: bool = False
) -> None:
    """See that this is the object that is meant: ``wanted`` may have a uid and a resourceVersion.
    Raises ApiError 409, which says it in other words to who deletes (``going``).
    """
    metadata, resource = body["metadata"], target.resource
    for key, (name, guess) in _PRECONDITIONS.items():
        said, found = wanted.get(key), metadata[key]
        if said and said != found and going:
            why = (
                f"the {name} in the precondition ({said}) does not match the {name} in record "
                f"({found}). The object might have been {guess}"
            )
            raise conflict(resource.kind, resource.group, metadata["name"], why)
        if said and said != found:
            why = f"{name} in precondition: {said}, {name} in object meta: {found}"
            text = _storage_error(target, metadata["name"], f"Precondition failed: {why}")
            raise conflict(resource.plural, resource.group, metadata["name"], text)


def _storage_error(target: RequestTarget, name: str, why: str) -> str:
    """As etcd's client writes it, which knows an object by its key."""
    places = ("/registry", target.resource.plural, target.namespace, name)
    return (
        f"StorageError: invalid object, Code: 4, Key: {'/'.join(filter(None, places))}, "
        f"ResourceVersion: 0, AdditionalErrorMsg: {why}"
    )


def require_name(metadata: dict[str, Any], name: str) -> None:
    """See that an object has the name that the URL says. Raises ApiError 400."""
    if not (said := metadata.get("name")):
        raise bad_request(
            f"the name of the object ({name} based on URL) was undeterminable: name must be "
            f"provided"
        )
    if said != name:
        raise bad_request(
            f"the name of the object ({said}) does not match the name on the URL ({name})"
        )


def same_namespace(target: RequestTarget, metadata: dict[str, Any]) -> None:
    """See that an object is in the namespace that the URL says. Raises ApiError 400."""
    if not target.resource.namespaced:
        metadata.pop("namespace", None)
        return
    if metadata.setdefault("namespace", target.namespace) != target.namespace:
        raise bad_request(
            "the namespace of the provided object does not match the namespace sent on the request"
        )


def metadata_causes(body: Body, resource: APIResource) -> list[StatusCause]:
    """Rules of metadata for all kinds."""
    metadata = body["metadata"]
    if name := metadata.get("name"):
        causes = [
            StatusCause.invalid("metadata.name", name, text)
            for text in resource.strategy.name(name)
        ]
    else:
        causes = [StatusCause.required("metadata.name", "name or generateName is required")]
    return [*causes, *metadata_rules.causes(metadata, custom=resource.custom)]
