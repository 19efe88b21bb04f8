"""An embedded cluster without sockets, for cases."""

from __future__ import annotations

import itertools
from datetime import UTC, datetime
from typing import Any

import msgspec

from towtank.model.api_errors import ApiError
from towtank.model.catalogue import Catalogue
from towtank.model.kinds import Body
from towtank.model.requests import DeleteOptions, RequestTarget, WriteOptions
from towtank.storage import object_meta
from towtank.storage.store import RevisionStore
from towtank.storage.verbs import Verbs
from towtank.strategies import kind_registry
from towtank.subresources.subresource_table import Subresource, SubresourceTable
from towtank_tests.strategies.masking import masked


class FakeTokenIssuer:
    """Tokens that say whose they are."""

    def issue(self, user: str, seconds: int) -> str:
        """Readable."""
        return f"{user} {seconds}"

    def user(self, token: str) -> str:
        """Of our tokens."""
        return token.partition(" ")[0] if " " in token else ""


class CaseCluster:
    """As much of an HTTP layer as the cases need."""

    def __init__(self) -> None:
        numbers = itertools.count(1)
        self.verbs = Verbs(
            RevisionStore(),
            lambda: datetime(2030, 1, 1, tzinfo=UTC),
            lambda: f"00000000-0000-0000-0000-{next(numbers):012}",
        )
        self.catalogue = Catalogue(kind_registry.resources())
        self._subresources = SubresourceTable(FakeTokenIssuer())
        for body in kind_registry.initial_objects():
            resource = self.catalogue.of_kind(body["apiVersion"], body["kind"])
            assert resource
            self.verbs.create(RequestTarget(resource), body, WriteOptions())

    def ask(self, method: str, path: str, body: Body | None) -> list[Any]:
        """Code and masked body of an answer."""
        try:
            code, answer = self._answer(
                method, self.target(path), msgspec.json.decode(msgspec.json.encode(body))
            )
        except ApiError as problem:
            code, answer = problem.code, problem.status()
        return [code, masked(answer)]

    def target(self, path: str) -> RequestTarget:
        """What a path is about."""
        _, kind, *parts = path.split("/")
        group = parts.pop(0) if kind == "apis" else ""
        version = parts.pop(0)
        namespace = ""
        if parts[0] == "namespaces" and len(parts) > 2 and parts[2] not in {"finalize", "status"}:
            namespace, parts = parts[1], parts[2:]
        resource = self.catalogue.find(group, version, parts[0])
        assert resource, path
        name, subresource = (*parts[1:], "", "")[:2]
        return RequestTarget(resource, namespace, name, subresource)

    def _answer(self, method: str, target: RequestTarget, body: Any) -> tuple[int, Body]:
        if form := target.resource.mapping:
            code, answer = self._plain(
                method,
                RequestTarget(form.stored, target.namespace, target.name),
                form.to_stored(body or {}),
            )
            return code, form.to_served(answer)
        special = self._subresources.find(target)
        return (
            self._special(special, method, target, body)
            if special
            else self._plain(method, target, body)
        )

    def _special(
        self, special: Subresource, method: str, target: RequestTarget, body: Any
    ) -> tuple[int, Body]:
        if special.body and method in ("POST", "PUT"):
            body = object_meta.decoded(special.body, body, WriteOptions())
        if method == "POST":
            assert special.create
            return special.create(self.verbs, target, body, WriteOptions())
        if method == "GET":
            assert special.get
            return 200, special.get(self.verbs, target)
        assert special.change
        return 200, special.change(
            self.verbs,
            target,
            lambda old: body if method == "PUT" else merged(old, body),
            WriteOptions(),
        )

    def _plain(self, method: str, target: RequestTarget, body: Any) -> tuple[int, Body]:
        match method:
            case "POST":
                return 201, self.verbs.create(target, body, WriteOptions())
            case "GET":
                return 200, self.verbs.get(target).body
            case "MERGE":
                return 200, self.verbs.patch(target, lambda old: merged(old, body), WriteOptions())
            case _:
                assert method == "DELETE"
                propagation = (body or {}).get("propagationPolicy", "")
                return 200, self.verbs.delete(target, DeleteOptions(propagation=propagation))


def merged(old: Any, patch: Any) -> Any:
    """A merge patch's result."""
    if not isinstance(patch, dict):
        return patch
    base = old if isinstance(old, dict) else {}
    kept = {key: value for key, value in base.items() if key not in patch}
    return kept | {
        key: merged(base.get(key), value) for key, value in patch.items() if value is not None
    }
