"""The store tells of changes."""

from __future__ import annotations

import logging

import pytest
from hypothesis import given
from hypothesis import strategies as st

from towtank.storage import store as storing
from towtank.storage.store import RevisionStore, StoreChange, TooOld


def failing(*_: object) -> None:
    """A listener with a fault."""
    raise KeyError("type")


def test_a_listener_with_a_fault_breaks_neither_the_write_nor_the_others(
    caplog: pytest.LogCaptureFixture,
) -> None:
    """It is logged; all the others hear of every change, in order."""
    store, heard = RevisionStore(), list[str]()

    def heard_of(*told: object) -> None:
        change = told[-1]
        assert isinstance(change, StoreChange)
        heard.append(change.type)

    store.subscribe("ships", failing)
    store.subscribe("ships", heard_of)
    store.subscribe_to_all(failing)
    store.subscribe_to_all(heard_of)
    with caplog.at_level(logging.ERROR):
        store.put("ships", "", {"metadata": {"name": "a"}})
        store.remove("ships", "", "a")
    assert heard == ["ADDED", "ADDED", "DELETED", "DELETED"]
    assert [record.message for record in caplog.records] == ["a change was not followed"] * 4


@given(
    st.lists(
        st.tuples(st.booleans(), st.text("ab-", max_size=2), st.text("ab", min_size=1, max_size=2))
    ),
    st.text("ab-", max_size=2),
)
def test_lists_are_in_order(writes: list[tuple[bool, str, str]], namespace: str) -> None:
    """By namespace and name, whatever came and went."""
    store, there = RevisionStore(), set[tuple[str, str]]()
    for made, where, name in writes:
        if made:
            store.put("ships", where, {"metadata": {"name": name}})
            there.add((where, name))
        else:
            store.remove("ships", where, name)
            there.discard((where, name))
    assert [one.key for one in store.list("ships", namespace)] == sorted(
        key for key in there if namespace in ("", key[0])
    )


def test_the_log_forgets_by_bytes(monkeypatch: pytest.MonkeyPatch) -> None:
    """The oldest first; one change is kept whatever its size."""
    monkeypatch.setattr(storing, "MAX_LOG_BYTES", 1000)
    store = RevisionStore()
    for size in (300, 300, 300, 300):
        store.put("ships", "", {"metadata": {"name": "a"}, "text": "x" * size})
    assert [change.revision for change in store.since("ships", 3)] == [4, 5]
    with pytest.raises(TooOld):
        store.since("ships", 2)
    store.put("ships", "", {"metadata": {"name": "a"}, "text": "x" * 2000})
    assert [change.revision for change in store.since("ships", 5)] == [6]
