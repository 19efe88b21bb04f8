"""A profile's binding extender never answers: its bindings take all slots, pods of another profile
are not bound.
"""

import socket
import threading

from tests.faults.stage import PODS, Stage, creation, pod_body, until, verdict
from tests.rig.clients import many

deaf = socket.create_server(("127.0.0.1", 0), backlog=512)
kept: list[socket.socket] = []


def swallow() -> None:
    while True:
        kept.append(deaf.accept()[0])


threading.Thread(target=swallow, daemon=True).start()
with Stage(config={"extenders": {"allowedHosts": ["*"]}}) as stage:
    url = f"http://127.0.0.1:{deaf.getsockname()[1]}/x"
    stage.profile(
        "ext",
        extenders=[
            {
                "urlPrefix": url,
                "bindVerb": "bind",
                "nodeCacheCapable": True,
                "httpTimeout": "30s",
                "tlsConfig": {"insecure": True},
            }
        ],
    )
    until(lambda: stage.condition("ext", "Ready")[0] == "True", 10)
    many(
        stage.rig,
        [creation(PODS, pod_body(f"e{i}", scheduler="ext", cpu="1m")) for i in range(150)],
    )
    until(lambda: len(kept) > 40, 10)
    for i in range(20):
        stage.pod(f"o{i}")
    bound = until(
        lambda: (n := sum(bool(stage.bound(f"o{i}")) for i in range(20))) == 20 and n, 20, 1
    ) or sum(bool(stage.bound(f"o{i}")) for i in range(20))
    verdict(
        bound < 20,
        f"{len(kept)} calls hang; bound of the other profile's 20 pods in"
        f" 20 s: {bound}; profile ext: {stage.condition('ext', 'Ready')[:2]}",
    )
