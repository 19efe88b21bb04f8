"""All connections are reset each second under a stream of pods, over a slow network: events are
missing, the leader gives up.

0.2 s each way, so that what begins right after a reset gets through.
"""

import functools
import threading
import time

from tests.faults.proxies import TcpProxy
from tests.faults.stage import PODS, Stage, pod_body, verdict
from tests.rig.clients import Client, many

RATE, SECONDS = 15, 26
with Stage(between=TcpProxy, nodes=50) as stage:
    count = RATE * SECONDS
    stage.proxy.delay = 0.2
    began = time.monotonic()

    def resets() -> None:
        while time.monotonic() < began + SECONDS:
            time.sleep(1)
            stage.proxy.reset()

    thread = threading.Thread(target=resets, daemon=True)
    thread.start()

    def create(i: int, client: Client) -> None:
        time.sleep(max(0.0, began + i / RATE - time.monotonic()))
        client.post(PODS, pod_body(f"p{i}", cpu="1m"))

    many(stage.rig, [functools.partial(create, i) for i in range(count)], 4)
    thread.join()
    stage.proxy.delay = 0.0
    lived = stage.operator.alive
    gave_up = round(time.monotonic() - began) if not lived else 0
    if not lived:
        stage.operator = stage.new_operator(kubeconfig=stage.direct)
    time.sleep(25)
    found = stage.client.get("/apis/events.k8s.io/v1/namespaces/default/events")["items"]
    told = {event["regarding"]["name"] for event in found if event["reason"] == "Scheduled"}
    bound = {
        pod["metadata"]["name"]
        for pod in stage.client.get(PODS)["items"]
        if pod["spec"].get("nodeName")
    }
    missing = len(bound - told)
    verdict(
        not lived or missing > count // 100,
        f"{stage.proxy.resets} resets: {len(bound)} of {count} pods bound, {missing} of their"
        f" events missing; the leader {'stayed' if lived else f'was gone after {gave_up} s'}",
    )
