"""What tests/rig/pod_groups says of audit logs: which bindings of a gang it accepts."""

from __future__ import annotations

import datetime
from typing import Any

import pytest

from tests.rig.audits import Answer, AuditEvent, Target, User
from tests.rig.pod_groups import whole_bindings

PLACE = "here"
NOON = datetime.datetime(2030, 1, 1, 12, tzinfo=datetime.UTC)


def request(second: int, verb: str, resource: str, name: str, code: int = 201) -> AuditEvent:
    """A request of this time; resource is `pods`, `pods/binding` and so on. Pods' UIDs are their
    names.
    """
    plural, _, subresource = resource.partition("/")
    body: Any = {"metadata": {"uid": name}, "target": {"name": "n"}} if subresource else None
    where = NOON + datetime.timedelta(seconds=second)
    return AuditEvent(
        stage="ResponseComplete",
        verb=verb,
        user=User("somebody"),
        request_received_timestamp=where,
        stage_timestamp=where,
        request_uri=f"/{resource}/{name}",
        object_ref=Target(plural, subresource, "", "" if plural == "nodes" else PLACE, name),
        response_status=Answer(code),
        request_object=body,
    )


BOTH = [request(2, "create", "pods/binding", "a"), request(4, "create", "pods/binding", "b")]


@pytest.mark.parametrize(
    "more",
    [
        [],
        [request(3, "patch", "nodes", "elsewhere-0")],
        [request(1, "create", "nodes", "here-0"), request(1, "delete", "pods", "victim")],
        [request(3, "get", "nodes", "here-0"), request(3, "patch", "pods/status", "b")],
        [request(3, "create", "pods/binding", "b", 409)],
        [request(5, "create", "pods", "c")],
        [request(3, "create", "pods/binding", "of-no-gang")],
    ],
)
def test_a_gang_whose_minimum_fitted(more: list[AuditEvent]) -> None:
    """Room that came before, reads, refused bindings and later pods change nothing."""
    bound = whole_bindings([*more, *BOTH], PLACE, {"a", "b"}, 2)
    assert [bind.pod for bind in bound] == ["a", "b"]


@pytest.mark.parametrize(
    ("more", "wrong"),
    [
        ([request(3, "create", "nodes", "")], "before 2 fitted"),
        ([request(3, "patch", "nodes/status", "here-0")], "before 2 fitted"),
        ([request(3, "delete", "pods", "victim", 200)], "before 2 fitted"),
        ([request(3, "create", "pods/eviction", "victim")], "before 2 fitted"),
        ([request(3, "create", "pods", "b")], "before 2 fitted"),
        ([request(6, "create", "pods/binding", "a")], "bound twice"),
    ],
)
def test_a_gang_whose_minimum_did_not_fit(more: list[AuditEvent], wrong: str) -> None:
    """What gives room or members after the first binding; a second binding of one pod."""
    with pytest.raises(AssertionError, match=wrong):
        whole_bindings([*BOTH, *more], PLACE, {"a", "b"}, 2)


def test_a_gang_of_which_too_few_were_bound() -> None:
    """One of two."""
    with pytest.raises(AssertionError, match="1 of 2 were bound"):
        whole_bindings(BOTH[:1], PLACE, {"a", "b"}, 2)
