"""Which state of an object reaches the engine, and what counts as owed."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import hypothesis
import pytest
from hypothesis import strategies as st

from moorage.api.bodies import Body
from moorage.handlers.deliveries import MAX_DELETED, Deliveries, ObjectListing


def body(name: str, version: int) -> dict[str, Any]:
    """An object in one state."""
    return {"metadata": {"name": name, "resourceVersion": str(version)}}


class Told:
    """The engine's side: the state of each object, and every call."""

    def __init__(self) -> None:
        self.state: dict[str, int] = {}
        self.calls: list[tuple[str, int | None]] = []

    def __call__(self, name: str, seen: Mapping[str, Any] | None) -> None:
        """Keep it."""
        version = None if seen is None else int(seen["metadata"]["resourceVersion"])
        self.calls.append((name, version))
        if version is None:
            self.state.pop(name, None)
        else:
            self.state[name] = version


def test_an_event_becomes_one_call() -> None:
    """Added, changed, deleted: each is told once, a deletion as None."""
    told = Told()
    deliveries = Deliveries("things", told)
    deliveries.deliver(body("a", 5), deleted=False)
    deliveries.deliver(body("a", 6), deleted=False)
    deliveries.deliver(body("a", 7), deleted=True)
    assert told.calls == [("a", 5), ("a", 6), ("a", None)]


def test_an_older_state_never_follows_a_newer_one() -> None:
    """What a slow list brings after the watch, or after a deletion, is dropped; so is a
    repetition.
    """
    told = Told()
    deliveries = Deliveries("things", told)
    deliveries.deliver(body("a", 9), deleted=True)
    deliveries.deliver(body("a", 8), deleted=False)
    deliveries.deliver(body("b", 4), deleted=False)
    deliveries.deliver(body("b", 4), deleted=False)
    assert told.calls == [("a", None), ("b", 4)]


def test_a_name_may_be_used_again() -> None:
    """An object that is made anew after its deletion is told again."""
    told = Told()
    deliveries = Deliveries("things", told)
    deliveries.deliver(body("a", 5), deleted=True)
    deliveries.deliver(body("a", 6), deleted=False)
    assert told.state == {"a": 6}


def test_owed_is_what_a_list_has_and_nobody_delivered() -> None:
    """Missing, older and vanished objects are owed; newer ones, and those made or deleted after the
    list, are not.
    """
    told = Told()
    deliveries = Deliveries("things", told)
    for name, version in (
        ("same", 3),
        ("older", 2),
        ("newer", 99),
        ("vanished", 4),
        ("made after", 98),
    ):
        deliveries.deliver(body(name, version), deleted=False)
    deliveries.deliver(body("deleted after", 97), deleted=True)
    objects = {
        name: body(name, version)
        for name, version in (
            ("same", 3),
            ("older", 5),
            ("newer", 6),
            ("missing", 7),
            ("deleted after", 8),
        )
    }
    listing = ObjectListing(10, objects)
    assert sorted(deliveries.missing(listing)) == ["missing", "older", "vanished"]
    for name in deliveries.missing(listing):
        deliveries.redeliver(name, listing)
    assert deliveries.missing(listing) == []
    assert told.state == {"same": 3, "older": 5, "newer": 99, "missing": 7, "made after": 98}


def test_deleted_names_are_forgotten_in_time() -> None:
    """Those that went last are remembered, so that nothing older follows; no more than so many."""
    told = Told()
    deliveries = Deliveries("things", told)
    for i in range(MAX_DELETED + 5):
        deliveries.deliver(body(f"t{i}", 2 * i + 1), deleted=False)
        deliveries.deliver(body(f"t{i}", 2 * i + 2), deleted=True)
    for i in range(5, MAX_DELETED + 5):
        deliveries.deliver(body(f"t{i}", 2 * i + 1), deleted=False)
    assert told.state == {}
    assert len(deliveries._deleted) == MAX_DELETED


NAMES = st.sampled_from("abc")
HISTORY = st.lists(st.tuples(NAMES, st.booleans()), max_size=12)


@hypothesis.given(HISTORY, st.randoms(use_true_random=False), st.integers(0, 12))
def test_any_order_and_any_loss_ends_in_the_lists_state(
    history: list[tuple[str, bool]], random: Any, keep: int
) -> None:
    """Whatever Kopf loses, repeats or brings late: after a list at the end the engine has exactly
    what the API server has.
    """
    told = Told()
    deliveries = Deliveries("things", told)
    events = [
        (body(name, version), deleted) for version, (name, deleted) in enumerate(history, start=1)
    ]
    final: dict[str, dict[str, Any]] = {}
    for seen, deleted in events:
        if deleted:
            final.pop(seen["metadata"]["name"], None)
        else:
            final[seen["metadata"]["name"]] = seen
    delivered = random.choices(events, k=keep) if events else []
    for seen, deleted in delivered:
        deliveries.deliver(seen, deleted)
    listing = ObjectListing(len(events), final)
    for name in deliveries.missing(listing):
        deliveries.redeliver(name, listing)
    assert told.state == {
        name: int(seen["metadata"]["resourceVersion"]) for name, seen in final.items()
    }


def test_a_receiver_that_fails_on_one_object_goes_on_with_the_others(
    caplog: pytest.LogCaptureFixture,
) -> None:
    """The object is named, and tried again when it changes."""
    took: list[str] = []

    def tell(name: str, body: Body | None) -> None:
        if name == "odd":
            raise RecursionError("too deep")
        took.append(name)

    deliveries = Deliveries("pluginconfigs", tell)
    for name in ("a", "odd", "b"):
        deliveries.deliver({"metadata": {"name": name, "resourceVersion": "1"}}, deleted=False)
    assert took == ["a", "b"]
    (record,) = caplog.records
    assert vars(record)["object"] == "odd"
