"""A relist after which 20,000 pods are gone is one step of the loop.

On the bench of the engine's tests. Meant: no step of a relist lasts longer than 50 ms, however much
changed.
"""

import time

from tests.builders import make_node, make_pod
from tests.engine.worlds import Bench, on_node, versioned
from tests.faults.stage import verdict

COUNT, LIMIT_MS = 20_000, 50.0
bench = Bench()
for i in range(500):
    bench.nodes.put(versioned(make_node(f"n{i}", cpu="1000", memory="1Ti", pods="1000")))
bench.nodes.list_ended()
bench.pods.list_ended()
for i in range(COUNT):
    bench.pods.put(versioned(on_node(make_pod(f"r{i}", cpu="10m"), f"n{i % 500}")))
bench.pods.list_started()
held, more = 0.0, True
while more:
    began = time.perf_counter()
    more = bench.pods.list_ended()
    held = max(held, (time.perf_counter() - began) * 1000)
verdict(
    held > LIMIT_MS,
    (
        f"the end of a list without {COUNT} pods holds the loop {held:.0f} ms at a time; limit "
        f"{LIMIT_MS:.0f} ms"
    ),
)
