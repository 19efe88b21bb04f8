"""What of a status is this release's."""

from __future__ import annotations

from typing import Any

import pytest

from moorage.api.known_status import known_status

TIME = "2026-05-01T12:00:00Z"
CONDITION: dict[str, Any] = {
    "type": "Ready",
    "status": "True",
    "reason": "Ready",
    "message": "",
    "lastTransitionTime": TIME,
}
LATER = {**CONDITION, "type": "Later"}
STATUS: dict[str, Any] = {
    "observedGeneration": 1,
    "queue": {"active": 1},
    "replicas": [{"identity": "a", "role": "Leader", "revision": "x"}],
    "effective": {"filter": ["NodeName"], "score": [{"name": "ImageLocality", "weight": 1}]},
    "trial": None,
    "conditions": [CONDITION],
}


@pytest.mark.parametrize(
    "more",
    [
        {"later": {"a": 1}},
        {"queue": {"active": 1, "later": 2}},
        {"replicas": [{"identity": "a", "role": "Leader", "revision": "x", "later": ["y"]}]},
        {"conditions": [CONDITION, LATER]},
        {"conditions": [LATER, {**CONDITION, "later": 1}]},
    ],
)
def test_what_a_later_release_adds_is_left_out(more: dict[str, Any]) -> None:
    """At whatever depth."""
    assert known_status("SchedulerProfile", STATUS) == STATUS
    assert known_status("SchedulerProfile", {**STATUS, **more}) == STATUS


@pytest.mark.parametrize("odd", [{"queue": 7}, {"replicas": {}}, {"conditions": [None, "x", {}]}])
def test_what_is_no_status_stays(odd: dict[str, Any]) -> None:
    """It is no release's, so it is to be mended."""
    assert known_status("SchedulerProfile", odd) == odd


def test_a_plugin_config() -> None:
    """It has a status of its own."""
    status = {"hash": "x", "queue": {}, "profiles": ["a"]}
    assert known_status("PluginConfig", status) == {"hash": "x", "profiles": ["a"]}
