"""Which object is meant, and how long it may take: said by who deletes, evicts, binds and
replaces.
"""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from towtank.model.times import after, timestamp
from towtank_tests.in_memory import InMemoryCluster, content

POD = "/api/v1/namespaces/default/pods/one"
MERGE = "application/merge-patch+json"
HUGE = (1 << 63) - 1
SPEC: dict[str, Any] = {"containers": [{"name": "c", "image": "i"}]}
GONE, CHANGED = (
    "The object might have been deleted and then recreated",
    "The object might have been modified",
)


def world(**spec: Any) -> InMemoryCluster:
    """With a pod that is bound."""
    asked = InMemoryCluster()
    assert (
        asked.ask(
            "POST",
            POD.removesuffix("/one"),
            {"metadata": {"name": "one"}, "spec": {**SPEC, **spec}},
        ).code
        == 201
    )
    return asked


def bound(**spec: Any) -> InMemoryCluster:
    """The same, bound."""
    asked = world(**spec)
    assert (
        asked.ask(
            "POST", f"{POD}/binding", {"metadata": {"name": "one"}, "target": {"name": "n"}}
        ).code
        == 201
    )
    return asked


@pytest.mark.parametrize(
    ("wanted", "record", "storage"),
    [
        (
            {"uid": "x"},
            f"the UID in the precondition (x) does not match the UID in record (UID). {GONE}",
            "UID: x, UID",
        ),
        (
            {"resourceVersion": "1"},
            (
                f"the ResourceVersion in the precondition (1) does not match the ResourceVersion "
                f"in record (VERSION). {CHANGED}"
            ),
            "ResourceVersion: 1, VERSION",
        ),
    ],
)
def test_another_object_is_not_touched(wanted: dict[str, Any], record: str, storage: str) -> None:
    """409, in the words of deletions or of storage; the object stays as it is."""
    asked = world()
    before = content(asked.ask("GET", POD))
    uid, version = before["metadata"]["uid"], before["metadata"]["resourceVersion"]
    for answer in (
        asked.ask("DELETE", POD, {"preconditions": wanted}),
        asked.ask(
            "POST",
            f"{POD}/eviction",
            {"metadata": {"name": "one"}, "deleteOptions": {"preconditions": wanted}},
        ),
    ):
        said = content(answer)["message"]
        assert (answer.code, said.partition(": ")[2]) == (
            409,
            record.replace("UID)", f"{uid})").replace("VERSION", version),
        )
    answer = asked.ask(
        "POST", f"{POD}/binding", {"metadata": {"name": "one", **wanted}, "target": {"name": "n"}}
    )
    name, value, found = storage.replace(",", ":").split(": ")
    why = (
        f"Precondition failed: {name} in precondition: {value}, {name} in object meta: "
        f"{uid if found == 'UID' else version}"
    )
    where = "Key: /registry/pods/default/one, ResourceVersion: 0"
    assert answer.code == 409
    assert content(answer)["message"].endswith(
        f"StorageError: invalid object, Code: 4, {where}, AdditionalErrorMsg: {why}"
    )
    replaced = asked.ask("PUT", POD, {**before, "metadata": {**before["metadata"], **wanted}})
    assert replaced.code == 409
    assert content(asked.ask("GET", POD)) == before


@pytest.mark.parametrize("wanted", ["uid", "resourceVersion"])
def test_the_object_that_is_meant_goes(wanted: str) -> None:
    """By eviction too."""
    for path in (POD, f"{POD}/eviction"):
        asked = world()
        options = {"preconditions": {wanted: content(asked.ask("GET", POD))["metadata"][wanted]}}
        body = options if path == POD else {"metadata": {"name": "one"}, "deleteOptions": options}
        assert asked.ask("DELETE" if path == POD else "POST", path, body).code < 300
        assert asked.ask("GET", POD).code == 404


# ---- seconds -------------------------------------------------------------------------------------


@given(
    st.integers(0, 253_402_300_799).map(lambda number: datetime.fromtimestamp(number, UTC)),
    st.integers(0, HUGE) | st.floats(min_value=0),
)
def test_there_is_always_a_time_later(start: datetime, seconds: float) -> None:
    """However much later: one that can be written and read."""
    assert datetime.fromisoformat(timestamp(after(start, seconds))) >= start


@pytest.mark.parametrize("seconds", [HUGE, 10**12, 10**30, 10**400, -HUGE])
def test_any_grace_is_answered(seconds: int, caplog: pytest.LogCaptureFixture) -> None:
    """Of a deletion's query and body, of an eviction, and of the pod; the controllers go on."""
    query = ("DELETE", f"{POD}?gracePeriodSeconds={seconds}", None)
    body = ("DELETE", POD, {"gracePeriodSeconds": seconds})
    evicted = (
        "POST",
        f"{POD}/eviction",
        {"metadata": {"name": "one"}, "deleteOptions": {"gracePeriodSeconds": seconds}},
    )
    for method, path, sent in (query, body, evicted):
        asked = bound()
        assert asked.ask(method, path, sent).code == (
            400 if abs(seconds) > HUGE else 201 if method == "POST" else 200
        )
        asked.settle()
    assert not caplog.records


def test_a_pod_may_want_to_live_for_ever() -> None:
    """Its own grace is of any size."""
    asked = bound(terminationGracePeriodSeconds=HUGE)
    going = content(asked.ask("DELETE", POD))["metadata"]
    assert (going["deletionGracePeriodSeconds"], going["deletionTimestamp"]) == (
        HUGE,
        "9999-12-31T23:59:59Z",
    )


@pytest.mark.parametrize(
    ("seconds", "code"),
    [
        (None, 201),
        (600, 201),
        (1 << 32, 201),
        ((1 << 32) + 1, 422),
        (10**18, 422),
        (HUGE + 1, 400),
        (599, 422),
        ("a", 400),
    ],
)
def test_tokens_have_a_lifetime_within_limits(seconds: Any, code: int) -> None:
    """Ten minutes to 2^32 seconds."""
    asked = InMemoryCluster()
    accounts = "/api/v1/namespaces/default/serviceaccounts"
    asked.ask("POST", accounts, {"metadata": {"name": "one"}})
    assert (
        asked.ask("POST", f"{accounts}/one/token", {"spec": {"expirationSeconds": seconds}}).code
        == code
    )
