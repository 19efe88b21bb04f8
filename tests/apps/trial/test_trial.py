"""`moorage trial`: what it prints, what it writes, and how it ends."""

from __future__ import annotations

import asyncio
import io
from pathlib import Path
from typing import Any

import pytest
from aiohttp import web

from moorage.apps.exit_status import WrongUse
from moorage.apps.trial.trial_answers import TrialOptions, run
from tests.adapters.api_server import answers, api_server, status
from tests.apps.outputs.reading import read_output
from tests.apps.worlds.test_from_cluster import kubeconfig

PATH = "/apis/moorage.dev/v1alpha1/schedulerprofiles/binpack"
REGRESSED = {"pod": "shop/web-1", "uid": "u", "node": "n7", "message": "0/9 nodes are available"}
TRIAL: dict[str, Any] = {
    "strategy": "Canary",
    "revision": "3f9c1b2a",
    "against": "9d02aa71",
    "pods": 400,
    "decided": 312,
    "agreed": 287,
    "refused": 4,
    "regressions": 0,
    "improvements": 0,
    "worseByAtMost": "1.1",
    "since": "2026-11-27T14:18:00Z",
    "verdict": "SoFarNoWorse",
    "regressed": [],
}


def asked(folder: Path, trial: dict[str, Any] | None, **options: Any) -> tuple[int, str, list[Any]]:
    """The exit status, what is printed, and what is written, of a profile with this trial."""
    written: list[Any] = []
    rollout = {"strategy": "Canary", "canary": {"percent": 10}, "maxRegressions": 0}
    body = {"metadata": {"name": "binpack"}, "spec": {"rollout": rollout}}

    async def patched(request: web.Request) -> web.StreamResponse:
        written.append(await request.json())
        return web.json_response(body)

    async def scenario() -> tuple[int, str, list[Any]]:
        out = io.StringIO()
        async with api_server() as server:
            server.then("GET", "/version", answers({}))
            server.then("GET", PATH, answers({**body, "status": {"trial": trial}}))
            server.then("PATCH", PATH, patched)
            cluster = kubeconfig(folder, server.url)
            found = await asyncio.to_thread(run, TrialOptions("binpack", cluster, **options), out)
            return found, out.getvalue(), written

    return asyncio.run(scenario())


def test_a_trial_that_runs(tmp_path: Path) -> None:
    """The verdict first, with what is still to come."""
    code, text, _ = asked(tmp_path, TRIAL)
    first, canary, same, refused, following = text.splitlines()
    assert first == (
        "So far no worse: 312 pods decided by both, 0 regressions (none allowed). 88 to go."
    )
    assert "3f9c1b2a beside 9d02aa71, 10 % of the pods, since " in canary
    assert "ends when 10m pass without pods" in canary
    assert "283 pods on the same node; 25 elsewhere" in same
    assert "4 pods by both, 0 only by the former; the new one refuses at most 1.1 points" in refused
    assert following == "Next: moorage trial binpack --pods   moorage trial binpack --stop"
    assert code == 0


@pytest.mark.parametrize(
    ("verdict", "first", "code"),
    [
        ("Passed", "Passed: ", 0),
        ("Regressed", "Regressed, rolled back: ", 1),
        ("TooFewPods", "No verdict: too few pods: ", 1),
        ("Stopped", "Stopped: ", 1),
    ],
)
def test_a_trial_that_has_ended(tmp_path: Path, verdict: str, first: str, code: int) -> None:
    """Of one that was rolled back each pod with both answers."""
    trial = {**TRIAL, "verdict": verdict, "regressions": 3, "regressed": [REGRESSED]}
    found, text, _ = asked(tmp_path, trial)
    assert (found, text.startswith(first), "to go" in text) == (code, True, False)
    assert ("web-1" in text) is (verdict == "Regressed")
    _, text, _ = asked(tmp_path, trial, pods=True)
    assert "shop/web-1  n7" in text
    assert text.splitlines()[-2 if verdict != "Passed" else -1] == "and 2 more"


def test_pods_that_would_be_elsewhere(tmp_path: Path) -> None:
    """The last of them, where they are asked for."""
    moved = {"pod": "shop/cart-1", "uid": "u", "node": "n7", "triedNode": "n9"}
    trial = {**TRIAL, "elsewhere": [moved]}
    _, text, _ = asked(tmp_path, trial, pods=True)
    table = [line.split() for line in text.splitlines()[-4:-1]]
    assert table[:2] == [["ELSEWHERE", "FORMER", "NEW"], ["shop/cart-1", "n7", "n9"]]
    assert table[2] == ["and", "24", "elsewhere", "before"]
    assert "cart-1" not in asked(tmp_path, trial)[1]


def test_without_a_trial(tmp_path: Path) -> None:
    """It says how to start one; there is nothing to stop."""
    code, text, _ = asked(tmp_path, None)
    assert (code, text) == (0, "No trial runs. Start one: spec.rollout.strategy: Canary\n")
    code, text, written = asked(tmp_path, {**TRIAL, "verdict": "Passed"}, stop=True)
    assert (code, "nothing to stop" in text, written) == (1, True, [])


def test_it_is_stopped_by_its_revision(tmp_path: Path) -> None:
    """Nothing else is written."""
    code, text, written = asked(tmp_path, TRIAL, stop=True)
    assert written == [{"spec": {"rollout": {"stopped": "3f9c1b2a"}}}]
    assert (code, text) == (
        0,
        "binpack: the trial of 3f9c1b2a ends; 9d02aa71 goes on deciding.\n",
    )


def test_for_programs(tmp_path: Path) -> None:
    """The whole of it, and the pods."""
    code, text, _ = asked(tmp_path, {**TRIAL, "regressed": [REGRESSED]}, form="json")
    document = read_output(text)
    assert (code, document["kind"], document["pairs"]) == (0, "Trial", [REGRESSED])
    assert document["pairsTotal"] == TRIAL["regressions"]
    assert document["trial"]["verdict"] == "SoFarNoWorse"


def test_no_profile_is_wrong_use(tmp_path: Path) -> None:
    """And says which was looked for, and which was meant."""

    async def scenario() -> None:
        async with api_server() as server:
            server.then("GET", "/version", answers({}))
            server.then("GET", PATH, status(404, "NotFound"))
            listed = {"items": [{"metadata": {"name": name}} for name in ("binpacks", "gpu")]}
            server.then("GET", PATH.rpartition("/")[0], answers(listed))
            options = TrialOptions("binpack", kubeconfig(tmp_path, server.url))
            told = (
                'there is no SchedulerProfile binpack; did you mean "binpacks"\\?; there are: bin'
            )
            with pytest.raises(WrongUse, match=told):
                await asyncio.to_thread(run, options)

    asyncio.run(scenario())
