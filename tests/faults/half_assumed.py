"""Assuming a pod fails half way (here: the resources that only an extender manages): room stays
taken, the pod is never bound.

In virtual time on the engine's rig. Meant: whatever raises while a pod is assumed or added, the
cache afterwards is as before, and the pod is tried again.
"""

import asyncio

import msgspec

from moorage.core.objects.pods import Pod, ResourceRequirements
from tests.builders import make_pod
from tests.engine.running import Running
from tests.engine.scheduling.test_extender_cycles import ANYWHERE, a_profile
from tests.faults.stage import verdict

COUNT = 6


def asking(name: str, resource: str) -> Pod:
    pod = make_pod(name)
    (container,) = pod.spec.containers or ()
    container = msgspec.structs.replace(
        container, resources=ResourceRequirements(requests={"cpu": "500m", resource: "1"})
    )
    return msgspec.structs.replace(
        pod, spec=msgspec.structs.replace(pod.spec, containers=(container,))
    )


async def main() -> None:
    managed = [{"name": f"ext.io/r{i}", "ignoredByScheduler": True} for i in range(COUNT)]
    async with Running(config=ANYWHERE).leading(
        a_profile({"filterVerb": "filter", "managedResources": managed}), nodes=1
    ) as world:
        for i in range(COUNT):
            world.kube.put(asking(f"p{i}", f"ext.io/r{i}"))
        await world.clock.advance(3600)
        lost = [i for i in range(COUNT) if not world.node(f"p{i}")]
        verdict(
            bool(lost) or world.assumed > 0,
            f"not bound after an hour: {len(lost)} of {COUNT}; still assumed: {world.assumed}",
        )


asyncio.run(main())
