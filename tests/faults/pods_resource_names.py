"""Resource names that one pod made up stay for every node after the pod is gone."""

import time

from tests.faults.stage import PODS, Stage, pod_body, verdict

NAMES, NODES, LIMIT = 25_000, 600, 100
with Stage(nodes=NODES) as stage:
    stage.pod("first")
    stage.bound("first", 10)
    before = peak = stage.mib()
    asked = {f"t.x/r{k}": "0" for k in range(NAMES)}
    stage.client.post(PODS, pod_body("names", requests=asked))
    for _ in range(40):
        time.sleep(0.25)
        peak = max(peak, stage.mib())
    stage.remove(f"{PODS}/names", f"{PODS}/first")
    stage.pod("last")
    stage.bound("last", 10)
    time.sleep(4)
    after = stage.mib()
    verdict(
        after > before + LIMIT,
        f"resident {before:.0f} MiB, at most {peak:.0f} MiB, {after:.0f} MiB after"
        f" the pod with {NAMES} names is gone ({NODES} nodes); may grow by {LIMIT} MiB",
    )
