"""A gang of priority 1,000 beside small pods of priority 0, one new each 10 s: never placed, a
quarter of an hour long.

In virtual time on the engine's rig. Meant: room is held for the first gang that waits, for a
bounded time, and that is told.
"""

import asyncio

from tests.builders import make_pod
from tests.engine.running import Running
from tests.engine.scheduling.test_group_scheduler import come, condition, group, member, placed
from tests.faults.stage import verdict


async def main() -> None:
    async with Running().leading(nodes=2) as world:
        for i in range(2):
            come(world, make_pod(f"low{i}", cpu="4", priority=0))
        await world.clock.advance(2)
        come(
            world,
            group(2),
            member("g0", cpu="4", priority=1000),
            member("g1", cpu="4", priority=1000),
        )
        when = None
        for step in range(90):
            await world.clock.advance(10)
            if all(placed(world, "g0", "g1")):
                when = step * 10
                break
            come(world, make_pod(f"low{step + 2}", cpu="4", priority=0))
            run = sorted(
                (
                    uid
                    for uid, pod in world.kube.pods.items()
                    if uid.startswith("uid-low") and pod.spec.node_name
                ),
                key=lambda uid: int(uid[7:]),
            )
            if run:
                world.kube.delete(world.kube.pods[run[0]])
        verdict(
            when is None,
            (
                f"gang placed {'never in 900 s' if when is None else f'after {when} s'}; "
                f"{condition(world, 'g0')[1][:110]}"
            ),
        )


asyncio.run(main())
