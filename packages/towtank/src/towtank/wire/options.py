"""Queries: options of reads and writes, checked as the API server checks them."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final, TypeAlias

from towtank.model.api_errors import (
    StatusCause,
    bad_request,
    invalid,
    quoted,
    undecodable,
)
from towtank.model.requests import (
    ApiRequest,
    DeleteOptions,
    ListOptions,
    RequestTarget,
    WatchOptions,
    WriteOptions,
    parsed_version,
)
from towtank.schemas import pruning, schema_parser

Query: TypeAlias = Mapping[str, str]

_GROUP = "meta.k8s.io"
_MAX_MANAGER_LENGTH = 128
"""Bytes."""
_INTEGER: Final = re.compile("([+-]?)0*([0-9]+)")
_MAX_DIGITS = 20
"""Enough to be out of range."""
_VALIDATIONS = ("", "Ignore", "Strict", "Warn")
_PROPAGATIONS = ("", "Foreground", "Background", "Orphan")
_MATCH = "resourceVersionMatch"


def flag(query: Query, name: str) -> bool:
    """A boolean, as the API server reads it: whatever is there and does not say no."""
    return name in query and query[name].lower() not in ("false", "0")


def number(query: Query, name: str) -> int | None:
    """A whole number, None where the query has none. Raises ApiError 400."""
    text = query.get(name)
    if text is None:
        return None
    read = _INTEGER.fullmatch(text)
    if read is None:
        raise bad_request(f"strconv.ParseInt: parsing {quoted(text)}: invalid syntax")
    number = int(read[1] + read[2][:_MAX_DIGITS])
    if not -(1 << 63) <= number < 1 << 63:
        raise bad_request(f"strconv.ParseInt: parsing {quoted(text)}: value out of range")
    return number


def _check(kind: str, causes: Sequence[StatusCause]) -> None:
    if causes:
        problem = invalid(f"{kind}.{_GROUP}", "", "", causes)
        problem.details = {**(problem.details or {}), "group": _GROUP, "kind": kind}
        raise problem


def _one_of(value: str, field: str, choices: Sequence[str]) -> Iterator[StatusCause]:
    if value and value not in choices:
        yield StatusCause.unsupported(field, value, choices)


def _dry_run_causes(said: Sequence[str]) -> Iterator[StatusCause]:
    if said not in ([], ["All"]):
        yield StatusCause.unsupported("dryRun", said, ("All",))


def writing(request: ApiRequest, kind: str, *, apply: bool = False) -> WriteOptions:
    """Of create, update and patch; ``kind`` is CreateOptions and so on. Raises ApiError 422."""
    query, dry = request.query, _listed(request.query, "dryRun")
    manager, validation = query.get("fieldManager", ""), query.get("fieldValidation", "")
    causes = [*_one_of(validation, "fieldValidation", _VALIDATIONS)]
    causes += _manager_causes(manager, required=apply)
    if "force" in query and kind == "PatchOptions" and not apply:
        causes.append(StatusCause.forbidden("force", "may not be specified for non-apply patch"))
    _check(kind, [*causes, *_dry_run_causes(dry)])
    return WriteOptions(
        manager=manager or _program(request.user_agent) or "unknown",
        user=request.user,
        dry_run=bool(dry),
        field_validation=validation or "Warn",
        force=flag(query, "force"),
        warnings=request.warnings,
    )


def _listed(query: Query, name: str) -> list[str]:
    """A list that has one value in a query, at most."""
    return [query[name]] if query.get(name) else []


def _manager_causes(manager: str, *, required: bool) -> Iterator[StatusCause]:
    if required and not manager:
        yield StatusCause.required("fieldManager", "is required for apply patch")
    if len(manager.encode()) > _MAX_MANAGER_LENGTH:
        yield StatusCause.too_long("fieldManager", _MAX_MANAGER_LENGTH)
    for place, letter in enumerate(manager):
        if not letter.isprintable():
            why = f"invalid character U+{ord(letter):04X} (at position {place})"
            yield StatusCause.invalid("fieldManager", manager, why)


def _program(user_agent: str) -> str:
    """The name before the first slash, as far as it can be printed."""
    return "".join(letter for letter in user_agent.partition("/")[0] if letter.isprintable())[
        :_MAX_MANAGER_LENGTH
    ]


def listing(query: Query) -> ListOptions:
    """Of list and deletecollection. Raises ApiError 400 and 422."""
    options = _read(query)
    causes = [*_match_causes(options)]
    if "sendInitialEvents" in query:
        causes.append(
            StatusCause.forbidden("sendInitialEvents", "sendInitialEvents is forbidden for list")
        )
    _check("ListOptions", causes)
    return options


def _match_causes(options: ListOptions) -> Iterator[StatusCause]:
    """What is wrong with how a list's version is to be matched."""
    match, version = options.resource_version_match, options.resource_version
    if match and not version:
        why = "resourceVersionMatch is forbidden unless resourceVersion is provided"
        yield StatusCause.forbidden(_MATCH, why)
    if match and options.continue_:
        yield StatusCause.forbidden(
            _MATCH, "resourceVersionMatch is forbidden when continue is provided"
        )
    yield from _one_of(match, _MATCH, ("Exact", "NotOlderThan", ""))
    if match == "Exact" and version == "0":
        why = 'resourceVersionMatch "exact" is forbidden for resourceVersion "0"'
        yield StatusCause.forbidden(_MATCH, why)


def _read(query: Query) -> ListOptions:
    number(query, "timeoutSeconds")
    return ListOptions(
        label_selector=query.get("labelSelector", ""),
        field_selector=query.get("fieldSelector", ""),
        limit=max(number(query, "limit") or 0, 0),
        continue_=query.get("continue", ""),
        resource_version=query.get("resourceVersion", ""),
        resource_version_match=query.get("resourceVersionMatch", ""),
    )


def watching(target: RequestTarget, query: Query, revision: int) -> WatchOptions:
    """Of a watch; ``revision`` is the present one. Raises ApiError 400 and 422."""
    options = _read(query)
    _check("ListOptions", _initial_causes(query, options.resource_version_match))
    return WatchOptions(
        target=target,
        label_selector=options.label_selector,
        field_selector=options.field_selector,
        since=_since(options.resource_version, query, revision),
        bookmarks=flag(query, "allowWatchBookmarks"),
        timeout_seconds=number(query, "timeoutSeconds") or None,
        include_object=query.get("includeObject", ""),
    )


def _initial_causes(query: Query, match: str) -> list[StatusCause]:
    """Who wants what is there at first says so, and of which time."""
    causes = []
    if match and "sendInitialEvents" not in query:
        why = "resourceVersionMatch is forbidden for watch unless sendInitialEvents is provided"
        causes.append(StatusCause.forbidden(_MATCH, why))
    elif "sendInitialEvents" in query and match != "NotOlderThan":
        why = "sendInitialEvents requires setting resourceVersionMatch to NotOlderThan"
        causes.append(StatusCause.forbidden(_MATCH, why))
    return [*causes, *_one_of(match, _MATCH, ("NotOlderThan",))]


def _since(version: str, query: Query, revision: int) -> int | None:
    number = parsed_version(version) if version else 0
    if flag(query, "sendInitialEvents") or not (number or "sendInitialEvents" in query):
        return None
    return number or revision


def deleting(query: Query, body: Any) -> DeleteOptions:
    """Of delete and deletecollection: the body's where there is one, else the query's. Raises
    ApiError 400 and 422.
    """
    schema = schema_parser.builtin("policy/v1", "Eviction").properties["deleteOptions"]
    if text := pruning.mistyped(body, schema):
        raise undecodable("DeleteOptions", "v1", "DeleteOptions", text)
    said: Mapping[str, Any] = body or _deletion(query)
    grace, dry = said.get("gracePeriodSeconds"), said.get("dryRun") or []
    policy, orphan = said.get("propagationPolicy") or "", said.get("orphanDependents")
    _check("DeleteOptions", [*_propagation_causes(policy, orphan), *_dry_run_causes(dry)])
    return DeleteOptions(
        grace_seconds=grace if grace is None or grace >= 0 else 1,
        preconditions=said.get("preconditions") or {},
        propagation=policy or ("" if orphan is None else "Orphan" if orphan else "Background"),
        dry_run=bool(dry),
    )


def _deletion(query: Query) -> Mapping[str, Any]:
    """A query's options as a body has them."""
    orphan = {"orphanDependents"} & query.keys()
    return {
        "gracePeriodSeconds": number(query, "gracePeriodSeconds"),
        "propagationPolicy": query.get("propagationPolicy"),
        "dryRun": _listed(query, "dryRun"),
        **{name: flag(query, name) for name in orphan},
    }


def _propagation_causes(policy: str, orphan: bool | None) -> Iterator[StatusCause]:
    if policy not in _PROPAGATIONS:
        yield StatusCause.unsupported("propagationPolicy", policy, (*_PROPAGATIONS[1:], "nil"))
    if policy and orphan is not None:
        both = "orphanDependents and deletionPropagation cannot be both set"
        yield StatusCause.invalid("propagationPolicy", policy, both)
