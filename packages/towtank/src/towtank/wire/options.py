"""Queries: options of reads and writes, checked as the API server checks them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, TypeAlias

from towtank.model.api_errors import (
    ApiError,
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
_MAX_DIGITS = 19
_VALIDATIONS = ("", "Ignore", "Strict", "Warn")
_PROPAGATIONS = ("", "Foreground", "Background", "Orphan")
_MATCHES = ("", "Exact", "NotOlderThan")


def flag(query: Query, name: str) -> bool:
    """A boolean, as the API server reads it: whatever is there and does not say no."""
    return name in query and query[name].lower() not in ("false", "0")


def number(query: Query, name: str) -> int | None:
    """A whole number. Raises ApiError 400."""
    text = query.get(name, "")
    if not text:
        return None
    digits = text[1:] if text[0] in "+-" else text
    if not digits.isdecimal() or not digits.isascii():
        raise bad_request(f"strconv.ParseInt: parsing {quoted(text)}: invalid syntax")
    if len(digits) > _MAX_DIGITS or abs(int(digits)) >= 1 << 63:
        raise bad_request(f"strconv.ParseInt: parsing {quoted(text)}: value out of range")
    return int(text)


def _refused(kind: str, causes: Sequence[StatusCause]) -> ApiError:
    return invalid(f"{kind}.{_GROUP}", "", "", causes)


def _check(kind: str, causes: Sequence[StatusCause]) -> None:
    if causes:
        problem = _refused(kind, causes)
        problem.details = {**(problem.details or {}), "group": _GROUP, "kind": kind}
        raise problem


def _dry_run(query: Query, causes: list[StatusCause]) -> bool:
    text = query.get("dryRun", "")
    if text not in ("", "All"):
        causes.append(
            StatusCause(
                "FieldValueNotSupported",
                "dryRun",
                f'Unsupported value: ["{text}"]: supported values: "All"',
            )
        )
    return text == "All"


def writing(request: ApiRequest, kind: str, *, apply: bool = False) -> WriteOptions:
    """Of create, update and patch; ``kind`` is CreateOptions and so on. Raises ApiError 422."""
    query, causes = request.query, list[StatusCause]()
    validation = query.get("fieldValidation", "")
    if validation not in _VALIDATIONS:
        causes.append(StatusCause.unsupported("fieldValidation", validation, _VALIDATIONS))
    manager = query.get("fieldManager", "")
    if apply and not manager:
        causes.append(StatusCause.required("fieldManager", "is required for apply patch"))
    if len(manager) > _MAX_MANAGER_LENGTH:
        causes.append(StatusCause.invalid("fieldManager", manager, "must have at most 128 bytes"))
    unprintable = (
        (place, letter) for place, letter in enumerate(manager) if not letter.isprintable()
    )
    causes += [
        StatusCause.invalid(
            "fieldManager", manager, f"invalid character U+{ord(x):04X} (at position {at})"
        )
        for at, x in unprintable
    ]
    if "force" in query and kind == "PatchOptions" and not apply:
        causes.append(StatusCause.forbidden("force", "may not be specified for non-apply patch"))
    dry_run = _dry_run(query, causes)
    _check(kind, causes)
    return WriteOptions(
        manager=manager or _program(request.user_agent) or "unknown",
        user=request.user,
        dry_run=dry_run,
        field_validation=validation or "Warn",
        force=flag(query, "force"),
        warnings=request.warnings,
    )


def _program(user_agent: str) -> str:
    """The name before the first slash, as far as it can be printed."""
    return "".join(letter for letter in user_agent.partition("/")[0] if letter.isprintable())[
        :_MAX_MANAGER_LENGTH
    ]


def listing(query: Query) -> ListOptions:
    """Of list and deletecollection. Raises ApiError 400 and 422."""
    causes: list[StatusCause] = []
    if "sendInitialEvents" in query:
        causes.append(
            StatusCause.forbidden("sendInitialEvents", "sendInitialEvents is forbidden for list")
        )
    options = _read(query)
    causes += _match(options)
    _check("ListOptions", causes)
    return options


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


def _match(options: ListOptions) -> list[StatusCause]:
    match = options.resource_version_match
    if match in _MATCHES:
        return []
    choices = '"Exact", "NotOlderThan", ""'
    return [
        StatusCause(
            "FieldValueNotSupported",
            "resourceVersionMatch",
            f'Unsupported value: "{match}": supported values: {choices}',
        )
    ]


def watching(target: RequestTarget, query: Query, revision: int) -> WatchOptions:
    """Of a watch; ``revision`` is the present one. Raises ApiError 400 and 422."""
    options, causes = _read(query), list[StatusCause]()
    initial = flag(query, "sendInitialEvents")
    match, field = options.resource_version_match, "resourceVersionMatch"
    if match and "sendInitialEvents" not in query:
        causes.append(
            StatusCause.forbidden(
                field,
                "resourceVersionMatch is forbidden for watch unless sendInitialEvents is provided",
            )
        )
    elif "sendInitialEvents" in query and match != "NotOlderThan":
        causes.append(
            StatusCause.forbidden(
                field, "sendInitialEvents requires setting resourceVersionMatch to NotOlderThan"
            )
        )
    if match not in ("", "NotOlderThan"):
        causes.append(StatusCause.unsupported(field, match, ("NotOlderThan",)))
    _check("ListOptions", causes)
    return WatchOptions(
        target=target,
        label_selector=options.label_selector,
        field_selector=options.field_selector,
        since=_since(options.resource_version, query, revision, initial=initial),
        bookmarks=flag(query, "allowWatchBookmarks"),
        timeout_seconds=number(query, "timeoutSeconds") or None,
        include_object=query.get("includeObject", ""),
    )


def _since(version: str, query: Query, revision: int, *, initial: bool) -> int | None:
    number = parsed_version(version) if version else 0
    if initial or not (number or "sendInitialEvents" in query):
        return None
    return number or revision


def deleting(query: Query, body: Any) -> DeleteOptions:
    """Of delete and deletecollection: the body's where there is one, else the query's. Raises
    ApiError 400 and 422.
    """
    said = body if isinstance(body, dict) else {}
    causes: list[StatusCause] = []
    if text := pruning.mistyped(
        said, schema_parser.builtin("policy/v1", "Eviction").properties["deleteOptions"]
    ):
        raise undecodable("DeleteOptions", "v1", "DeleteOptions", text)
    if said:
        query = {}
        if (dry := said.get("dryRun")) and dry != ["All"]:
            causes.append(
                StatusCause(
                    "FieldValueNotSupported",
                    "dryRun",
                    f'Unsupported value: {dry}: supported values: "All"',
                )
            )
    grace = number(query, "gracePeriodSeconds") if not said else said.get("gracePeriodSeconds")
    propagation = query.get("propagationPolicy") or said.get("propagationPolicy") or ""
    orphan = said.get(
        "orphanDependents", flag(query, "orphanDependents") if "orphanDependents" in query else None
    )
    if propagation not in _PROPAGATIONS:
        choices = '"Foreground", "Background", "Orphan", "nil"'
        text = f'Unsupported value: "{propagation}": supported values: {choices}'
        causes.append(StatusCause("FieldValueNotSupported", "propagationPolicy", text))
    if propagation and orphan is not None:
        both = "orphanDependents and deletionPropagation cannot be both set"
        causes.append(StatusCause.invalid("propagationPolicy", propagation, both))
    dry_run = _dry_run(query, causes) or bool(said.get("dryRun"))
    _check("DeleteOptions", causes)
    return DeleteOptions(
        grace_seconds=grace if grace is None or grace >= 0 else 1,
        preconditions=said.get("preconditions") or {},
        propagation=propagation or ("" if orphan is None else "Orphan" if orphan else "Background"),
        dry_run=dry_run,
    )
