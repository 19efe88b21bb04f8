"""The store tells of changes."""

from __future__ import annotations

import logging

import pytest

from moorage.devcluster.storage.store import Change, Store


def failing(*_: object) -> None:
    """A listener with a fault."""
    raise KeyError("type")


def test_a_listener_with_a_fault_breaks_neither_the_write_nor_the_others(caplog: pytest.LogCaptureFixture) -> None:
    """It is logged; all the others hear of every change, in order."""
    store, heard = Store(), list[str]()

    def heard_of(*told: object) -> None:
        change = told[-1]
        assert isinstance(change, Change)
        heard.append(change.type)

    store.listen("ships", failing)
    store.listen("ships", heard_of)
    store.listen_to_all(failing)
    store.listen_to_all(heard_of)
    with caplog.at_level(logging.ERROR):
        store.put("ships", "", {"metadata": {"name": "a"}})
        store.remove("ships", "", "a")
    assert heard == ["ADDED", "ADDED", "DELETED", "DELETED"]
    assert [record.message for record in caplog.records] == ["a change was not followed"] * 4
