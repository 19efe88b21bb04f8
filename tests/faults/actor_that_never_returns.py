"""A plugin's bind actor that never returns: after as many pods as there are slots nobody is bound
any more, and nothing is told.
"""

from tests.faults.stage import PODS, Stage, creation, pod_body, until, verdict
from tests.rig.clients import many

SOURCE = """
import asyncio
from moorage.plugin_api import ExtensionPoint, PluginRegistration, PluginSpec

class Never:
    async def bind(self, pod, node, reserved):
        await asyncio.Event().wait()

def plugins():
    spec = PluginSpec("Never", None, acts_at=frozenset({ExtensionPoint.BIND}))
    return [PluginRegistration(spec, actor=lambda tools: Never())]
"""
with Stage(package=("never_binds", SOURCE)) as stage:
    stage.profile(
        "slow", plugins={"bind": {"disabled": [{"name": "*"}], "enabled": [{"name": "Never"}]}}
    )
    until(lambda: stage.condition("slow", "Ready")[0] == "True", 10)
    many(
        stage.rig,
        [creation(PODS, pod_body(f"e{i}", scheduler="slow", cpu="1m")) for i in range(100)],
    )
    until(lambda: False, 4)
    stage.pod("other")
    where = stage.bound("other", 40)
    verdict(
        not where,
        "pod of another profile beside 100 bindings that never end:"
        f" {'bound' if where else 'not bound after 40 s'}; {stage.why('e0')[:100]}",
    )
