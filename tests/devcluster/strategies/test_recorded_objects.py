"""The embedded cluster answers the recorded requests as the kube-apiserver did (record.py)."""

from __future__ import annotations

import itertools
import json
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Final

import msgspec
import pytest

from moorage.devcluster import builtins
from moorage.devcluster.catalogue import Catalogue
from moorage.devcluster.kinds import Body
from moorage.devcluster.problems import Problem
from moorage.devcluster.requests import DeleteOptions, Target, WriteOptions
from moorage.devcluster.store import Store
from moorage.devcluster.subresources import Subresource, Subresources
from moorage.devcluster.verbs import Verbs
from tests.devcluster.strategies.cases import CASES
from tests.devcluster.strategies.masking import masked

_RECORDED: Final = json.loads((Path(__file__).parent.parent / "recorded_objects.json").read_text())


class _Tokens:
    def issue(self, user: str, seconds: int) -> str:
        return f"{user} {seconds}"

    def user(self, token: str) -> str:
        return ""


class _Cluster:
    """As much of an HTTP layer as the cases need."""

    def __init__(self) -> None:
        numbers = itertools.count(1)
        self._verbs = Verbs(Store(), lambda: datetime(2030, 1, 1, tzinfo=UTC), lambda: f"00000000-0000-0000-0000-{next(numbers):012}")
        self._catalogue = Catalogue(builtins.resources())
        self._subresources = Subresources(_Tokens())
        for body in builtins.initial_objects():
            resource = self._catalogue.of_kind(body["apiVersion"], body["kind"])
            assert resource
            self._verbs.create(Target(resource), body, WriteOptions())

    def ask(self, method: str, path: str, body: Body | None) -> list[Any]:
        try:
            code, answer = self._answer(method, self._target(path), msgspec.json.decode(msgspec.json.encode(body)))
        except Problem as problem:
            code, answer = problem.code, problem.status()
        return [code, masked(answer)]

    def _target(self, path: str) -> Target:
        _, kind, *parts = path.split("/")
        group = parts.pop(0) if kind == "apis" else ""
        version = parts.pop(0)
        namespace = ""
        if parts[0] == "namespaces" and len(parts) > 2 and parts[2] not in {"finalize", "status"}:
            namespace, parts = parts[1], parts[2:]
        resource = self._catalogue.find(group, version, parts[0])
        assert resource, path
        return Target(resource, namespace, *parts[1:])

    def _answer(self, method: str, target: Target, body: Any) -> tuple[int, Body]:
        if form := target.resource.form:
            code, answer = self._plain(method, Target(form.stored, target.namespace, target.name), form.inward(body or {}))
            return code, form.outward(answer)
        special = self._subresources.find(target)
        return self._special(special, method, target, body) if special else self._plain(method, target, body)

    def _special(self, special: Subresource, method: str, target: Target, body: Any) -> tuple[int, Body]:
        if method == "POST":
            assert special.create
            return special.create(self._verbs, target, body, WriteOptions())
        if method == "GET":
            assert special.get
            return 200, special.get(self._verbs, target)
        assert special.change
        return 200, special.change(self._verbs, target, lambda old: body if method == "PUT" else _merged(old, body), WriteOptions())

    def _plain(self, method: str, target: Target, body: Any) -> tuple[int, Body]:
        match method:
            case "POST":
                return 201, self._verbs.create(target, body, WriteOptions())
            case "GET":
                return 200, self._verbs.get(target).body
            case "MERGE":
                return 200, self._verbs.patch(target, lambda old: _merged(old, body), WriteOptions())
            case _:
                assert method == "DELETE"
                return 200, self._verbs.delete(target, DeleteOptions())


def _merged(old: Any, patch: Any) -> Any:
    if not isinstance(patch, dict):
        return patch
    base = old if isinstance(old, dict) else {}
    kept = {key: value for key, value in base.items() if key not in patch}
    return kept | {key: _merged(base.get(key), value) for key, value in patch.items() if value is not None}


@pytest.mark.parametrize("name", CASES)
def test_answers_are_those_of_a_kube_apiserver(name: str) -> None:
    """Bodies and refusals, word for word but for what masking leaves out."""
    cluster = _Cluster()
    for step, expected in zip(CASES[name], _RECORDED[name], strict=True):
        answered = cluster.ask(*step)
        if step[0] == "DELETE" and expected[1].get("kind") == "Status" and answered[0] == expected[0] == 200:
            continue  # the layer above makes the Status of a removal
        assert answered == expected, step
