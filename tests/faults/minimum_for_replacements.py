"""minMember once met is not met for those that come later: the last member of a gang, or a
replacement, waits for ever.

In virtual time on the engine's rig: minMember 2 of 3 in room for two; these run and succeed; the
third is left.
"""

import asyncio

import msgspec

from tests.engine.running import Running
from tests.engine.scheduling.test_group_scheduler import come, condition, group, member
from tests.faults.stage import verdict


def ends(world: Running, name: str) -> None:
    pod = world.kube.pods[f"uid-{name}"]
    world.kube.put(
        msgspec.structs.replace(pod, status=msgspec.structs.replace(pod.status, phase="Succeeded"))
    )


async def main() -> None:
    async with Running().leading(nodes=2) as world:
        come(world, group(2), *(member(name, cpu="4") for name in "abc"))
        await world.clock.advance(5)
        first = [name for name in "abc" if world.node(name)]
        (left,) = set("abc") - set(first)
        for name in first:
            ends(world, name)
        await world.clock.advance(1800)
        odd = world.node(left)
        come(world, group(3, name="h"), *(member(name, "h", cpu="1") for name in ("d", "e", "f")))
        await world.clock.advance(5)
        ends(world, "d")
        world.kube.delete(world.kube.pods["uid-e"])
        come(world, member("e2", "h", cpu="1"))
        await world.clock.advance(1800)
        verdict(
            not odd or not world.node("e2"),
            f"after half an hour: the last of three is {'bound' if odd else 'not bound'}, a "
            f"replacement"
            f" is {'bound' if world.node('e2') else 'not bound'}; "
            f"{condition(world, left)[1][:100]}",
        )


asyncio.run(main())
