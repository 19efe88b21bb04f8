"""Extended resources that stand for devices: no node lists them, so the fifth one's pod is charged
half and lost.
"""

from tests.faults.stage import DRA, Stage, node_body, verdict

NAMES = range(6)
with Stage(nodes=0) as stage:
    c = stage.client
    for i in NAMES:
        c.post("/api/v1/nodes", node_body(f"g{i}"))
        c.post(
            f"{DRA}/deviceclasses",
            {
                "apiVersion": "resource.k8s.io/v1",
                "kind": "DeviceClass",
                "metadata": {"name": f"c{i}"},
                "spec": {"extendedResourceName": f"x{i}.io/gpu"},
            },
        )
        pool = {"name": f"g{i}", "generation": 1, "resourceSliceCount": 1}
        c.post(
            f"{DRA}/resourceslices",
            {
                "apiVersion": "resource.k8s.io/v1",
                "kind": "ResourceSlice",
                "metadata": {"name": f"s{i}"},
                "spec": {
                    "driver": "x",
                    "nodeName": f"g{i}",
                    "pool": pool,
                    "devices": [{"name": "d"}],
                },
            },
        )
    for i in NAMES:
        stage.pod(f"p{i}", requests={f"x{i}.io/gpu": "1"})
    missing = [i for i in NAMES if not stage.bound(f"p{i}", 8 if i == 0 else 4)]
    verdict(
        bool(missing) or not stage.operator.alive,
        f"{len(missing)} of {len(NAMES)} pods not bound, process lives: {stage.operator.alive}"
        + (f"; the last says {stage.why(f'p{missing[-1]}')[:160]}" if missing else ""),
    )
