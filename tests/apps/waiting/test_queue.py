"""`moorage queue`: the order, what is folded, and what is said of each pod that waits."""

from __future__ import annotations

import asyncio
import datetime
import io
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest
from aiohttp import web

from moorage.apps.commands.looking_options import LookingOptions
from moorage.apps.exit_status import NoAnswer, WrongUse
from moorage.apps.reach.operator_choice import OperatorChoice
from moorage.apps.waiting.queue_answers import run
from moorage.apps.waiting.queue_documents import from_operator, queue_document, reasons_of
from moorage.apps.waiting.queue_rows import folded, why
from moorage.apps.waiting.queue_texts import ROWS
from tests.adapters.api_server import Answer, StubApiServer, api_server, status
from tests.apps.outputs.reading import read_output
from tests.apps.reach.surroundings import a_lease, a_profile, script
from tests.apps.worlds.test_from_cluster import kubeconfig

ABOUT = {"at": "2026-11-27T14:32:08+00:00", "cluster": "harbor", "operator": "m_1", "leftOut": []}
REFUSED = "3 Insufficient cpu, 2 node(s) had taints {a: b}, that it hates"
CPU = f"0/5 nodes are available: {REFUSED}."
TOLD = f"{CPU} preemption: 0/5 nodes are available: 5 no help."


def item(pod: str, state: str, **changes: Any) -> dict[str, Any]:
    """A pod as /debug/queue has it."""
    usual: dict[str, Any] = {
        "uid": f"uid-{pod}",
        "owner": "",
        "turn": None,
        "profile": "gpu",
        "priority": 0,
        "attempts": 1,
        "since": "2026-11-27T14:31:08+00:00",
        "gatingPlugin": "",
        "group": "",
        "groupMessage": "",
        "groupMinCount": None,
        "groupPlaced": 0,
        "until": "",
        "wakesOn": [],
        "nominatedNodeName": "",
        "message": "",
    }
    return {"pod": f"ml/{pod}", "state": state, **usual, **changes}


ITEMS = [
    item("gated", "gated", gatingPlugin="kueue.x-k8s.io/admission", profile="batch"),
    item("refused", "unschedulable", message=TOLD, until="2026-11-27T14:36:58+00:00"),
    item("late", "backoff", turn=[1, 0, 9], until="2026-11-27T14:32:10+00:00", attempts=4),
    item("second", "active", turn=[0, 1, 0, 2], profile="batch"),
    item("first", "active", turn=[0, 1, 0, 1]),
    item("flying", "inFlight"),
    item("lost", "unserved", profile="gone"),
]


def test_the_order_of_the_queue() -> None:
    """Who is being placed, who has a turn, and the others; positions are those among all."""
    found = queue_document(from_operator(ITEMS), ABOUT)
    assert [(one["pod"], one["position"]) for one in found["pods"]] == [
        ("ml/flying", None),
        ("ml/first", 1),
        ("ml/second", 2),
        ("ml/late", 3),
        ("ml/refused", None),
        ("ml/gated", None),
        ("ml/lost", None),
    ]
    assert found["answer"] == (
        "6 pods wait: 2 are next, 1 is in backoff, 1 finds no node, 1 is gated, "
        "1 has no profile that serves it."
    )
    known = queue_document(from_operator(ITEMS), ABOUT, schedulers={"gpu", "batch"})
    assert known["answer"] == (  # as Status counts, which knows of no pod without a profile
        "5 pods wait: 2 are next, 1 is in backoff, 1 finds no node, 1 is gated. "
        "1 pod names a schedulerName that no profile has."
    )
    assert known["pods"] == found["pods"] and known["counts"] == found["counts"]
    batch = queue_document(from_operator(ITEMS), ABOUT, "mine", "batch")
    assert [(one["pod"], one["position"]) for one in batch["pods"]] == [
        ("ml/second", 2),
        ("ml/gated", None),
    ]
    assert batch["answer"] == "2 pods of profile mine wait: 1 is next, 1 is gated."


@pytest.mark.parametrize(
    ("items", "answer"),
    [
        ([], "Nothing waits."),
        ([item("a", "inFlight")], "Nothing waits; 1 pod is being placed."),
        ([item("a", "gated")], "1 pod waits: 1 is gated."),
    ],
)
def test_few_wait(items: list[dict[str, Any]], answer: str) -> None:
    """A sentence all the same."""
    assert queue_document(from_operator(items), ABOUT)["answer"] == answer


def test_why_and_until_when() -> None:
    """Each in its own words."""
    at = {name: f"{local(name):%H:%M:%S}" for name in ("14:32:10", "14:36:58")}
    found = queue_document(from_operator(ITEMS), ABOUT)["pods"]
    assert [why([one]) for one in found] == [
        "being placed",
        "next",
        "next",
        f"backoff until {at['14:32:10']} (4 attempts)",
        f"{REFUSED}; until something changes, {at['14:36:58']} at the latest",
        "gate kueue.x-k8s.io/admission",
        "no profile serves gone now",
    ]
    waits = item("a", "gated", groupMessage="waiting for 3", gatingPlugin="PodGroup")
    promised = item("b", "active", turn=[0], nominatedNodeName="n1")
    more = item("c", "unschedulable", message="no luck.", wakesOn=["NodeAdd"])
    pods = queue_document(from_operator([waits, promised, more]), ABOUT)["pods"]
    assert [why([one], wide=True) for one in pods] == [
        "next; nominated to n1",
        "no luck; wakes on NodeAdd",
        "waiting for 3",
    ]


def local(clock: str) -> datetime.datetime:
    """This time of that day as it is here."""
    return datetime.datetime.fromisoformat(f"2026-11-27T{clock}+00:00").astimezone()


def test_reasons() -> None:
    """Those of most nodes first; a message that is not about nodes is one."""
    assert reasons_of("0/9 nodes are available: 1 a, b, 8 c.") == [
        {"nodes": 8, "reason": "c"},
        {"nodes": 1, "reason": "a, b"},
    ]
    assert reasons_of("all is lost") == [{"nodes": None, "reason": "all is lost"}]
    assert reasons_of("") == []


def test_pods_of_one_owner_fold() -> None:
    """Where they wait alike; in the order only neighbours do, and counts of nodes do not matter."""
    web = {"owner": "ReplicaSet/web", "message": "0/5 nodes are available: 5 Insufficient cpu."}
    less = {**web, "message": "0/5 nodes are available: 4 Insufficient cpu."}
    items = [
        item("a", "active", turn=[0, 1], owner="ReplicaSet/web"),
        item("b", "active", turn=[0, 2], owner="ReplicaSet/web"),
        item("c", "active", turn=[0, 3]),
        item("d", "active", turn=[0, 4], owner="ReplicaSet/web"),
        item("e", "unschedulable", **web, since="2026-11-27T14:00:00+00:00"),
        item("f", "unschedulable"),
        item("g", "unschedulable", **less),
        item("h", "unschedulable", **web, priority=5),
    ]
    rows = folded(queue_document(from_operator(items), ABOUT)["pods"])
    assert [(row.position, row.name) for row in rows] == [
        ("1-2", "ml/web (2 pods)"),
        ("3", "ml/c"),
        ("4", "ml/d"),
        ("-", "ml/web (2 pods)"),
        ("-", "ml/f"),
        ("-", "ml/h"),
    ]


# ---- the command ---------------------------------------------------------------------------------


def a_pod(name: str, scheduler: str = "gpu", **spec: Any) -> dict[str, Any]:
    """One of the API server's."""
    metadata = {"namespace": "ml", "name": name, "creationTimestamp": "2026-11-27T14:00:00Z"}
    said = {"type": "PodScheduled", "status": "False", "reason": "Unschedulable", "message": CPU}
    conditions = [said] if name == "refused" else []
    return {
        "metadata": metadata,
        "spec": {"schedulerName": scheduler, **spec},
        "status": {"conditions": conditions},
    }


def pages(*found: Sequence[Mapping[str, Any]]) -> Answer:
    """A list in pages, each named by its number."""

    async def answer(request: web.Request) -> web.StreamResponse:
        number = int(request.query.get("continue", "0"))
        more = {"continue": str(number + 1)} if number + 1 < len(found) else {}
        return web.json_response({"metadata": more, "items": [*found[number]]})

    return answer


def asked(folder: Path, pods: Answer, profile: str = "", **options: Any) -> str:
    """What is printed where there is no operator."""

    async def scenario() -> str:
        out = io.StringIO()
        async with api_server() as server:
            known(server, pods)
            choice = OperatorChoice("none")
            given = LookingOptions(kubeconfig(folder, server.url), choice, **options)
            assert await asyncio.to_thread(run, given, profile, out) == 0
            return out.getvalue()

    return asyncio.run(scenario())


def known(server: StubApiServer, pods: Answer) -> None:
    """A cluster with one profile and these pods."""
    script(server, a_lease(), [], [a_profile("gpu")])
    server.then("GET", "/api/v1/pods", pods)


def test_without_an_operator(tmp_path: Path) -> None:
    """The pods of our profiles, with what their conditions say; what is not known is said."""
    gates = [{"name": "kueue"}]
    listed = pages(
        [a_pod("new"), a_pod("foreign", "other")],
        [a_pod("gated", schedulingGates=gates), a_pod("refused")],
    )
    first, _, *rows, left = asked(tmp_path, listed).splitlines()
    assert first == "3 pods wait: 1 is next, 1 finds no node, 1 is gated."
    assert [row.split()[:2] for row in rows] == [
        ["-", "ml/new"],
        ["-", "ml/refused"],
        ["-", "ml/gated"],
    ]
    assert "3 Insufficient cpu" in rows[1]
    assert left.startswith("Left out: the order of the queue, attempts and times, as ")
    assert asked(tmp_path, listed, form="name") == "ml/new\nml/refused\nml/gated\n"


def test_long_queues_are_cut_for_people(tmp_path: Path) -> None:
    """Programs get all of it."""
    listed = pages([a_pod(f"p{i:03}") for i in range(ROWS + 7)])
    text = asked(tmp_path, listed)
    assert "and 7 more pods (-o wide)" in text
    assert len(asked(tmp_path, listed, form="wide").splitlines()) == ROWS + 7 + 3
    document = read_output(asked(tmp_path, listed, form="json"))
    assert (document["kind"], len(document["pods"])) == ("Queue", ROWS + 7)
    assert {one["schedulerName"] for one in document["pods"]} == {"gpu"}


@pytest.mark.parametrize(
    ("profile", "pods", "error", "text"),
    [
        ("gpus", pages([]), WrongUse, 'there is no SchedulerProfile gpus; did you mean "gpu"?'),
        ("gpu", status(403), NoAnswer, "pods could not be listed"),
    ],
)
def test_no_answer(
    profile: str, pods: Answer, error: type[Exception], text: str, tmp_path: Path
) -> None:
    """Wrong use, or a right that is missing."""

    async def scenario() -> None:
        async with api_server() as server:
            known(server, pods)
            cluster = kubeconfig(tmp_path, server.url)
            options = LookingOptions(cluster, OperatorChoice("none"))
            with pytest.raises(error) as raised:
                await asyncio.to_thread(run, options, profile, io.StringIO())
            assert text in str(raised.value)

    asyncio.run(scenario())


def test_room_that_is_held_for_a_group() -> None:
    """Until when is said behind what it waits for."""
    until = "2026-11-27T14:37:12+00:00"
    waits = {"group": "ml/g", "groupMinCount": 1, "message": CPU, "groupRoomHeldUntil": until}
    found = queue_document(from_operator([item("a", "backoff", until=until, **waits)]), ABOUT)
    (row,) = folded(found["pods"])
    said = f"; room is held for it until {local('14:37:12'):%H:%M:%S} at the latest"
    assert why(row.pods).endswith(said)


def test_a_group_is_one_row() -> None:
    """Wherever its members are in the order, and whatever each was told."""
    told = {"group": "ml/g", "groupMinCount": 4, "groupPlaced": 1}
    items = [
        item("a", "backoff", turn=[1, 0, 1], message="minCount (4) cannot be satisfied", **told),
        item("other", "backoff", turn=[1, 0, 2]),
        item("b", "backoff", turn=[1, 0, 3], message=CPU, until=ABOUT["at"], **told),
        item("late", "gated", groupMessage="waits", **told),
    ]
    rows = folded(queue_document(from_operator(items), ABOUT)["pods"])
    assert [(row.name, row.position) for row in rows] == [
        ("ml/g (3 wait, 1 of 4 placed)", "1"),
        ("ml/other", "2"),
    ]
    said = why(rows[0].pods)
    assert said.startswith("backoff until ")
    assert said.endswith(
        "(1 attempt): 3 Insufficient cpu, 2 node(s) had taints {a: b}, that it hates"
    )
    alone = queue_document(from_operator([item("a", "active", turn=[0, 1], group="ml/g")]), ABOUT)
    assert folded(alone["pods"])[0].name == "ml/g (1 waits, 0 placed)"
