"""A profile as the API server has it."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest

from moorage.api.v1alpha1.common import CONFIGS_PATH, PROFILES_PATH
from moorage.apps.revisions.profile_view import view
from moorage.apps.worlds.reaching import connected
from tests.adapters.api_server import answers, api_server
from tests.apps.reach.surroundings import a_profile
from tests.apps.worlds.test_from_cluster import kubeconfig


@pytest.mark.parametrize(
    ("claim", "home"),
    [
        ("theirs/moorage", "theirs"),
        ("", "moorage-system"),
        ("../moorage", "moorage-system"),
        ("a?b#/moorage", "moorage-system"),
        ("a%2Fb/moorage", "moorage-system"),
    ],
)
def test_where_its_revisions_are(claim: str, home: str, tmp_path: Path) -> None:
    """In the namespace of the installation that serves it; what is no name is not asked for."""

    async def scenario() -> None:
        async with api_server() as server:
            server.then("GET", "/version", answers({}))
            server.then("GET", f"{PROFILES_PATH}/gpu", answers(a_profile("gpu", claim)))
            server.then("GET", CONFIGS_PATH, answers({"items": []}))
            async with connected(kubeconfig(tmp_path, server.url)) as connection:
                await view(connection, "gpu")
            asked = server.requests[-1].path
            assert asked == f"/apis/apps/v1/namespaces/{home}/controllerrevisions"

    asyncio.run(scenario())
