"""Writes of events and of the lease break for a while: then each bound pod has its event, and the
leader is the same.

For 25 s every write of an event ends in a broken connection, and of the lease's renewals one
succeeds each 6 s.
"""

import time

from tests.faults.proxies import HttpProxy
from tests.faults.stage import PODS, Stage, creation, pod_body, verdict
from tests.rig.clients import many

COUNT, SECONDS = 200, 25
with Stage(between=HttpProxy, nodes=20) as stage:
    began = time.monotonic()
    renewed = [began]
    broken = {"events": 0, "leases": 0}

    def answer(method: str, path: str, body: bytes) -> tuple[int, str] | None:
        now = time.monotonic()
        if method == "GET" or now > began + SECONDS:
            return None
        if "/events" in path.partition("?")[0]:
            broken["events"] += 1
            return 0, ""
        if "/leases/" in path:
            if now - renewed[0] < 6:
                broken["leases"] += 1
                return 0, ""
            renewed[0] = now
        return None

    stage.proxy.answer = answer
    many(stage.rig, [creation(PODS, pod_body(f"p{i}", cpu="1m")) for i in range(COUNT)], 4)
    while time.monotonic() < began + SECONDS + 35 and stage.operator.alive:
        time.sleep(0.5)
    lived, when = stage.operator.alive, time.monotonic() - began
    events = stage.client.get("/apis/events.k8s.io/v1/namespaces/default/events")["items"]
    told = {event["regarding"]["name"] for event in events if event["reason"] == "Scheduled"}
    bound = {
        pod["metadata"]["name"]
        for pod in stage.client.get(PODS)["items"]
        if pod["spec"].get("nodeName")
    }
    verdict(
        not lived or len(bound - told) > 0,
        f"{broken['events']} writes of events and {broken['leases']} of the lease"
        f" broken: {len(bound - told)} events of {len(bound)} bound pods missing;"
        f" the leader {'stayed' if lived else f'was gone after {when:.0f} s'}",
    )
