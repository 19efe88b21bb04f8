"""Resource names that one node's status lists are kept for every node, also after they are gone."""

import time

from tests.faults.stage import Stage, verdict

NAMES, NODES, LIMIT = 20_000, 600, 100
with Stage(nodes=NODES) as stage:
    stage.pod("first")
    stage.bound("first", 10)
    before = stage.mib()
    names = {f"x.y/r{k}": "1" for k in range(NAMES)}
    stage.client.merge("/api/v1/nodes/n3/status", {"status": {"allocatable": names}})
    time.sleep(6)
    peak = stage.mib()
    stage.client.merge("/api/v1/nodes/n3/status", {"status": {"allocatable": dict.fromkeys(names)}})
    time.sleep(2)
    stage.remove("/api/v1/nodes/n3")
    stage.pod("last")
    stage.bound("last", 10)
    time.sleep(4)
    after = stage.mib()
    verdict(
        after > before + LIMIT,
        f"resident {before:.0f} MiB, {peak:.0f} MiB with {NAMES} names on one of"
        f" {NODES} nodes, {after:.0f} MiB after it is gone; may grow by {LIMIT} MiB",
    )
