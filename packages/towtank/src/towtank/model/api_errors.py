"""Refusals: what an API server answers with a metav1.Status instead of an object.

Code that decides raises an ``ApiError``; the HTTP front end writes it. The constructors below name
each kind that Kubernetes' clients tell apart (k8s.io/apimachinery, api/errors): its HTTP code, its
reason, and a message with the words that administrators search for.
"""

from __future__ import annotations

import dataclasses
import json
import math
from collections.abc import Sequence
from decimal import Decimal
from typing import Any, Self


@dataclasses.dataclass(frozen=True, slots=True)
class StatusCause:
    """One wrong field: ``reason`` is a metav1.CauseType such as FieldValueInvalid; ``text`` what
    stands behind the field's path.
    """

    reason: str
    field: str
    text: str

    @classmethod
    def required(cls, field: str, detail: str = "") -> Self:
        """A field is missing or empty."""
        return cls(
            "FieldValueRequired", field, f"Required value: {detail}" if detail else "Required value"
        )

    @classmethod
    def invalid(cls, field: str, value: object, detail: str) -> Self:
        """A value is of the right type and wrong."""
        return cls("FieldValueInvalid", field, f"Invalid value: {quoted(value)}: {detail}")

    @classmethod
    def unsupported(cls, field: str, value: object, supported: Sequence[str]) -> Self:
        """A value is none of an enumeration."""
        choices = ", ".join(quoted(choice) for choice in supported)
        return cls(
            "FieldValueNotSupported",
            field,
            f"Unsupported value: {quoted(value)}: supported values: {choices}",
        )

    @classmethod
    def duplicate(cls, field: str, value: object) -> Self:
        """Two items of a list have one key."""
        return cls("FieldValueDuplicate", field, f"Duplicate value: {quoted(value)}")

    @classmethod
    def not_found(cls, field: str, value: object) -> Self:
        """A value names something that is not there."""
        return cls("FieldValueNotFound", field, f"Not found: {quoted(value)}")

    @classmethod
    def too_long(cls, field: str, limit: int) -> Self:
        """A text has more bytes than it may."""
        return cls("FieldValueTooLong", field, f"Too long: may not be more than {limit} bytes")

    @classmethod
    def too_many(cls, field: str, count: int, limit: int) -> Self:
        """A list, or a map, has more items than it may."""
        items = "item" if limit == 1 else "items"
        return cls(
            "FieldValueTooMany", field, f"Too many: {count}: must have at most {limit} {items}"
        )

    @classmethod
    def forbidden(cls, field: str, detail: str) -> Self:
        """A field may not be set, or may not change."""
        return cls("FieldValueForbidden", field, f"Forbidden: {detail}")

    @classmethod
    def wrong_type(cls, field: str, shown: str, detail: str) -> Self:
        """A value of another type than the schema's; ``shown`` stands for the value, as the API
        server prints it.
        """
        return cls("FieldValueTypeInvalid", field, f"Invalid value: {shown}: {detail}")


def quoted(value: object) -> str:
    """A value in a message, as Go's %q and %v print it."""
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, str):
        plain = (
            value.replace("\\", "\\\\")
            .replace('"', '\\"')
            .replace("\n", "\\n")
            .replace("\t", "\\t")
        )
        return '"' + "".join(f"\\x{ord(one):02x}" if one < " " else one for one in plain) + '"'
    if isinstance(value, float):
        return number(value)
    # "null", whole numbers, and objects as compact JSON
    return json.dumps(value, separators=(",", ":"), ensure_ascii=False)


def number(value: float) -> str:
    """A fraction as Go's %v prints it: with an exponent when more than six digits are before the
    point, or four zeros behind it.
    """
    if not math.isfinite(value):
        return f"{value:+f}".replace("inf", "Inf")
    exact = Decimal(repr(value)).normalize()
    mantissa, _, exponent = f"{exact:e}".partition("e")
    return f"{exact:f}" if -5 < int(exponent) < 6 else f"{mantissa}e{int(exponent):+03d}"


class ApiError(Exception):
    """A refusal; ``details`` is the Status' field of that name."""

    def __init__(
        self, code: int, reason: str, message: str, details: dict[str, Any] | None = None
    ) -> None:
        super().__init__(message)
        self.code = code
        self.reason = reason
        self.message = message
        self.details = details

    def with_causes(self, causes: Sequence[dict[str, str]]) -> Self:
        """The same with causes in its details."""
        self.details = {**(self.details or {}), "causes": list(causes)}
        return self

    def status(self) -> dict[str, Any]:
        """The Status object that is the answer's body."""
        return {
            "kind": "Status",
            "apiVersion": "v1",
            "metadata": {},
            "status": "Failure",
            "message": self.message,
            **({"reason": self.reason} if self.reason else {}),
            **({} if self.details is None else {"details": self.details}),
            "code": self.code,
        }


def qualified(plural: str, group: str) -> str:
    """``pods`` or ``deployments.apps``: how messages name a resource (and, with a kind, how they
    name one of those).
    """
    return f"{plural}.{group}" if group else plural


def status_details(name: str, group: str, kind: str, **more: object) -> dict[str, Any]:
    """What a Status says in ``details``: which object it is about, as far as that is known."""
    return {
        key: value
        for key, value in {"name": name, "group": group, "kind": kind, **more}.items()
        if value
    }


def not_found(plural: str, group: str, name: str) -> ApiError:
    """There is no such object."""
    return ApiError(
        404,
        "NotFound",
        f'{qualified(plural, group)} "{name}" not found',
        status_details(name, group, plural),
    )


def no_such_path() -> ApiError:
    """Nothing is served at this path."""
    return ApiError(404, "NotFound", "the server could not find the requested resource", {})


class NotServed(Exception):
    """A path that no API has to do with: a text says so, and no Status."""


def already_exists(plural: str, group: str, name: str, *, going: bool = False) -> ApiError:
    """The name is taken, maybe by one that is ``going``."""
    text = f'{qualified(plural, group)} "{name}" already exists'
    return ApiError(
        409,
        "AlreadyExists",
        f"object is being deleted: {text}" if going else text,
        status_details(name, group, plural),
    )


def conflict(plural: str, group: str, name: str, why: str) -> ApiError:
    """The object is another one than the writer thinks, or somebody else owns the fields."""
    text = f'Operation cannot be fulfilled on {qualified(plural, group)} "{name}": {why}'
    return ApiError(409, "Conflict", text, status_details(name, group, plural))


STALE = (
    "the object has been modified; please apply your changes to the latest version and try again"
)


def invalid(kind: str, group: str, name: str, causes: Sequence[StatusCause]) -> ApiError:
    """The object breaks rules: one or more causes."""
    texts = [f"{cause.field}: {cause.text}" for cause in causes]
    joined = texts[0] if len(texts) == 1 else f"[{', '.join(texts)}]"
    listed = [
        {"reason": cause.reason, "message": cause.text, "field": cause.field} for cause in causes
    ]
    return ApiError(
        422,
        "Invalid",
        f'{qualified(kind, group)} "{name}" is invalid: {joined}',
        status_details(name, group, kind, causes=listed),
    )


def bad_request(message: str) -> ApiError:
    """The request cannot be understood."""
    return ApiError(400, "BadRequest", message)


def undecodable(kind: str, version: str, wanted: str, why: str) -> ApiError:
    """The body says that it is of a kind, and is no object of the one that is ``wanted``."""
    return bad_request(f'{kind} in version "{version}" cannot be handled as a {wanted}: {why}')


def unregistered(kind: str, version: str) -> str:
    """What is said of a kind that is not served."""
    return f'no kind "{kind}" is registered for version "{version}"'


def forbidden(plural: str, group: str, name: str, why: str) -> ApiError:
    """The answer where admission refuses."""
    return ApiError(
        403,
        "Forbidden",
        f'{qualified(plural, group)} "{name}" is forbidden: {why}',
        status_details(name, group, plural),
    )


def unauthorized() -> ApiError:
    """The answer to a request whose sender is not known."""
    return ApiError(401, "Unauthorized", "Unauthorized")


def method_not_allowed() -> ApiError:
    """The resource is served, and not with this verb."""
    return ApiError(
        405,
        "MethodNotAllowed",
        "the server does not allow this method on the requested resource",
        {},
    )


def not_acceptable(served: Sequence[str]) -> ApiError:
    """No media type that the client accepts is served."""
    text = f"only the following media types are accepted: {', '.join(served)}"
    return ApiError(406, "NotAcceptable", text)


def not_negotiable(served: Sequence[str]) -> ApiError:
    """The same, where not even the kind of medium is known."""
    text = f"406: Not Acceptable\n\nAvailable representations: {', '.join(served)}"
    return ApiError(406, "NotAcceptable", text, {})


def wrong_form(form: str, kind: str, group: str) -> ApiError:
    """The metadata of an object is wanted of a list, or that of a list of an object."""
    listed = "not a list" if form.endswith("List") else "a list"
    # As in Go, whose packages are named by the first word of the group; events.k8s.io has none of
    # its own.
    package = "core" if group in ("", "events.k8s.io") else group.partition(".")[0]
    return ApiError(
        406,
        "NotAcceptable",
        f"you requested {form}, but the requested object is {listed} (*{package}.{kind})",
    )


def unsupported_media_type(given: str, served: Sequence[str]) -> ApiError:
    """The body's media type is not served."""
    known = ", ".join(served)
    text = (
        f"the body of the request was in an unknown format - accepted media types include: {known}"
    )
    return ApiError(
        415,
        "UnsupportedMediaType",
        text if given else f"media type is required; accepted media types include: {known}",
    )


def too_large(limit: int) -> ApiError:
    """The body is larger than we read."""
    return ApiError(413, "RequestEntityTooLarge", f"Request entity too large: limit is {limit}")


def expired(message: str) -> ApiError:
    """The version, or the place in a list, is too old."""
    return ApiError(410, "Expired", message)


def too_many_requests(message: str, after: int) -> ApiError:
    """Come again later (also: a disruption budget refuses an eviction)."""
    return ApiError(429, "TooManyRequests", message, {"retryAfterSeconds": after} if after else {})
