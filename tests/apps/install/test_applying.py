"""In which order objects are applied and removed, and for how long an API server is asked again."""

from __future__ import annotations

import asyncio
import copy
import random
from typing import Any

import pytest

from moorage.apps.exit_status import ExitStatus
from moorage.apps.install.applying import (
    ESTABLISHED_SECONDS,
    RETRIED_SECONDS,
    Applying,
    InstallationFailed,
    in_order,
    stage,
    stale,
)
from moorage.apps.install.cluster_objects import FIELD_MANAGER, KindNotServed
from moorage.apps.install.object_keys import Document, Kind, ObjectKey, key_of
from moorage.apps.install.variants import Options, documents
from moorage.ports.errors import Conflict, EdgeError, Invalid, Retryable
from tests.fakes.clocks import EagerClock

ALL = documents("default", ("admission", "assign", "assign-webhook"), Options())
BUSY = Retryable("busy", status=429)


class FakeObjects:
    """An API server; ``failures`` are raised by the next calls of apply, ``served`` says whether
    CRDs become served.
    """

    def __init__(self, *failures: EdgeError, served: bool = True) -> None:
        self.stored: dict[ObjectKey, Document] = {}
        self.written: list[ObjectKey] = []
        self.failures = [*failures]
        self.served = served
        self.version = 0

    async def get(self, key: ObjectKey) -> Document | None:
        """A copy."""
        return self.stored.get(key)

    async def apply(self, document: Document, *, force: bool) -> Document:
        """Stores it; another version where that changes it."""
        if self.failures:
            raise self.failures.pop(0)
        key = key_of(document)
        self.written.append(key)
        before = self.stored.get(key)
        if before is None or before["sent"] != document:
            self.version += 1
            status: dict[str, Any] = {}
            if document["kind"] == "CustomResourceDefinition":
                state = "True" if self.served else "False"
                conditions = [{"type": "Established", "status": state, "message": "not yet"}]
                status = {"status": {"conditions": conditions}}
            written = {"manager": FIELD_MANAGER, "time": self.version}
            metadata = {
                **document["metadata"],
                "resourceVersion": str(self.version),
                "uid": "u",
                "managedFields": [written],
            }
            self.stored[key] = {**document, "metadata": metadata, "sent": document, **status}
        return self.stored[key]

    async def delete(self, key: ObjectKey, *, uid: str) -> bool:
        """Only that object."""
        if uid != "u":
            raise Conflict("DELETE", 409)
        self.written.append(key)
        return self.stored.pop(key, None) is not None


def applying(objects: FakeObjects) -> tuple[Applying, EagerClock]:
    """With time that passes by itself."""
    clock = EagerClock()
    return Applying(objects, clock, lambda _: None), clock


@pytest.mark.parametrize("seed", range(5))
def test_the_order(seed: int) -> None:
    """Whatever the order of the documents: definitions, namespace, rights, configuration, the
    Deployment, webhooks.
    """
    shuffled = [*ALL]
    random.Random(seed).shuffle(shuffled)
    objects = FakeObjects()
    asyncio.run(applying(objects)[0].apply(shuffled))
    kinds = [key.kind for key in objects.written]
    assert len(kinds) == len(ALL)
    for first, then in (
        ("CustomResourceDefinition", "Namespace"),
        ("Namespace", "ServiceAccount"),
        ("Namespace", "Role"),
        ("ClusterRoleBinding", "ConfigMap"),
        ("RoleBinding", "Deployment"),
        ("ConfigMap", "Deployment"),
        ("Service", "Deployment"),
        ("Deployment", "ValidatingWebhookConfiguration"),
        ("Deployment", "MutatingWebhookConfiguration"),
    ):
        last = max(i for i, kind in enumerate(kinds) if kind == first)
        assert last < kinds.index(then), (first, then)


def test_a_second_time_nothing_changes() -> None:
    """It is told apart from what is made and what changes."""
    objects = FakeObjects()
    asyncio.run(applying(objects)[0].apply(ALL))
    again, _ = applying(objects)
    asyncio.run(again.apply([*ALL[:-1], {**ALL[-1], "spec": {}}]))
    assert (again.changes.made, again.changes.changed) == ([], [key_of(ALL[-1])])
    assert len(again.changes.unchanged) == len(ALL) - 1


def test_what_controllers_write_is_no_change_of_ours() -> None:
    """Between a look and the write a status may change."""
    objects = FakeObjects()
    asyncio.run(applying(objects)[0].apply(ALL))
    (deployment,) = (one for one in ALL if one["kind"] == "Deployment")
    looked_at = copy.deepcopy(objects.stored[key_of(deployment)])
    looked_at["metadata"]["resourceVersion"] = "older"

    async def get(_: ObjectKey) -> Document:
        return looked_at

    objects.get = get  # type: ignore[assignment]
    again, _ = applying(objects)
    asyncio.run(again.apply([deployment]))
    assert again.changes.unchanged == [key_of(deployment)]


def test_what_is_stale() -> None:
    """What is in the set no more goes, in the order back; CRDs and the Namespace never."""
    kept = [one for one in ALL if one["kind"] in ("ConfigMap", "ServiceAccount")]
    found = stale(ALL, kept)
    assert {key_of(one) for one in found} == {
        key_of(one)
        for one in ALL
        if one not in kept and one["kind"] not in ("Namespace", "CustomResourceDefinition")
    }
    assert [stage(one) for one in found] == sorted((stage(one) for one in found), reverse=True)
    assert stale(ALL, ALL) == []


def test_removing() -> None:
    """What is told is what was there; one that has come in its place stays."""
    objects = FakeObjects()
    applied, _ = applying(objects)
    asyncio.run(applied.apply(ALL[:5]))
    mine = [objects.stored[key_of(one)] for one in ALL[3:5]]
    another = {**mine[0], "metadata": {**mine[0]["metadata"], "uid": "another"}}
    asyncio.run(applied.remove([another, mine[1], mine[1]]))
    assert applied.changes.removed == [key_of(ALL[4])]
    assert key_of(ALL[3]) in objects.stored


def test_a_busy_api_server_is_asked_again() -> None:
    """After the time that it says, for a while."""
    slow = Retryable("busy", after=7.0, status=429)
    objects = FakeObjects(slow, BUSY)
    patient, clock = applying(objects)
    asyncio.run(patient.apply(ALL[3:4]))
    assert (clock.slept, objects.written) == ([7.0, 0.5], [key_of(ALL[3])])
    given_up, clock = applying(FakeObjects(*[BUSY] * 1000))
    with pytest.raises(Retryable):
        asyncio.run(given_up.apply(ALL[3:4]))
    assert sum(clock.slept) == RETRIED_SECONDS


def test_definitions_that_are_not_served() -> None:
    """They are waited for, and then told with what the API server says."""
    waiting, clock = applying(FakeObjects(served=False))
    with pytest.raises(InstallationFailed, match="Established: not yet") as error:
        asyncio.run(waiting.apply(ALL))
    assert error.value.status is ExitStatus.NO
    assert sum(clock.slept) == ESTABLISHED_SECONDS


def test_refusals() -> None:
    """The object is named; a kind that is not served is left out."""
    refused = FakeObjects(Invalid("PATCH", 422, "Invalid", "field is immutable"))
    with pytest.raises(InstallationFailed, match=r"refuses .*: field is immutable"):
        asyncio.run(applying(refused)[0].apply(ALL[3:4]))
    lacking, _ = applying(FakeObjects(KindNotServed(Kind("v9", "Certificate"))))
    asyncio.run(lacking.apply(ALL[3:5]))
    first, second = in_order(ALL[3:5])
    assert (lacking.changes.left_out, lacking.changes.made) == ([key_of(first)], [key_of(second)])
