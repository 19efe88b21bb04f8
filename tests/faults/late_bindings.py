"""A leader is cut off in mid-burst: what it had written is delivered 30 s late by a proxy, when
others have bound.

The proxy drops what it holds of a connection that was reset, as proxies do, and the sender's end is
a reset. The control keeps it all the same: so the half minute really passes, and what is kept would
arrive.
"""

import asyncio

from tests.adapters.late_proxy import delivered_late
from tests.faults.stage import verdict

LATE = 30.0


async def both() -> tuple[bool, bool]:
    """Side by side."""
    came, kept = await asyncio.gather(
        delivered_late(LATE, heeds_resets=True), delivered_late(LATE, heeds_resets=False)
    )
    return came, kept


arrived, control = asyncio.run(both())
if not control:
    raise RuntimeError("the proxy that keeps everything has not delivered: nothing was tried")
verdict(
    arrived,
    (
        f"a binding that was held for {LATE:.0f} s has {'' if arrived else 'not '}arrived after "
        f"its leader's end"
    ),
)
