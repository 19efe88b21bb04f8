"""`moorage status`: what it says of profiles and replicas, and how it ends."""

from __future__ import annotations

import asyncio
import datetime
import io
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest

from moorage.apps.authority.authority_setting import VALIDATING
from moorage.apps.commands.looking_options import LookingOptions
from moorage.apps.exit_status import NoAnswer
from moorage.apps.printing.terminal import open_console, write
from moorage.apps.reach.operator_choice import OperatorChoice
from moorage.apps.reach.surroundings import Surroundings
from moorage.apps.status.status_answers import run
from moorage.apps.status.status_documents import Source, status_document
from moorage.apps.status.status_texts import status_parts
from tests.adapters.api_server import StubApiServer, answers, api_server, status
from tests.apps.outputs.reading import read_output
from tests.apps.reach.surroundings import (
    LEADER,
    LEASES,
    PROFILES,
    a_lease,
    a_profile,
    a_replica,
    a_time,
    script,
)
from tests.apps.worlds.test_from_cluster import kubeconfig

NEAR = 'spec.weights[Fitt]: no plugin has this name; did you mean "Fit"?'
HEAD = "PROFILE READY REVISION TRIAL PODS/S P99 ACTIVE BACKOFF UNSCHED GATED"
TRIAL = {
    "strategy": "Canary",
    "revision": "3f9c1b2a",
    "pods": 400,
    "decided": 312,
    "agreed": 290,
    "refused": 3,
    "regressions": 0,
    "verdict": "SoFarNoWorse",
}


def conditions(**found: tuple[str, str, str]) -> list[dict[str, str]]:
    """All True but those that are given."""
    usual = dict.fromkeys(
        ("Accepted", "ResolvedRefs", "Permitted", "Active", "Ready"), ("True", "Fine", "")
    )
    rows = (usual | found).items()
    return [
        {"type": kind, "status": is_, "reason": why, "message": text}
        for kind, (is_, why, text) in rows
    ]


def profile(name: str, **status_: Any) -> Any:
    """One that is well, but for what is given."""
    usual = {
        "conditions": conditions(),
        "activeRevision": "9d02aa71",
        "activeSince": "2026-11-24T09:12:00Z",
        "queue": {"active": 1, "backoff": 0, "unschedulable": 0, "gated": 0, "inFlight": 0},
    }
    return a_profile(name, **{**usual, **status_})


REFUSED = profile(
    "batch",
    conditions=conditions(
        Accepted=("False", "UnknownPlugin", NEAR),
        Active=("False", "LastGood", "revision 9d02aa71 goes on deciding"),
        Ready=("Unknown", "LastGood", "it goes on"),
    ),
)
TRIED = profile(
    "binpack",
    conditions=conditions(
        Active=("False", "Trial", "canary"), Ready=("Unknown", "Trial", "canary")
    ),
    trial=TRIAL,
)


def asked(
    folder: Path,
    profiles: Sequence[Any],
    lease: Mapping[str, Any] | None = None,
    form: str = "",
    replicas: Sequence[Any] | None = None,
) -> tuple[int, str]:
    """Exit status and what is printed, where no operator is asked."""

    async def scenario() -> tuple[int, str]:
        out = io.StringIO()
        async with api_server() as server:
            ready = {"moorage.dev/revisions": '{"spread":"9d02aa71"}'}
            usual = [a_replica("moorage-1_1c2d", {}), a_replica(LEADER, ready)]
            shown = usual if replicas is None else replicas
            script(server, a_lease() if lease is None else lease, shown, profiles)
            cluster = kubeconfig(folder, server.url)
            options = LookingOptions(cluster, OperatorChoice("none"), form)
            return await asyncio.to_thread(run, options, out), out.getvalue()

    return asyncio.run(scenario())


def test_all_is_well(tmp_path: Path) -> None:
    """One line says so; then profiles, replicas with the leader first, and what was left out."""
    code, text = asked(tmp_path, [profile("spread"), profile("gpu", queue={"gated": 2})])
    first, _, head, gpu, spread, _, replicas, leader, standby, left, following = text.splitlines()
    assert first.startswith("All 2 profiles run what their specs say. 3 pods wait.  http://")
    assert " ".join(head.split()) == HEAD
    assert gpu.split() == ["gpu", "True", "9d02aa71", "-", "-", "-", "0", "0", "0", "2"]
    assert spread.split() == ["spread", "True", "9d02aa71", "-", "-", "-", "1", "0", "0", "0"]
    assert replicas.split()[:3] == ["REPLICA", "ROLE", "REVISIONS"]
    assert leader.split()[:5] == [LEADER, "Leader", "1", "of", "2"]
    assert standby.split()[:5] == ["moorage-1_1c2d", "Standby", "0", "of", "2"]
    assert left == "Left out: rates and groups, as the operator is not asked: --server none"
    assert (following, code) == ("Next: moorage queue gpu", 0)


def shared(name: str, reason: str) -> Any:
    """A profile that shares nodes with other installations'."""
    status_ = "False" if reason == "PoolsApart" else "True"
    return profile(name, conditions=conditions(NodesShared=(status_, reason, "with them")))


def test_shared_nodes_are_told_and_no_fault(tmp_path: Path) -> None:
    """A line for pools that meet, and one for installations without pools."""
    profiles = [
        *(shared(f"p{i}", "PoolsMeet") for i in range(5)),
        shared("all", "AllNodes"),
        shared("apart", "PoolsApart"),
    ]
    code, text = asked(tmp_path, profiles, form="json")
    found = read_output(text)
    assert (code, found["well"]) == (0, True)
    assert found["notes"] == [
        (
            "p0, p1, p2 and 2 more may use nodes that profiles of other installations may use, too "
            "(kubectl describe sprof p0: NodesShared)."
        ),
        "all and profiles of other installations share all nodes.",
    ]
    assert found["notes"][1] in asked(tmp_path, profiles)[1].splitlines()


@pytest.mark.parametrize(
    ("one", "text", "command", "code"),
    [
        (
            REFUSED,
            f"spec refused: {NEAR} 9d02aa71, which decides since 24 Nov ",
            "moorage diff batch --spec",
            1,
        ),
        (
            TRIED,
            "canary of 3f9c1b2a: 312 decided twice, 287 same node, 0 regressions; 88 to go.",
            "moorage trial binpack",
            0,
        ),
        (
            profile(
                "new",
                activeRevision=None,
                conditions=conditions(
                    ResolvedRefs=("False", "PluginConfigNotFound", "no PluginConfig x"),
                    Active=("False", "Waiting", "no revision has been good yet"),
                    Ready=("False", "PluginConfigNotFound", "no PluginConfig x"),
                ),
            ),
            "a reference does not hold: no PluginConfig x. No revision of it has been good yet",
            "kubectl get pcfg",
            1,
        ),
        (
            profile(
                "poor",
                conditions=conditions(
                    Permitted=("False", "RBACMissing", "list secrets"),
                    Ready=("False", "RBACMissing", "list secrets"),
                ),
            ),
            "the operator lacks a right: list secrets",
            "kubectl describe sprof poor",
            1,
        ),
        (
            profile(
                "idle",
                conditions=conditions(
                    Active=("False", "Suspended", "spec.suspend is true"),
                    Ready=("False", "Suspended", "spec.suspend is true"),
                ),
            ),
            "spec.suspend is true",
            "kubectl describe sprof idle",
            1,
        ),
        (
            {"metadata": {"name": "lost"}, "spec": {"controllerName": "other"}},
            "no operator with controllerName 'other' leads",
            "kubectl describe sprof lost",
            1,
        ),
    ],
    ids=["refused", "tried", "no reference", "no right", "suspended", "not seen"],
)
def test_what_needs_a_look(one: Any, text: str, command: str, code: int, tmp_path: Path) -> None:
    """With the whole reason. A trial that runs is as somebody wanted it."""
    found, printed = asked(tmp_path, [one, profile("other")])
    lines = printed.splitlines()
    assert lines[0].startswith("1 of 2 profiles needs a look. ")
    assert one["metadata"]["name"] in lines[1]
    assert text in lines[1]
    assert lines[-1] == f"Next: {command}"
    assert found == code


OBSERVED = profile(
    "candidate",
    conditions=conditions(
        Active=("False", "Observing", "an observer explains pods by revision 9d02aa71"),
        Ready=("False", "Observing", "an observer explains pods by revision 9d02aa71"),
    ),
)
OBSERVER = a_replica(LEADER, {"moorage.dev/mode": "observer"})


def test_an_observer_places_no_pod(tmp_path: Path) -> None:
    """It says so first, and whoever observes needs no look for that."""
    code, text = asked(tmp_path, [OBSERVED], replicas=[OBSERVER, a_replica("moorage-1_1c2d", {})])
    first, _, _, row, _, _, observer, standby, *_ = text.splitlines()
    assert first.startswith("An observer explains pods by 1 profile, and places none. 1 pod waits.")
    assert row.split()[:3] == ["candidate", "False", "9d02aa71"]
    assert observer.split()[:2] == [LEADER, "Observer"]
    assert standby.split()[:2] == ["moorage-1_1c2d", "Standby"]
    assert code == 0


def test_what_is_wrong_is_told_of_an_observers_profiles_too(tmp_path: Path) -> None:
    """As of a decider's."""
    code, text = asked(tmp_path, [OBSERVED, REFUSED], replicas=[OBSERVER])
    first, second, *_ = text.splitlines()
    said = "1 of 2 profiles needs a look. An observer explains pods by 2 profiles, and places none."
    assert first.startswith(said)
    assert second.split()[0] == "batch"
    assert code == 1


def test_an_observer_without_profiles(tmp_path: Path) -> None:
    """It says that, and how to begin."""
    code, text = asked(tmp_path, [], replicas=[OBSERVER])
    assert text.startswith("An observer leads: it places no pod. No SchedulerProfile yet.")
    assert (code, "Start with: kubectl apply" in text) == (0, True)


def test_an_observer_is_known_by_its_profiles() -> None:
    """Where its Leases may not be seen."""
    around = Surroundings([OBSERVED], None, None, "no right")
    found = status_document(around, [], Source(cluster="c", at=datetime.datetime.now(datetime.UTC)))
    assert (found["observes"], found["well"], found["problems"]) == (True, True, [])
    assert found["profiles"][0]["state"] == "Observing"


def test_rates_of_the_operator() -> None:
    """By schedulerName, and their sum in the answer."""
    rates = [
        {"profile": "spread", "podsPerSecond": 9.81, "p99Seconds": 0.171},
        {"profile": "gpu", "podsPerSecond": 0.0, "p99Seconds": None},
        {"profile": "gone", "podsPerSecond": 7.0, "p99Seconds": 1.0},
    ]
    around = Surroundings([profile("gpu"), profile("spread")], None, led=True)
    at = datetime.datetime(2026, 11, 27, 14, 32, 8, tzinfo=datetime.UTC)
    found = status_document(around, rates, Source(cluster="harbor", at=at, operator=LEADER))
    assert found["answer"].endswith("9.8 pods/s find a node, 2 pods wait.")
    write(open_console(out := io.StringIO()), *status_parts(found))
    gpu, spread = out.getvalue().splitlines()[3:5]
    assert (gpu.split()[4:6], spread.split()[4:6]) == (["0.0", "-"], ["9.8", "0.17s"])


def a_group(name: str, **changes: Any) -> dict[str, Any]:
    """A pod group as /debug/groups has it."""
    usual = {
        "group": name,
        "api": "scheduling.k8s.io/v1beta1",
        "profile": "gpu",
        "minCount": 4,
        "placed": 0,
        "waiting": 3,
        "since": "2026-11-27T14:31:08+00:00",
        "gateMessage": "",
        "messages": [],
        "roomHeldUntil": "",
    }
    return {**usual, **changes}


CYCLE = "pod group is unschedulable, minCount (4) cannot be satisfied: 3 scheduled, 0 remaining"
GROUPS = (
    a_group("ml/new", since="2026-11-27T14:32:07+00:00"),
    a_group(
        "ml/trainer",
        waiting=4,
        messages=[CYCLE, "0/5 nodes are available: 5 Insufficient cpu."],
        roomHeldUntil="2026-11-27T14:37:12+00:00",
    ),
    a_group("ml/short", gateMessage="3 of 4 members are here", messages=["old"], placed=1),
    a_group("ml/other", profile="nobody"),
)


def test_groups_that_wait() -> None:
    """Those of our profiles, by how long they wait: how many members, why, and whether room is
    held; a reason about nodes says more than that the group does not fit.
    """
    at = datetime.datetime(2026, 11, 27, 14, 32, 8, tzinfo=datetime.UTC)
    around = Surroundings([profile("gpu", queue={"groups": 3})], None, led=True)
    source = Source(cluster="harbor", at=at, operator=LEADER, groups=GROUPS)
    found = status_document(around, [], source)
    assert [one["group"] for one in found["groups"]] == ["ml/short", "ml/trainer", "ml/new"]
    assert [one["why"] for one in found["groups"]] == [
        "3 of 4 members are here",
        "5 Insufficient cpu",
        "not tried yet",
    ]
    assert found["profiles"][0]["groups"] == 3
    write(open_console(out := io.StringIO()), *status_parts(found))
    head, short, trainer, new = out.getvalue().splitlines()[5:9]
    assert head.split() == ["GROUP", "PROFILE", "MEMBERS", "WAITS", "WHY"]
    assert short.split()[:8] == ["ml/short", "gpu", "3", "wait,", "1", "of", "4", "placed"]
    clock = datetime.datetime.fromisoformat("2026-11-27T14:37:12+00:00").astimezone()
    held = f"room is held for it until {clock:%H:%M:%S} at the latest"
    assert f"5 Insufficient cpu; {held}" in trainer
    assert new.split()[-3:] == ["not", "tried", "yet"]


def test_many_groups_fold() -> None:
    """Those that have waited the longest stay."""
    at = datetime.datetime(2026, 11, 27, 14, 32, 8, tzinfo=datetime.UTC)
    groups = tuple(a_group(f"ml/g{i:02}") for i in range(15))
    around = Surroundings([profile("gpu")], None, led=True)
    found = status_document(around, [], Source(cluster="c", at=at, operator="o", groups=groups))
    texts = []
    for wide in (False, True):
        write(open_console(out := io.StringIO()), *status_parts(found, wide=wide))
        texts.append(out.getvalue())
    assert "and 3 more groups (-o wide)" in texts[0]
    assert ("ml/g11" in texts[0], "ml/g12" in texts[0], "ml/g12" in texts[1]) == (True, False, True)


def test_nobody_leads(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """This comes before all else."""
    monkeypatch.setattr("moorage.apps.reach.surroundings.LEASE_AGAIN_SECONDS", 0.0)
    code, text = asked(tmp_path, [profile("a")], a_lease(renewed=a_time(3600)))
    assert text.startswith("Nobody leads since ")
    assert "; no pod is placed.  " in text.splitlines()[0]
    assert code == 1


def test_there_is_no_profile_yet(tmp_path: Path) -> None:
    """How to begin is told."""
    code, text = asked(tmp_path, [])
    assert text.startswith("No SchedulerProfile yet.")
    assert "kind: SchedulerProfile" in text
    assert code == 0


def test_nobody_can_change_profiles() -> None:
    """What is wrong comes first, and the way out is the first thing to do."""
    around = Surroundings([profile("a")], None, None)
    why, out = "Nobody can change profiles: no answer", "kubectl delete x"
    source = Source(cluster="c", at=datetime.datetime.now(datetime.UTC), refused=(why, out))
    found = status_document(around, (), source)
    assert (found["well"], found["admission"], found["next"][0]) == (False, why, out)
    text = io.StringIO()
    write(open_console(text), *status_parts(found))
    assert why in text.getvalue() and f"Next: {out}" in text.getvalue()


def test_many_profiles_fold(tmp_path: Path) -> None:
    """Those that need a look stay."""
    many = [REFUSED, *(profile(f"p{i:02}") for i in range(12))]
    _, text = asked(tmp_path, many)
    assert "and 12 more, all well (-o wide)" in text
    assert "p03" not in text
    _, text = asked(tmp_path, many, form="wide")
    assert "p03" in text
    assert "LastGood" in text


def test_for_programs(tmp_path: Path) -> None:
    """The answer is in the document; names alone are those of profiles."""
    code, text = asked(tmp_path, [REFUSED, TRIED], form="json")
    document = read_output(text)
    assert (code, document["kind"], document["well"]) == (1, "Status", False)
    assert document["answer"] == "2 of 2 profiles need a look. 2 pods wait."
    assert [one["trial"] for one in document["profiles"]] == [None, TRIAL]
    assert [one["profile"] for one in document["problems"]] == ["batch", "binpack"]
    assert asked(tmp_path, [REFUSED, TRIED], form="name")[1] == "batch\nbinpack\n"


def test_where_leases_may_not_be_seen(tmp_path: Path) -> None:
    """Replicas are those that the leader wrote down; whether somebody leads is not known."""
    leader = {"identity": LEADER, "since": a_time(60), "renewTime": a_time()}
    replicas = [{"identity": LEADER, "role": "Leader", "revision": "9d02aa71"}]

    async def scenario() -> None:
        out = io.StringIO()
        async with api_server() as server:
            server.then("GET", "/version", answers({}))
            one = profile("a", leader=leader, replicas=replicas)
            server.then("GET", PROFILES, answers({"items": [one]}))
            forbidden(server)
            options = LookingOptions(kubeconfig(tmp_path, server.url), OperatorChoice())
            assert await asyncio.to_thread(run, options, out) == 0
            assert f"{LEADER}  Leader  1 of 1" in out.getvalue()
            assert "Left out: the operator's Leases: " in out.getvalue()

    asyncio.run(scenario())


def test_it_asks_for_little(tmp_path: Path) -> None:
    """However large the cluster: no nodes, no pods, each thing once."""

    async def scenario() -> None:
        async with api_server() as server:
            script(server, a_lease(), [], [profile("a"), profile("b")])
            options = LookingOptions(kubeconfig(tmp_path, server.url), OperatorChoice())
            await asyncio.to_thread(run, options, io.StringIO())
            paths = sorted(request.path for request in server.requests)
            assert paths == sorted(["/version", PROFILES, LEASES, f"{LEASES}/moorage", VALIDATING])

    asyncio.run(scenario())


def forbidden(server: StubApiServer) -> None:
    """No right to see the Lease."""
    path = "/apis/coordination.k8s.io/v1/namespaces/moorage-system/leases/moorage"
    server.then("GET", path, status(403))


def test_no_answer(tmp_path: Path) -> None:
    """A cluster without our kinds is none."""

    async def scenario() -> None:
        async with api_server() as server:
            server.then("GET", "/version", answers({}))
            options = LookingOptions(kubeconfig(tmp_path, server.url), OperatorChoice())
            with pytest.raises(NoAnswer, match="Moorage is not installed there"):
                await asyncio.to_thread(run, options, io.StringIO())

    asyncio.run(scenario())
