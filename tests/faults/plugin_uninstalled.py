"""A profile has decided pods; its plugin is uninstalled and the operator restarted: it "has never
been valid".
"""

from tests.faults.stage import Stage, until, verdict

SOURCE = """
import dataclasses
from typing import ClassVar
from moorage.plugin_api import PluginRegistration, PluginSpec

@dataclasses.dataclass(frozen=True)
class Easy:
    name: ClassVar[str] = "Easy"
    events_to_register: ClassVar = ()

    def filter_node(self, pod, node):
        return None

def plugins():
    return [PluginRegistration(PluginSpec("Easy", Easy))]
"""
with Stage(package=("easy_plugin", SOURCE)) as stage:
    stage.profile("mine", plugins={"multiPoint": {"enabled": [{"name": "Easy"}]}})
    until(lambda: stage.condition("mine", "Ready")[0] == "True", 10)
    stage.pod("p", scheduler="mine")
    decided = stage.bound("p", 10)
    stage.operator.terminate(15)
    (stage.site / "easy_plugin.py").unlink()
    stage.operator = stage.new_operator({"plugins": {"packages": []}})
    stage.operator.wait_logged("leading", 60)
    until(lambda: stage.condition("mine", "Ready")[0] == "False", 15)
    stage.pod("q", scheduler="mine")
    until(lambda: stage.why("q") != "no condition", 15)
    said = stage.why("q")
    events = stage.client.get("/apis/events.k8s.io/v1/namespaces/default/events")["items"]
    notes = [event.get("note", "") for event in events if event["regarding"]["name"] == "q"]
    never = any(
        "never been valid" in text
        for text in (said, *notes, stage.log_text(), *stage.condition("mine", "Ready"))
    )
    verdict(
        never or not decided,
        (
            f"decided a pod before: {bool(decided)}; says never valid: {never}; a new pod is "
            f"told: {(said + ' / ' + ' / '.join(notes))[:200]}"
        ),
    )
