"""While preBind takes a reserved claim back, the pod's node goes: the undo is cancelled half way,
the claim stays taken for ever.

In virtual time on the engine's rig. Meant: a second cause at any await of a clean-up does not end
the clean-up.
"""

import asyncio
from unittest.mock import patch

import msgspec

from moorage.core.objects.resource_claims import (
    Allocation,
    Consumer,
    DeviceClass,
    ResourceClaim,
    ResourceSlice,
)
from moorage.ports.errors import Forbidden
from tests.builders import make_node
from tests.engine.binding.test_device_binder import a_claim, a_user, device, holders
from tests.engine.running import STEPS, Running
from tests.engine.worlds import a_body
from tests.fakes.clocks import settle
from tests.faults.stage import verdict


async def main() -> None:
    async with Running().leading(a_body("test", plugins=STEPS), nodes=0) as world:
        kube = world.kube
        kube.put(msgspec.convert({"metadata": {"name": "gpu"}, "spec": {}}, DeviceClass))
        kube.put(make_node("n1"))
        pool = {"name": "n1", "generation": 1, "resourceSliceCount": 1}
        spec = {
            "driver": "x",
            "nodeName": "n1",
            "pool": pool,
            "devices": [{"name": "d1"}, {"name": "d2"}],
        }
        kube.put(
            msgspec.convert(
                {"metadata": {"name": "n1", "uid": "s-n1"}, "spec": spec}, ResourceSlice
            )
        )
        kube.put(a_claim("c"))
        kube.put(a_claim("d"))
        reserve = kube.reserve_claim

        async def reserve_claim(
            claim: ResourceClaim, consumer: Consumer, allocation: Allocation | None
        ) -> ResourceClaim:
            if claim.metadata.name == "d":
                raise Forbidden("PATCH", 403, "Forbidden", "policy")
            return await reserve(claim, consumer, allocation)

        patch.object(kube, "reserve_claim", reserve_claim).start()
        # the read that the undo begins with; hold whatever it asks first
        gate = kube.hold("pod_node")
        kube.put(a_user("p", "c", "d"))
        await settle()
        await world.clock.advance(0.1)
        kube.delete(kube.nodes["n1"])
        await settle()
        gate.set()
        await settle()
        await world.clock.advance(3)
        kube.delete(kube.pods["uid-p"])
        await world.clock.advance(60)
        verdict(
            bool(holders(world, "c")),
            (
                f"a minute after the pod's end claim c is held for "
                f"{holders(world, 'c') or 'nobody'}, device of {device(world, 'c') or 'none'}"
            ),
        )


asyncio.run(main())
