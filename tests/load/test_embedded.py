"""The embedded cluster under load: big lists are quick, and watchers hear of every write, in order
and soon.
"""

from __future__ import annotations

import asyncio
import math
import os
from collections.abc import Callable

import pytest

from tests.bench import embedded
from tests.load.run_queues import RunQueue
from tests.rig import DevRig
from tests.suites import BUDGET_FACTOR

NODES, PODS = 5000, 1000
RATE, SECONDS = 500, 8
FACTOR = float(os.environ.get(BUDGET_FACTOR, "1"))


@pytest.mark.parametrize("accept", ["application/json", embedded.TABLE], ids=["JSON", "Table"])
def test_lists_are_quick(accept: str, figures: Callable[..., None]) -> None:
    """5,000 nodes in less than a second, also the first time, when none of them has been written as
    JSON yet.
    """

    async def scenario() -> list[tuple[float, int]]:
        async with embedded.connected(rig) as session:
            await embedded.load(session, NODES, 0)
            return [await embedded.listed(session, accept) for _ in range(2)]

    with DevRig() as rig:
        found = asyncio.run(scenario())
    figures(first_list_s=round(found[0][0], 3), next_list_s=round(found[1][0], 3))
    assert [count for _, count in found] == [NODES, NODES]
    assert max(seconds for seconds, _ in found) < 1.0 * FACTOR


def test_watchers_keep_up(figures: Callable[..., None]) -> None:
    """500 writes a second, which three clients hear of over TLS: each of all of them, in the order
    of their versions.

    Time in which a busy machine gave one of the two processes no processor does not count.
    """

    async def scenario() -> tuple[embedded.Watched, float]:
        async with embedded.connected(rig) as session:
            await embedded.load(session, 0, PODS)
            with RunQueue(rig.pids()[-1]) as server, RunQueue(os.getpid()) as client:
                done = await embedded.watched_writes(session, PODS, RATE / FACTOR, SECONDS)
            return done, server.waited(0, math.inf) + client.waited(0, math.inf)

    with DevRig() as rig:
        done, waited = asyncio.run(scenario())
    delays = sorted(done.delays)
    late = delays[int(len(delays) * 0.99)]
    figures(
        writes_a_second=round(done.rate),
        s_without_a_processor=round(waited, 1),
        late_by_ms_at_most_of_99_percent=round(late * 1000),
    )
    for had in done.had:
        assert had.keys() == done.answered.keys()
        assert list(had) == sorted(had, key=int)
    assert len(done.answered) / (done.seconds - waited) > 0.9 * RATE / FACTOR
    assert late < 1.0 * FACTOR + waited
