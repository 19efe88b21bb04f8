"""Reviews and tokens: who somebody is, and what he may do. Here everybody whom the cluster knows
may do everything.
"""

from __future__ import annotations

from typing import Any, Final, Protocol

from towtank import managed_fields
from towtank.model import times
from towtank.model.api_errors import StatusCause, bad_request, invalid
from towtank.model.kinds import APIResource, Body
from towtank.model.requests import RequestTarget, WriteOptions
from towtank.schemas import schema_parser
from towtank.storage import object_meta
from towtank.storage.verbs import Verbs
from towtank.strategies.common import at

ISSUER: Final = "https://kubernetes.default.svc"
_GROUP: Final = "authentication.k8s.io"
_CREATED: Final = 201
_HOUR: Final = 3600
_MIN_TOKEN_SECONDS: Final = 600
_MAX_TOKEN_SECONDS: Final = 1 << 32
ACCOUNT: Final = "system:serviceaccount:"
"""How the users begin whose rest is a service account's namespace, a colon and its name."""
_EITHER: Final = "exactly one of nonResourceAttributes or resourceAttributes must be specified"


class TokenIssuer(Protocol):
    """Who has which token."""

    def issue(self, user: str, seconds: int) -> str:
        """A new token of a user such as ``system:serviceaccount:default:operator``."""

    def user(self, token: str) -> str:
        """Whose token this is; "" for a token that is not ours, or not any more."""


def _read(verbs: Verbs, resource: APIResource, asked: Body, options: WriteOptions) -> Body:
    """What is asked, with the owner of its fields, though nobody will look for him."""
    review = object_meta.decoded(resource, asked, options)
    review.pop("status", None)
    _track(verbs, review, resource, options)
    return review


def _track(
    verbs: Verbs, review: Body, resource: APIResource, options: WriteOptions, subresource: str = ""
) -> None:
    managed_fields.track(
        review,
        None,
        managed_fields.ManagedFieldsEntry(resource, options.manager, subresource, verbs.clock()),
    )


def access(
    verbs: Verbs, target: RequestTarget, review: Body, options: WriteOptions
) -> tuple[int, Body]:
    """SelfSubjectAccessReview, SubjectAccessReview, LocalSubjectAccessReview: yes."""
    review = _read(verbs, target.resource, review, options)
    spec: dict[str, Any] = review.get("spec") or {}
    if (spec.get("resourceAttributes") is None) == (spec.get("nonResourceAttributes") is None):
        causes = [StatusCause.invalid("spec", spec.get("resourceAttributes"), _EITHER)]
        raise invalid("", target.resource.group, "", causes)
    if target.namespace:
        review["metadata"]["namespace"] = target.namespace
    return _CREATED, {**review, "status": {"allowed": True}}


def rules(_: Verbs, target: RequestTarget, review: Body, options: WriteOptions) -> tuple[int, Body]:
    """Answer a SelfSubjectRulesReview: everything is allowed."""
    review = object_meta.decoded(target.resource, review, options)
    everything = {
        "incomplete": False,
        "resourceRules": [{"verbs": ["*"], "apiGroups": ["*"], "resources": ["*"]}],
        "nonResourceRules": [{"verbs": ["*"], "nonResourceURLs": ["*"]}],
    }
    return _CREATED, {**review, "spec": {}, "status": everything}


def self_subject(
    verbs: Verbs, target: RequestTarget, review: Body, options: WriteOptions
) -> tuple[int, Body]:
    """SelfSubjectReview: ``kubectl auth whoami``."""
    review = object_meta.decoded(target.resource, review, options)
    review["metadata"] = {"creationTimestamp": times.timestamp(verbs.clock())}
    return _CREATED, {**review, "status": {"userInfo": _user(options.user)}}


def _user(name: str) -> Body:
    groups = ["system:masters"]
    if name.startswith(ACCOUNT):
        groups = [
            "system:serviceaccounts",
            f"system:serviceaccounts:{name.removeprefix(ACCOUNT).partition(':')[0]}",
        ]
    return {"username": name, "groups": [*groups, "system:authenticated"]}


class TokenReviews:
    """What asks for the tokens that the cluster has given out."""

    def __init__(self, tokens: TokenIssuer) -> None:
        self._tokens = tokens
        self.request = APIResource(
            _GROUP,
            "v1",
            "tokenrequests",
            "TokenRequest",
            schema=schema_parser.builtin(f"{_GROUP}/v1", "TokenRequest"),
        )
        """How requests for tokens are decoded."""

    def review(
        self, verbs: Verbs, target: RequestTarget, review: Body, options: WriteOptions
    ) -> tuple[int, Body]:
        """Answer a TokenReview."""
        review = _read(verbs, target.resource, review, options)
        token = at(review, "spec.token")
        if not token:
            raise bad_request("token is required for TokenReview in authentication")
        if user := self._tokens.user(token):
            return _CREATED, {
                **review,
                "status": {"authenticated": True, "user": _user(user), "audiences": [ISSUER]},
            }
        return _CREATED, {**review, "status": {"user": {}, "error": "invalid bearer token"}}

    def issue(
        self, verbs: Verbs, target: RequestTarget, request: Body, options: WriteOptions
    ) -> tuple[int, Body]:
        """Answer a POST to serviceaccounts/NAME/token."""
        account = verbs.get(target).body["metadata"]
        said: Body = request.get("spec") or {}
        seconds = _lifetime(said.get("expirationSeconds"))
        read = {**request, "spec": {**said, "expirationSeconds": seconds}}
        _track(verbs, read, self.request, options, target.subresource)
        now = verbs.clock()
        token = self._tokens.issue(f"{ACCOUNT}{target.namespace}:{target.name}", seconds)
        about = {"kind": self.request.kind, "apiVersion": self.request.api_version}
        metadata = {key: account[key] for key in ("name", "namespace", "uid")}
        metadata["creationTimestamp"] = times.timestamp(now)
        metadata["managedFields"] = read["metadata"]["managedFields"]
        audiences = said.get("audiences") or [ISSUER]
        spec = {"boundObjectRef": None, **read["spec"], "audiences": audiences}
        status = {"token": token, "expirationTimestamp": times.timestamp(times.after(now, seconds))}
        return _CREATED, {**about, "metadata": metadata, "spec": spec, "status": status}


def _lifetime(asked: int | None) -> int:
    """Seconds for which a token is good. Raises ApiError 422."""
    seconds = _HOUR if asked is None else asked
    if seconds < _MIN_TOKEN_SECONDS:
        limit = "less than 10 minutes"
    elif seconds > _MAX_TOKEN_SECONDS:
        limit = "larger than 2^32 seconds"
    else:
        return seconds
    why = f"may not specify a duration {limit}"
    causes = [StatusCause.invalid("spec.expirationSeconds", seconds, why)]
    raise invalid("TokenRequest", _GROUP, "", causes)
