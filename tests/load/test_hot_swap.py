"""A profile is swapped every two seconds while pods come: nobody notices but the pods, which land
where the new rules say.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

from moorage.engine.reports.metrics import LAG_INTERVAL_SECONDS, LAG_LIMIT_SECONDS
from tests.load.run_queues import RunQueue
from tests.load.swapping import PROFILE, make_pools, profile, swap_while
from tests.load.traffic import Traffic, accepted_binds, longest_gap, overcommitted, wait_all_bound
from tests.rig import Rig
from tests.rig.clients import Client
from tests.rig.operators import Operator, wait_for

RATE, SECONDS, PERIOD = 50, 60, 2.0


def began(late: dict[str, Any]) -> float:
    """When a step that was reported late can have begun: at most one look at the clock before it
    was due.
    """
    return float(late["at"] - late["seconds"] - LAG_INTERVAL_SECONDS)


def slow_steps(log: list[dict[str, Any]], queue: RunQueue) -> list[dict[str, Any]]:
    """Steps of the event loop over 50 ms, less what the process waited for a processor
    meanwhile.
    """
    late = [line for line in log if line["logger"] == "moorage.engine.reports.metrics"]
    return [
        line
        for line in late
        if line["seconds"] - queue.waited(began(line), line["at"]) > LAG_LIMIT_SECONDS
    ]


def overlapping(log: list[dict[str, Any]], slow: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Slow steps during which a swap ended."""
    swaps = [line["at"] for line in log if line["msg"] == "swapped"]
    return [line for line in slow if any(began(line) <= at <= line["at"] for at in swaps)]


def test_hot_swap_under_load(
    installation: tuple[Rig, Path], client: Client, figures: Callable[..., None]
) -> None:
    """No pod lost, none by a mix of two revisions, none bound twice, no gap, no slow swap, no node
    over its allocatable.
    """
    rig, kubeconfig = installation
    make_pools(client)
    client.post(PROFILE, profile("a"))
    with Operator(rig, kubeconfig, "moorage-0") as operator, RunQueue(operator.child.pid) as queue:
        wait_for(rig, "Ready", "sprof/swapped")
        with Traffic(rig, "swapped", RATE, SECONDS) as traffic:
            swaps = swap_while(client, lambda: traffic.running, PERIOD)
        pods = wait_all_bound(client, set(traffic.made))
        log = list(operator.log())
    landed = Counter(
        p["spec"]["nodeName"][0] for p in pods if p["metadata"]["name"] in traffic.made
    )
    binds = accepted_binds(rig)
    slow = slow_steps(log, queue)
    swapped = [line["seconds"] for line in log if line["msg"] == "swapped"]
    figures(
        pods=len(traffic.made),
        edits=swaps,
        swaps=len(swapped),
        landed=dict(landed),
        longest_swap_ms=round(max(swapped) * 1000, 3),
        longest_gap_between_binds_s=round(longest_gap(rig), 3),
        loop_steps_over_50_ms=len(slow),
        loop_kept_waiting_over_50_ms=sum(
            line["logger"] == "moorage.engine.reports.metrics" for line in log
        )
        - len(slow),
    )
    assert landed["a"] > 0.3 * traffic.count
    assert landed["b"] > 0.3 * traffic.count
    assert landed["c"] == 0
    assert sum(landed.values()) == traffic.count
    assert max(binds.values()) == 1
    assert len(binds) == traffic.count
    assert len(swapped) >= swaps - 1
    assert max(swapped) <= 0.005
    assert overlapping(log, slow) == []
    assert longest_gap(rig) <= 1.0
    assert overcommitted(client) == []
