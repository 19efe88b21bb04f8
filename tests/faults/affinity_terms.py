"""Terms of pod anti-affinity that placed pods carried stay after these pods are gone."""

import time

from tests.faults.stage import PODS, Stage, pod_body, verdict

TERMS, WARM, ROUNDS, LIMIT = 9000, 4, 14, 60
with Stage(nodes=300, real=True) as stage:
    stage.pod("first")
    stage.bound("first", 10)
    before = peak = stage.mib()
    for i in range(ROUNDS):
        terms = [
            {
                "labelSelector": {"matchLabels": {f"w{i}-{k}": "v"}},
                "topologyKey": "kubernetes.io/hostname",
            }
            for k in range(TERMS)
        ]
        affinity = {"podAntiAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": terms}}
        stage.client.post(PODS, pod_body(f"c{i}", node=f"n{i}", affinity=affinity))
        time.sleep(1.2)
        peak = max(peak, stage.mib())
        stage.remove(f"{PODS}/c{i}")
        if i == WARM - 1:
            time.sleep(1)
            before = stage.mib()
    stage.remove(f"{PODS}/first")
    stage.pod("last")
    stage.bound("last", 20)
    time.sleep(4)
    after = stage.mib()
    verdict(
        after > before + LIMIT,
        f"resident {before:.0f} MiB after {WARM} pods, at most {peak:.0f} MiB, {after:.0f}"
        f" MiB after {ROUNDS} pods of {TERMS} terms are gone; may grow by {LIMIT} MiB",
    )
