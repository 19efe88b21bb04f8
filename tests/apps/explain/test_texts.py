"""What people read of a document, whoever made it."""

from __future__ import annotations

import datetime
import io
from typing import Any

import pytest

from moorage.apps.exit_status import NoAnswer, WrongUse
from moorage.apps.explain.asking import ask
from moorage.apps.explain.pending_texts import pending_parts
from moorage.apps.explain.placed_texts import bound_parts
from moorage.apps.printing.terminal import open_console, write
from moorage.apps.reach.operator_choice import OperatorChoice
from moorage.apps.worlds.cluster_choice import ClusterChoice

NOW = datetime.datetime(2026, 11, 27, 14, 32, 8, tzinfo=datetime.UTC)
ABOUT = {
    "pod": "ml/eval",
    "created": "2026-11-27T13:45:08Z",
    "schedulerName": "gpu",
    "revision": "51be07c4",
    "source": "the operator, moorage-1",
    "notAsked": ["Strange"],
}
NEAREST = [
    {"node": "a", "lacks": {"nvidia.com/gpu": "1"}, "details": [], "heldFor": []},
    {"node": "b", "lacks": {"nvidia.com/gpu": "1"}, "details": [], "heldFor": []},
    {"node": "c", "lacks": {"nvidia.com/gpu": "3"}, "details": [], "heldFor": ["ml/x"]},
]
PENDING = {
    **ABOUT,
    "verdict": "Pending",
    "message": "",
    "asks": {"cpu": "12", "nvidia.com/gpu": "4"},
    "nodes": 5,
    "refusals": [
        {
            "plugin": "NodeResourcesFit",
            "reasons": ["Insufficient nvidia.com/gpu"],
            "nodes": 3,
            "resolvable": True,
            "nearest": NEAREST,
        }
    ],
    "changes": [],
    "preemption": {"helps": True, "node": "a", "victims": ["ml/low"], "message": ""},
    "wakesOn": [
        {"plugin": "Fit", "resource": "Node", "actions": ["Add", "UpdateNodeAllocatable"]},
        {"plugin": "Fit", "resource": "AssignedPod", "actions": ["Delete"]},
    ],
    "wait": {
        "queue": "unschedulable",
        "attempts": 7,
        "since": "2026-11-27T14:31:58Z",
        "until": "2026-11-27T14:36:58Z",
    },
}


def lines(document: dict[str, Any], **flags: bool) -> list[str]:
    """As they are printed, not on a terminal."""
    shown = {"all_nodes": False, "all_changes": False} | flags
    console = open_console(stream := io.StringIO())
    write(console, *pending_parts(document, NOW, **shown))
    return stream.getvalue().splitlines()


def test_amounts_beyond_all_that_is_counted() -> None:
    """A request of 10^18 is counted as less, which is said."""
    huge = {**PENDING, "asks": {"memory": "8Pi", "cpu": "9007199254740992m"}}
    asked = "asks memory over 8Pi, cpu over 9007199254740992m"
    assert any(asked in line for line in lines(huge))
    assert not any("over" in line for line in lines(PENDING))


def test_a_search_that_was_ended() -> None:
    """What was not tried is said; an operator that does not say it ends none."""
    ended = {**PENDING, "changesNotTried": 1200, "searchedSeconds": 5.0}
    assert "Stopped after 5 s; 1,200 changes were not tried." in lines(ended)
    assert not any("Stopped" in line for line in lines(PENDING))


def test_what_the_operator_knows() -> None:
    """Attempts, until when it waits, and what wakes it."""
    said = lines(PENDING)
    assert said[:2] == [
        "None of 5 nodes takes ml/eval; nearest a, b lack nvidia.com/gpu 1. Pending for 47m, 7 attempts. Not asked: Strange.",  # noqa: E501 - as it is printed
        "  asks cpu 12, nvidia.com/gpu 4; profile gpu 51be07c4; from the operator, moorage-1",
    ]
    assert said[4].endswith("Insufficient nvidia.com/gpu; nearest a, b lack 1")
    assert said[-2:] == [
        "Preemption would help: on a it would hit ml/low.",
        "Waits in the unschedulable queue until a node comes or changes, or a pod leaves a node, or 14:36:58 at the latest.",  # noqa: E501 - as it is printed
    ]
    named = "nearest a, b lack 1; c lacks 3 keeps room for ml/x"
    assert lines(PENDING, all_nodes=True)[4].endswith(named)


@pytest.mark.parametrize(
    ("queue", "until", "text"),
    [
        ("backoff", "2026-11-27T14:32:10Z", "Waits in backoff until 14:32:10."),
        ("backoff", "2026-11-28T14:32:10Z", "Waits in backoff until 2026-11-28T14:32:10+00:00."),
        ("active", None, "Its turn comes next, in the active queue."),
        ("unserved", None, "Waits for its profile."),
        ("gated", None, "Is kept out of the queue by PodGroup."),
    ],
)
def test_where_it_waits(queue: str, until: str | None, text: str) -> None:
    """By the clock of today, else in full."""
    wait = {"queue": queue, "attempts": 1, "until": until, "gatingPlugin": "PodGroup"}
    assert lines({**PENDING, "wait": wait})[-1] == text


@pytest.mark.parametrize(
    ("unasked", "said"),
    [
        ([], "fits: it would go to a."),
        (["A", "B"], "fits as far as was asked: it would go to a. Not asked: A, B."),
    ],
)
def test_a_pod_that_fits(unasked: list[str], said: str) -> None:
    """Who was not asked is named."""
    fits = {"verdict": "WouldBePlaced", "placement": {"node": "a"}}
    found = {**PENDING, **fits, "notAsked": unasked, "refusals": [], "changes": []}
    assert lines(found)[0].startswith(f"ml/eval {said}")


def test_the_first_changes_are_shown() -> None:
    """The others are counted."""
    one = {"kind": "request", "text": "cpu 2 -> 1", "effect": ""}
    change = {"changes": [one], "fits": 2, "node": "a"}
    said = lines({**PENDING, "changes": [change] * 7})
    assert said.count("  request  cpu 2 -> 1  fits 2 nodes, would go to a") == 5
    assert "  and 2 more (--changes all)" in said
    more = lines({**PENDING, "changes": [change] * 7}, all_changes=True)
    assert more.count("  request  cpu 2 -> 1  fits 2 nodes, would go to a") == 7


def test_scores_as_differences() -> None:
    """As many nodes as there is room for; plugins that give nobody anything are folded."""
    names = ["general-1843", "general-0406", "general-0977", "general-2210"]
    scores = [
        {"node": name, "scores": {"Fit": 1880 - 20 * i, "Zero": 0}, "total": 1880 - 20 * i}
        for i, name in enumerate(names)
    ]
    document: dict[str, Any] = {
        **ABOUT,
        "verdict": "Bound",
        "wait": {"queue": "inFlight"},
        "node": names[0],
        "nodes": 5,
        "passed": 4,
        "weights": {"Fit": 20, "Zero": 1},
        "scores": scores,
        "best": [names[0]],
        "choice": names[0],
        "refusal": None,
        "refusals": [{"nodes": 1, "reasons": ["Too many pods"]}],
    }

    def table(width: int, absolute: bool) -> list[list[str]]:
        console = open_console(stream := io.StringIO())
        write(console, *bound_parts(document, width, absolute))
        return [line.split() for line in stream.getvalue().splitlines()[3:6]]

    assert table(200, False) == [
        ["general-1843", "*", *names[1:]],
        ["Fit", "x20", "1880", "-20", "-40", "-60"],
        ["TOTAL", "1880", "1860", "1840", "1820"],
    ]
    console = open_console(stream := io.StringIO())
    write(console, *bound_parts(document, 80, absolute=False))
    head = "ml/eval is being bound to general-1843, the node with the highest score now. Not asked:"
    assert stream.getvalue().startswith(head)
    assert table(200, True)[1] == ["Fit", "x20", "1880", "1860", "1840", "1820"]
    assert table(45, False)[0] == ["general-1843", "*", names[1]]


@pytest.mark.parametrize(
    ("server", "error", "text"),
    [
        ("http://127.0.0.1:1", WrongUse, "must begin with https://"),
        ("https://127.0.0.1:1", NoAnswer, "is its port forwarded"),
    ],
)
def test_an_operator_that_cannot_be_asked(
    server: str, error: type[Exception], text: str, tmp_path: Any
) -> None:
    """Wrong use, or no answer."""
    file = tmp_path / "config"
    file.write_text(
        "{clusters: [{name: c, cluster: {server: 'https://x.test'}}], "
        "users: [{name: u, user: {token: t}}], "
        "contexts: [{name: c, context: {cluster: c, user: u}}], current-context: c}"
    )
    with pytest.raises(error, match=text):
        ask(OperatorChoice(server), ClusterChoice(str(file)), ("pod", "a/b"))
