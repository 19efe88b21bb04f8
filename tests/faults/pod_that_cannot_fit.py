"""A pod that cannot fit is told of anew with every attempt while pods come and go beside it, by a
log line and an event each.
"""

import time

from tests.faults.stage import Stage, Stream, until, verdict

SECONDS, LIMIT = 25, 8
with Stage(nodes=1, config={"logging": {"format": "json", "verbosity": 0}}) as stage:
    stage.pod("big", cpu="63000m")
    stage.bound("big", 10)
    stage.pod("huge", cpu="2")
    until(lambda: stage.why("huge") != "no condition", 10)
    size = len(stage.log_text())
    with Stream(stage, pause=0.05) as stream:
        time.sleep(SECONDS)
    lines = [line for line in stage.log_text()[size:].splitlines() if "huge" in line]
    events = stage.client.get("/apis/events.k8s.io/v1/namespaces/default/events")["items"]
    told = sum(
        (e.get("series") or {}).get("count") or e.get("deprecatedCount") or 1
        for e in events
        if e["regarding"]["name"] == "huge"
    )
    verdict(
        len(lines) > LIMIT or told > LIMIT + 1,
        f"{len(lines)} log lines and {told} events about it in {SECONDS} s,"
        f" beside {len(stream.waits)} pods that came and went; limit {LIMIT}",
    )
