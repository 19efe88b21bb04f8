"""What of a namespace is others'."""

from __future__ import annotations

from typing import Any

import pytest

from moorage.apps.install.guests import Residents, guests, uids
from moorage.apps.install.object_keys import INSTANCE, PART_OF, SHARD_OF, Document


def resident(kind: str, name: str, *, owner: str = "", **labels: str) -> Document:
    """An object of a namespace, by its metadata."""
    metadata: dict[str, Any] = {"name": name, "namespace": "n", "uid": name, "labels": labels}
    owners = {"ownerReferences": [{"uid": owner}]} if owner else {}
    return {"apiVersion": "v1", "kind": kind, "metadata": {**metadata, **owners}}


OURS = {
    "an installation": resident("Role", "a", **{PART_OF: "moorage", INSTANCE: "moorage"}),
    "a shard": resident("Role", "a", **{PART_OF: "moorage", SHARD_OF: "moorage"}),
    "an issuer's Secret": resident("Secret", "moorage-admission-tls"),
    "everybody's authorities": resident("ConfigMap", "kube-root-ca.crt"),
    "the usual account": resident("ServiceAccount", "default"),
    "an Event": resident("Event", "e"),
    "owned by what has gone": resident("CertificateRequest", "r", owner="gone"),
}
THEIRS = {
    "another installation": resident("Role", "a", **{PART_OF: "moorage", INSTANCE: "blue"}),
    "a label of another's": resident("Role", "a", **{INSTANCE: "moorage"}),
    "a claim": resident("PersistentVolumeClaim", "data"),
    "an account": resident("ServiceAccount", "builder"),
    "of an owner elsewhere": resident("Secret", "s", owner="of the cluster"),
}


@pytest.mark.parametrize("one", OURS.values(), ids=OURS)
def test_what_is_no_guest(one: Document) -> None:
    """What is ours, everybody's, or passes by itself."""
    assert not [*guests(Residents([one]), {"moorage"}, (), {"gone"})]


@pytest.mark.parametrize("one", THEIRS.values(), ids=THEIRS)
def test_what_is_a_guest(one: Document) -> None:
    """It is named, once; what it owns goes without saying. What the operator wrote is none."""
    owned = resident("Pod", "p", owner=one["metadata"]["name"])
    (why,) = guests(Residents([one, owned]), {"moorage"}, ())
    assert why == f"{one['kind']} n/{one['metadata']['name']} is there, which is not ours"
    assert not [*guests(Residents([one]), {"moorage"}, [one])]


def test_what_cannot_be_looked_at_may_be_a_guest() -> None:
    """A kind of an API server that does not answer."""
    assert [*guests(Residents((), ["no answer"]), {"moorage"}, ())] == ["no answer"]
    assert [*uids(Residents([resident("Pod", "p")]))] == ["p"]
