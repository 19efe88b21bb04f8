"""The page of a cluster: what its API server says, through scripted answers."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from moorage.apps.run.side_loop import OneLoop
from moorage.apps.ui.cluster_source import ClusterSource
from moorage.apps.ui.questions import parse
from moorage.apps.worlds.deciding import in_tree_resolver
from tests.adapters.api_server import answers, api_server
from tests.apps.ui.harbor import TRIAL
from tests.apps.worlds.test_from_cluster import NODES, NONE, PROFILES, kubeconfig


def seen(folder: Path, profiles: list[Any], document: str, **query: str) -> Mapping[str, Any]:
    """A document of a cluster with one node, these profiles, and a pod for the first of them."""
    pod = {
        "metadata": {"name": "p", "namespace": "d", "uid": "u-p"},
        "spec": {"schedulerName": profiles[0]["metadata"]["name"]},
    }
    there = {
        "/version": {},
        "/api/v1/nodes": NODES,
        "/api/v1/pods": {**NONE, "items": [pod]},
        PROFILES: {**NONE, "items": profiles},
        **{f"{PROFILES}/{one['metadata']['name']}": one for one in profiles},
    }

    async def scenario() -> Mapping[str, Any]:
        async with api_server() as server:
            for path, answer in there.items():
                server.then("GET", path, answers(answer))
            choice = kubeconfig(folder, server.url)
            source = ClusterSource(choice, in_tree_resolver(), OneLoop())
            await source.open()
            try:
                return await source.document(parse(document, query))
            finally:
                await source.close()

    return asyncio.run(scenario())


def profile(name: str, **spec: Any) -> dict[str, Any]:
    """As the API server has it."""
    return {"metadata": {"name": name, "uid": f"u-{name}", "generation": 1}, "spec": spec}


def test_a_pod_of_a_suspended_profile_says_so(tmp_path: Path) -> None:
    """As `moorage explain` does: it is not tried, whatever nodes there are."""
    found = seen(tmp_path, [profile("batch", suspend=True)], "pod", name="d/p")
    assert found["verdict"] == "Suspended"


def test_what_is_said_of_profiles_is_left_out(tmp_path: Path) -> None:
    """Who decides in place of a spec that is refused: nobody, here."""
    profiles = [profile("batch"), profile("wrong", preset="BinPak")]
    for document, query in (("pod", {"name": "d/p"}), ("nodes", {})):
        said = seen(tmp_path, profiles, document, **query)["leftOut"]
        assert any("profile wrong is left out" in text for text in said)


def test_a_trial_says_how_far_it_is(tmp_path: Path) -> None:
    """Pairs to go, while it runs."""
    for verdict, to_go in (("SoFarNoWorse", 90), ("Regressed", None)):
        tried = {**profile("batch"), "status": {"trial": {**TRIAL, "verdict": verdict}}}
        assert seen(tmp_path, [tried], "trial", profile="batch")["toGo"] == to_go


def test_profiles_are_found_by_their_names(tmp_path: Path) -> None:
    """By which they are shown, whatever name pods call them by, and whether or not they decide."""
    profiles = [profile("batch", schedulerName="slow"), profile("batch-2", preset="BinPak")]
    assert seen(tmp_path, profiles, "find", text="batch")["profiles"] == ["batch", "batch-2"]
    assert seen(tmp_path, profiles, "find", text="slow")["profiles"] == []
