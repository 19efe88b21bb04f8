"""status.nominatedNodeName of a pod whose scheduler is no more, or that is gated: it holds its room
for ever.

In virtual time on the engine's rig (half an hour). Meant: bounded in time, and the waiting pod's
message names who holds the room.
"""

import asyncio
from typing import Any

import msgspec

from moorage.core.objects.pods import PodStatus, SchedulingGate
from tests.builders import make_pod
from tests.engine.running import Running
from tests.engine.scheduling.test_group_scheduler import come, condition
from tests.faults.stage import verdict


async def waits(**ghostly: Any) -> str:
    async with Running().leading(nodes=1) as world:
        ghost = make_pod("ghost", cpu="3500m", priority=10, **ghostly)
        come(
            world,
            msgspec.structs.replace(ghost, status=PodStatus(nominated_node_name="n1")),
            make_pod("p", cpu="3", priority=0),
        )
        await world.clock.advance(60)
        early = condition(world, "p")[1]
        named = bool(world.node("p")) or "ghost" in early
        await world.clock.advance(1800)
        return ("bound" if world.node("p") else "NOT BOUND") + (
            "" if named else ", message names nobody"
        )


async def main() -> None:
    gone = await waits(scheduler_name="long-gone")
    gated = await waits(scheduling_gates=(SchedulingGate(name="x"),))
    verdict(
        "NOT" in gone + gated or "nobody" in gone + gated,
        f"after half an hour behind a scheduler that is gone: {gone}; behind a gate: {gated}",
    )


asyncio.run(main())
