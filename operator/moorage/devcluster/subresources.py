"""Subresources and reviews: what is asked beside an object, or of nobody's object at all.

``Subresources.find`` is the table. The status subresource is not in it: that is plain ``update`` and ``patch`` of ``verbs``.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Mapping
from typing import Protocol, TypeAlias

from moorage.devcluster.kinds import Body
from moorage.devcluster.requests import Target, WriteOptions
from moorage.devcluster.verbs import Verbs

Get: TypeAlias = Callable[[Verbs, Target], Body]
Create: TypeAlias = Callable[[Verbs, Target, Body, WriteOptions], tuple[int, Body]]
"""POST: returns the answer's code too."""
Change: TypeAlias = Callable[[Verbs, Target, Callable[[Body], Body], WriteOptions], Body]
"""PUT and PATCH: handed is what makes the new body of the present one (for PUT, whatever the present one is)."""


class Tokens(Protocol):
    """Who has which token."""

    def issue(self, user: str, seconds: int) -> str:
        """A new token of a user such as ``system:serviceaccount:default:operator``."""

    def user(self, token: str) -> str:
        """Whose token this is; "" for a token that is not ours, or not any more."""


@dataclasses.dataclass(frozen=True, slots=True)
class Subresource:
    """What may be asked. ``api_version`` and ``kind`` are those of the bodies; a method that is None is not allowed (405)."""

    api_version: str
    kind: str
    get: Get | None = None
    create: Create | None = None
    change: Change | None = None


class Subresources:
    """The table, with the tokens that the cluster gives out."""

    def __init__(self, tokens: Tokens) -> None:
        self._tokens = tokens
        self._table: Mapping[tuple[str, str], Subresource] = {}

    def find(self, target: Target) -> Subresource | None:
        """What is behind the path: of (pods, binding), of (deployments.apps, scale), of (tokenreviews.authentication.k8s.io, "")."""
        return self._table.get((target.resource.key, target.subresource))
