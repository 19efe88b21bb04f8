"""The history of a profile."""

from __future__ import annotations

import dataclasses
import datetime
import io
from typing import Any

import pytest

from moorage.apps.printing import terminal
from moorage.apps.revisions.history import document, entries, table
from moorage.apps.revisions.profile_view import KeptRevision, ProfileView, Said
from tests.api.profiles import RESOLVER, a_profile
from tests.apps.outputs.reading import written

NOW = datetime.datetime(2026, 11, 27, 14, 32, tzinfo=datetime.UTC)
FIT = "NodeResourcesFit"


def said(**spec: Any) -> Said:
    """A profile with this spec."""
    return Said(a_profile(spec), {})


def viewed(status: dict[str, Any], spec: dict[str, Any], *stored: KeptRevision) -> ProfileView:
    """The profile, as its status is."""
    return ProfileView(Said({**a_profile(spec), "status": status}, {}), stored)


STORED = (
    KeptRevision("bb", 9, "2026-11-24T14:32:00Z", "argocd", said(weights={FIT: 4})),
    KeptRevision("aa", 3, "2026-11-23T14:32:00Z", "", said()),
)


def test_newest_first_with_what_each_changed() -> None:
    """Since when, for how long, by whom."""
    found = entries(viewed({"activeRevision": "bb"}, {}, *STORED), RESOLVER, NOW)
    assert [(one.revision, one.state, one.changed_by) for one in found] == [
        ("bb", "active", "argocd"),
        ("aa", "-", ""),
    ]
    assert [one.seconds for one in found] == [3 * 86400, 86400]
    assert [one.change for one in found] == [f"weight of {FIT} 1 -> 4", "first that is kept"]


def test_states_of_what_decides() -> None:
    """Whether it is what the spec says."""
    condition = {"type": "Active", "status": "False", "reason": "LastGood"}
    status = {"activeRevision": "bb", "conditions": [condition]}
    assert entries(viewed(status, {}, *STORED), RESOLVER, NOW)[0].state == "active, last good"
    paused = viewed({"activeRevision": "bb"}, {"paused": True}, *STORED)
    assert entries(paused, RESOLVER, NOW)[0].state == "active, paused"


def test_a_trial_stands_above() -> None:
    """With what it would change; one that regressed was rolled back."""
    status: dict[str, Any] = {
        "activeRevision": "bb",
        "desiredRevision": "cc",
        "trial": {"revision": "cc", "since": "2026-11-27T14:22:00Z", "verdict": "SoFarNoWorse"},
    }
    first, *_ = entries(viewed(status, {"weights": {FIT: 5}}, *STORED), RESOLVER, NOW)
    assert (first.revision, first.state, first.seconds) == ("cc", "trial", 600)
    assert first.change == f"weight of {FIT} 4 -> 5"
    counts = {"regressions": 3, "decided": 41}
    status["trial"] = {**status["trial"], **counts, "verdict": "Regressed"}
    first, *_ = entries(viewed(status, {}, *STORED), RESOLVER, NOW)
    assert (first.state, first.seconds) == ("rolled back", None)
    assert first.change == "3 regressions in 41 decided pods"
    status["trial"] = {**status["trial"], "verdict": "Passed"}
    first, *_ = entries(viewed(status, {}, *STORED), RESOLVER, NOW)
    assert (first.revision, first.state) == ("bb", "active")


@pytest.mark.parametrize(("time", "by"), [("2026-11-24T14:31:59Z", ""), ("2026-11-27Z", "me")])
def test_who_began_a_trial(time: str, by: str) -> None:
    """Nobody is named for a change that was there already: fields that go leave no trace."""
    status = {"activeRevision": "bb", "trial": {"revision": "cc", "verdict": "SoFarNoWorse"}}
    view = viewed(status, {}, dataclasses.replace(STORED[0], changed_at="2026-11-24T14:31:59Z"))
    entry = {"manager": "me", "time": time, "fieldsV1": {"f:spec": {}}}
    view.said.profile["metadata"]["managedFields"] = [entry]
    assert entries(view, RESOLVER, NOW)[0].changed_by == by


def test_what_cannot_be_resolved_here_is_told() -> None:
    """As of a plugin that only the operator has."""
    strange = KeptRevision("cc", 10, "2026-11-25T14:32:00Z", "", said(weights={"Rack": 1}))
    found = entries(viewed({}, {}, strange, *STORED), RESOLVER, NOW)
    assert found[0].change.startswith("cannot be told here: spec.weights[Rack]")


def test_the_table() -> None:
    """One line a revision."""
    text = io.StringIO()
    found = entries(viewed({"activeRevision": "bb"}, {}, *STORED), RESOLVER, NOW)
    table(found, terminal.open_console(text))
    assert text.getvalue().splitlines() == [
        "REVISION  STATE   SINCE         FOR  BY      CHANGE",
        f"bb        active  24 Nov 14:32  3d   argocd  weight of {FIT} 1 -> 4",
        "aa        -       23 Nov 14:32  1d   -       first that is kept",
    ]
    listed = written("History", document(viewed({}, {}), found))["revisions"]
    assert listed[0] == {
        "revision": "bb",
        "state": "active",
        "since": "2026-11-24T14:32:00Z",
        "seconds": 3 * 86400,
        "changedBy": "argocd",
        "number": 9,
        "changes": [f"weight of {FIT} 1 -> 4"],
    }
