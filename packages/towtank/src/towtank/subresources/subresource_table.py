"""Subresources and reviews: what is asked beside an object, or of nobody's object at all.

``SubresourceTable.find`` is the table. The status subresource is not in it: that is plain
``update`` and ``patch`` of ``verbs``.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Mapping
from typing import Final, TypeAlias

from towtank.model.kinds import APIResource, Body, Strategy
from towtank.model.requests import RequestTarget, WriteOptions
from towtank.schemas import schema_parser
from towtank.storage.verbs import Verbs
from towtank.strategies.namespace_strategy import NamespaceFinalizeStrategy
from towtank.strategies.pod import PodEphemeralContainersStrategy, PodResizeStrategy
from towtank.subresources import pod_binding, pod_eviction, review, scale_subresource
from towtank.subresources.review import TokenIssuer

Get: TypeAlias = Callable[[Verbs, RequestTarget], Body]
Create: TypeAlias = Callable[[Verbs, RequestTarget, Body, WriteOptions], tuple[int, Body]]
"""POST: returns the answer's code too."""
Change: TypeAlias = Callable[[Verbs, RequestTarget, Callable[[Body], Body], WriteOptions], Body]
"""PUT and PATCH: handed is what makes the new body of the present one (for PUT, whatever the
present one is).
"""


@dataclasses.dataclass(frozen=True, slots=True)
class Subresource:
    """What may be asked. ``api_version`` and ``kind`` are those of the bodies; a method that is
    None is not allowed (405).
    """

    api_version: str
    kind: str
    get: Get | None = None
    create: Create | None = None
    change: Change | None = None
    body: APIResource | None = None
    """How bodies are decoded, where they are no objects that a verb decodes."""


def _get(verbs: Verbs, target: RequestTarget) -> Body:
    return verbs.get(target).body


def _under(strategy: Strategy) -> Change:
    """A change of the object itself, under other rules than its own."""

    def change(
        verbs: Verbs, target: RequestTarget, make: Callable[[Body], Body], options: WriteOptions
    ) -> Body:
        ruled = dataclasses.replace(
            target, resource=dataclasses.replace(target.resource, strategy=strategy)
        )
        return verbs.patch(ruled, make, options)

    return change


def _own(api_version: str, kind: str) -> APIResource:
    """Of a kind that is nowhere stored."""
    group, _, version = api_version.rpartition("/")
    return APIResource(group, version, "", kind, schema=schema_parser.builtin(api_version, kind))


_AUTHORIZATION: Final = "authorization.k8s.io"
_AUTHENTICATION: Final = "authentication.k8s.io"


class SubresourceTable:
    """The table, with the tokens that the cluster gives out."""

    def __init__(self, tokens: TokenIssuer) -> None:
        tokens_of = review.TokenReviews(tokens)
        binding, eviction = _own("v1", "Binding"), _own("policy/v1", "Eviction")
        scale = _own(scale_subresource.API_VERSION, scale_subresource.KIND)
        self._scale = Subresource(
            scale_subresource.API_VERSION,
            scale_subresource.KIND,
            get=scale_subresource.get,
            change=scale_subresource.change,
            body=scale,
        )
        self._table: Mapping[tuple[str, str], Subresource] = {
            ("bindings", ""): Subresource(
                "v1", "Binding", create=pod_binding.bind_by_name, body=binding
            ),
            ("pods", "binding"): Subresource(
                "v1", "Binding", create=pod_binding.bind, body=binding
            ),
            ("pods", "eviction"): Subresource(
                "policy/v1", "Eviction", create=pod_eviction.evict, body=eviction
            ),
            ("pods", "resize"): Subresource(
                "v1", "Pod", get=_get, change=_under(PodResizeStrategy())
            ),
            ("pods", "ephemeralcontainers"): Subresource(
                "v1", "Pod", get=_get, change=_under(PodEphemeralContainersStrategy())
            ),
            ("namespaces", "finalize"): Subresource(
                "v1", "Namespace", change=_under(NamespaceFinalizeStrategy())
            ),
            ("serviceaccounts", "token"): Subresource(
                f"{_AUTHENTICATION}/v1",
                "TokenRequest",
                create=tokens_of.issue,
                body=tokens_of.request,
            ),
            **{
                (f"{kind.lower()}s.{group}", ""): Subresource(f"{group}/v1", kind, create=create)
                for group, kind, create in (
                    (_AUTHORIZATION, "SelfSubjectAccessReview", review.access),
                    (_AUTHORIZATION, "SubjectAccessReview", review.access),
                    (_AUTHORIZATION, "LocalSubjectAccessReview", review.access),
                    (_AUTHORIZATION, "SelfSubjectRulesReview", review.rules),
                    (_AUTHENTICATION, "SelfSubjectReview", review.self_subject),
                    (_AUTHENTICATION, "TokenReview", tokens_of.review),
                )
            },
        }

    def find(self, target: RequestTarget) -> Subresource | None:
        """What is behind the path: of (pods, binding), of (deployments.apps, scale), of
        (tokenreviews.authentication.k8s.io, "").
        """
        if target.subresource == "scale" and target.resource.scale:
            return self._scale
        return self._table.get((target.resource.key, target.subresource))
