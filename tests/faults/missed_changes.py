"""What a watch never told is never noticed: missed pods and nodes, and pods that are gone. Compared
on request only.

In virtual time on the engine's rig (an hour passes). Meant: a comparison that runs by itself and
mends what it finds.
"""

import asyncio

from tests.builders import make_node, make_pod
from tests.engine.running import Running
from tests.faults.stage import verdict


async def main() -> None:
    async with Running().leading(nodes=2) as world:
        kube = world.kube
        for i in (1, 2):
            kube.put(make_pod(f"phantom{i}", cpu="4", node=f"n{i}"))
        await world.clock.advance(1)
        for i in (1, 2):
            kube.pods.pop(f"uid-phantom{i}")  # gone, and no watch tells
        kube._store(make_pod("missed", cpu="1"))  # stored, and no watch tells
        kube._store(make_node("n3", cpu="16"))
        kube.put(make_pod("behind-phantoms", cpu="3"))
        kube.put(make_pod("for-missed-node", cpu="12"))
        await world.clock.advance(3600)
        pods = ("missed", "behind-phantoms", "for-missed-node")
        lost = [name for name in pods if not world.node(name)]
        verdict(bool(lost), f"not bound after an hour: {', '.join(lost) or 'none'}")


asyncio.run(main())
