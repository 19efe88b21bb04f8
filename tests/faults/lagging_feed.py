"""A new leader whose watch of ResourceClaims lags decides all the same after 5 s: two claims get
the one device.
"""

import time

from tests.faults.proxies import HttpProxy
from tests.faults.stage import DRA, Stage, until, verdict

CLAIMS = f"{DRA}/namespaces/default/resourceclaims"
with Stage(between=HttpProxy, start=False, nodes=1) as stage:
    c = stage.client
    c.post(
        f"{DRA}/deviceclasses",
        {
            "apiVersion": "resource.k8s.io/v1",
            "kind": "DeviceClass",
            "metadata": {"name": "gpu"},
            "spec": {},
        },
    )
    pool = {"name": "n0", "generation": 1, "resourceSliceCount": 1}
    c.post(
        f"{DRA}/resourceslices",
        {
            "apiVersion": "resource.k8s.io/v1",
            "kind": "ResourceSlice",
            "metadata": {"name": "s"},
            "spec": {"driver": "x", "nodeName": "n0", "pool": pool, "devices": [{"name": "d"}]},
        },
    )
    for name in "ab":
        requests = [
            {
                "name": "r",
                "exactly": {"deviceClassName": "gpu", "allocationMode": "ExactCount", "count": 1},
            }
        ]
        c.post(
            CLAIMS,
            {
                "apiVersion": "resource.k8s.io/v1",
                "kind": "ResourceClaim",
                "metadata": {"name": name},
                "spec": {"devices": {"requests": requests}},
            },
        )

    def use(name: str) -> None:
        stage.pod(f"p{name}", resourceClaims=[{"name": "c", "resourceClaimName": name}])

    def device(name: str) -> str:
        found = (
            c.get(f"{CLAIMS}/{name}")
            .get("status", {})
            .get("allocation", {})
            .get("devices", {})
            .get("results", [])
        )
        return "/".join((found[0]["pool"], found[0]["device"])) if found else ""

    old = stage.new_operator(kubeconfig=stage.direct)
    old.wait_logged("leading", 60)
    stage.operator = stage.new_operator()  # the standby, behind the proxy
    until(
        lambda: any(
            "/resourceclaims?" in path and "watch=" in path
            for _, _, path in list(stage.proxy.asked)
        ),
        20,
    )
    time.sleep(2)
    held = [True]
    stage.proxy.hold = lambda method, path: (
        held[0] and method == "GET" and path.partition("?")[0].endswith("/resourceclaims")
    )
    use("a")
    until(lambda: device("a"), 10)
    old.terminate(15)
    use("b")
    until(lambda: device("b"), 30)
    during = device("b")
    held[0] = False
    time.sleep(3)
    verdict(
        bool(device("a")) and device("a") == device("b"),
        (
            f"claim a has {device('a') or 'none'}, claim b has {during or 'none'} while the "
            f"watch lags, {device('b') or 'none'} after"
        ),
    )
