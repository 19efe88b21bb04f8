"""The task in which a cluster's controllers work."""

from __future__ import annotations

import asyncio
import logging

import pytest

from towtank.cluster import Cluster, ClusterSettings


def test_a_cluster_that_stops_moving_says_so_at_once(
    caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    """And again when it ends."""

    def fail() -> None:
        raise KeyError("due")

    async def run() -> None:
        async with Cluster(ClusterSettings()) as cluster:
            await asyncio.sleep(0)
            assert not caplog.records
            monkeypatch.setattr(cluster._api_server.controllers, "due", fail)
            cluster._work.set()
            async with asyncio.timeout(10):
                while not caplog.records:
                    await asyncio.sleep(0)

    with caplog.at_level(logging.CRITICAL), pytest.raises(KeyError, match="due"):
        asyncio.run(run())
    assert caplog.records[0].message == "the controllers have stopped"
