"""A plugin that raises for every pod: lines without end, several per attempt."""

import time

from tests.faults.stage import PODS, Stage, pod_body, until, verdict

SOURCE = """
import dataclasses
from typing import ClassVar
from moorage.plugin_api import PluginRegistration, PluginSpec

@dataclasses.dataclass(frozen=True)
class Fails:
    name: ClassVar[str] = "Fails"
    events_to_register: ClassVar = ()

    def filter_node(self, pod, node):
        raise RuntimeError("no such rack")

def plugins():
    return [PluginRegistration(PluginSpec("Fails", Fails))]
"""
SECONDS, LIMIT, COUNT = 40, 60, 20
with Stage(
    package=("failing_plugin", SOURCE), config={"logging": {"format": "json", "verbosity": 0}}
) as stage:
    stage.profile("bad", plugins={"multiPoint": {"enabled": [{"name": "Fails"}]}})
    until(lambda: stage.condition("bad", "Ready")[0], 10)
    size = len(stage.log_text())
    for i in range(COUNT):
        stage.client.post(PODS, pod_body(f"b{i}", scheduler="bad"))
    time.sleep(SECONDS)
    new = stage.log_text()[size:].splitlines()
    verdict(
        len(new) > LIMIT,
        (
            f"{len(new)} lines in {SECONDS} s for {COUNT} pods of one profile; limit {LIMIT}; "
            f"the last: {new[-1][:120] if new else ''}"
        ),
    )
