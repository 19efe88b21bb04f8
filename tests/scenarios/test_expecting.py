"""What scenarios expect: each phrase is seen to be so, and not to be so."""

from __future__ import annotations

from typing import Any

import pytest

from tests.rig.processes import RigError
from tests.scenarios.expecting import Facts, contains, differences

NODES = [
    {"metadata": {"name": name, "labels": {"zone": zone}}}
    for name, zone in (("n1", "a"), ("n2", "a"), ("n3", "b"))
]
SAID = "0/3 nodes are available: 3 Insufficient cpu."


def pod(
    name: str, node: str = "", reason: str = "", nominated: str = "", **metadata: Any
) -> dict[str, Any]:
    """A pod."""
    conditions = [{"type": "PodScheduled", "reason": reason, "message": SAID}] if reason else []
    status: dict[str, Any] = {"conditions": conditions, "nominatedNodeName": nominated}
    return {
        "metadata": {"name": name, "uid": f"uid-{name}", **metadata},
        "spec": {"nodeName": node},
        "status": status,
    }


GOING = {"deletionTimestamp": "2026-01-01T00:00:00Z"}
VICTIM = pod("victim", "n2", **GOING)
VICTIM["status"]["conditions"] = [{"type": "DisruptionTarget", "reason": "PreemptionByScheduler"}]
PODS = [
    pod("there-1", "n1"),
    pod("there-2", "n3"),
    VICTIM,
    pod("going", "n3", **GOING),
    pod("waits", reason="Unschedulable", nominated="n1"),
    pod("gated", reason="SchedulingGated"),
]
EVENTS = [
    {"regarding": {"name": "waits", "uid": "uid-waits"}, "reason": "Failed", "note": SAID},
    {"regarding": {"name": "waits", "uid": "its namesake's"}, "reason": "Other", "note": SAID},
]


class Server:
    """Answers for the API server."""

    def get(self, path: str) -> Any:
        """A list, or one object."""
        lists = {
            "/api/v1/namespaces/here/pods": PODS,
            "/api/v1/nodes": NODES,
            "/apis/events.k8s.io/v1/namespaces/here/events": EVENTS,
        }
        if path in lists:
            return {"items": lists[path]}
        if path == "/api/v1/nodes/n1":
            return NODES[0]
        raise RigError(f"GET {path}: 404 not found")


def right(subject: str, said: Any) -> bool:
    """Whether it is so."""
    names = [item["metadata"]["name"] for item in PODS] + ["was"]
    return not differences({subject: said}, Facts(Server(), "here", names))  # type: ignore[arg-type]  # as much of a client as is used


@pytest.mark.parametrize(
    ("subject", "true", "false"),
    [
        (
            "there-1",
            ["on n1", "on any node", "on n3 or n1", "alive", "not nominated"],
            ["on n2", "not bound", "pending", "gone", "victim"],
        ),
        ("victim", ["victim"], ["alive", "gone"]),
        ("going", ["on n3"], ["alive", "victim", "gone"]),
        (
            "waits",
            ["pending", "pending 3 Insufficient cpu", "nominated to n1", "not bound"],
            ["pending 2", "gated", "on any node"],
        ),
        (
            "waits",
            ["told Failed Insufficient"],
            ["told Failed memory", "told Other Insufficient", "not nominated", "nominated to n2"],
        ),
        ("gated", ["gated", "not bound"], ["pending", "pending 3 Insufficient cpu"]),
        (
            "was",
            ["gone", "victim"],
            ["alive", "not bound", "not nominated", "on any node", "pending"],
        ),
        (
            "there-*",
            ["2 bound", "1+1 by zone", "1+1 by node", "0 victims"],
            ["1 bound", "2 by zone", "1 by node", "1 victim"],
        ),
        (
            "*",
            ["4 bound", "2+2 by zone", "1+1+2 by node", "2 victims"],
            ["2+1+1 by zone", "5 bound"],
        ),
        (
            "Node/n1",
            [{"metadata": {"labels": {"zone": "a"}}}],
            ["gone", {"metadata": {"labels": {"zone": "b"}}}],
        ),
        ("Node/n9", ["gone"], [{"metadata": {}}]),
    ],
)
def test_phrases(subject: str, true: list[Any], false: list[Any]) -> None:
    """What is so, and what is not, is told apart; a list must be so in all of it."""
    assert [said for said in true if not right(subject, said)] == []
    assert [said for said in false if right(subject, said)] == []
    assert right(subject, true)
    assert not right(subject, [*true, false[0]])


@pytest.mark.parametrize(
    ("subject", "said"),
    [("waits", "pendin"), ("waits", "on"), ("there-*", "on n1"), ("nobody-*", "0 bound")],
)
def test_words_that_nobody_knows(subject: str, said: str) -> None:
    """A misspelt phrase is an error, and so is a pattern that nothing matches."""
    with pytest.raises(ValueError, match="nobody knows"):
        right(subject, said)


def test_a_part_is_contained() -> None:
    """Keys of maps, items of lists."""
    there = {"a": [{"x": 1, "y": 2}, {"x": 3}], "b": {"c": None}}
    assert contains(there, {"a": [{"x": 3}], "b": {}})
    assert not contains(there, {"a": [{"x": 1, "y": 3}]})
    assert not contains(there, {"b": {"d": None}})
