"""Objects that no schema has seen, as after a CRD that was weaker for a while: they harm themselves only."""

from __future__ import annotations

import asyncio
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from tests.engine.worlds import a_body, a_config, make_engine
from tests.fakes.kube import InMemoryKube
from tests.fakes.sinks import RecordingEvents

KEYS = (
    "name",
    "schedulerName",
    "controllerName",
    "preset",
    "plugins",
    "score",
    "enabled",
    "weights",
    "pluginConfig",
    "configRef",
    "args",
    "suspend",
    "rollout",
    "plugin",
    "claimedBy",
    "conditions",
    "type",
    "leader",
    "queue",
)
SCALARS = (
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.sampled_from(("", "a", "NodeResourcesFit", "../x", "ü"))
)
JSON = st.recursive(
    SCALARS, lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from(KEYS), inner, max_size=5), max_leaves=20
)


@given(once_good=st.booleans(), spec=JSON, status=JSON, config_spec=JSON, config_status=JSON)
def test_nonsense_is_told_in_status_and_good_profiles_decide(
    once_good: bool, spec: Any, status: Any, config_spec: Any, config_status: Any
) -> None:
    """Nothing raises, whatever spec and status hold; another profile is live all the same."""
    kube = InMemoryKube()
    engine = make_engine(kube, RecordingEvents())
    if once_good:
        engine.profile_seen("odd", a_body("odd"))
        asyncio.run(engine.swapper.settle())
    odd = {**a_body("odd", generation=2), "spec": spec, "status": status}
    engine.profile_seen("odd", odd)
    engine.plugin_config_seen("odd", {**a_config("odd"), "spec": config_spec, "status": config_status})
    engine.profile_seen("good", a_body("good"))
    asyncio.run(engine.swapper.settle())
    asyncio.run(engine.reconciler.round())
    assert "good" in engine.loop.live
    if "odd" in engine.swapper.records:
        accepted = kube.statuses["SchedulerProfile", "odd"]["conditions"][0]
        assert accepted["type"] == "Accepted"
    assert kube.statuses["PluginConfig", "odd"]["conditions"][0]["type"] == "Accepted"
    engine.profile_seen("odd", None)
    engine.plugin_config_seen("odd", None)
    asyncio.run(engine.swapper.settle())
    assert list(engine.loop.live) == ["good"]
