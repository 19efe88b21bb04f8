"""A PluginConfig whose args are nested 900 deep: RecursionError, and a log line as long as a
book.
"""

from typing import Any

from tests.faults.stage import API, Stage, not_tried, until, verdict
from tests.rig import RigError

deep: dict[str, Any] = {}
inner = deep
for _ in range(900):
    inner["a"] = inner = {}
with Stage(real=True) as stage:
    before = len(stage.log_text())
    try:
        stage.config("deep", "NodeResourcesFit", deep)
    except RigError as error:
        not_tried(f"the API server refuses it ({str(error)[:80]}): try another server")
    until(lambda: stage.client.get(f"{API}/pluginconfigs/deep").get("status"), 10)
    new = stage.log_text()[before:]
    longest = max(map(len, new.splitlines() or [""]))
    told = bool(stage.client.get(f"{API}/pluginconfigs/deep").get("status", {}).get("conditions"))
    verdict(
        longest > 4096 or "RecursionError" in new or not told,
        (
            f"longest log line {longest} characters, RecursionError: {'RecursionError' in new}, "
            f"status says something: {told}"
        ),
    )
