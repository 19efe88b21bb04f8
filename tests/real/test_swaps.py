"""A profile is swapped every second while pods come; tests/load/test_hot_swap.py does it for a
minute, and looks at more.
"""

from __future__ import annotations

import contextlib
from collections import Counter
from collections.abc import Callable

from tests.load.swapping import PROFILE, make_pools, profile, swap_while
from tests.load.traffic import Traffic, overcommitted, wait_all_bound
from tests.rig import ControlPlane
from tests.rig.clients import Client
from tests.rig.operators import Operator, install, wait_for

RATE, SECONDS, PERIOD = 20, 6, 1.0


def test_no_pod_is_placed_by_a_mix_of_two_revisions(new_rig: Callable[[], ControlPlane]) -> None:
    """None is lost, and each lands where the rules of one of the two say."""
    with new_rig() as rig, contextlib.closing(Client(rig)) as client:
        kubeconfig = install(rig)
        make_pools(client)
        client.post(PROFILE, profile("a"))
        with Operator(rig, kubeconfig, "moorage-swapped") as operator:
            wait_for(rig, "Ready", "sprof/swapped")
            with Traffic(rig, "swapped", RATE, SECONDS) as traffic:
                swaps = swap_while(client, lambda: traffic.running, PERIOD)
            pods = wait_all_bound(client, set(traffic.made))
            swapped = [line for line in operator.log() if line["msg"] == "swapped"]
        landed = Counter(
            pod["spec"]["nodeName"][0] for pod in pods if pod["metadata"]["name"] in traffic.made
        )
        assert sum(landed.values()) == traffic.count
        assert landed["c"] == 0
        assert min(landed["a"], landed["b"]) > 0.2 * traffic.count
        assert len(swapped) >= swaps - 1
        assert overcommitted(client) == []
