"""The space of profiles: all in it can decide, and nothing is otherwise that is not to vary."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from moorage.api.resolved_profile import Resolution
from moorage.apps.exit_status import WrongUse
from moorage.apps.tune.profile_space import (
    FOR_THE_CLUSTER,
    MOST_WEIGHT,
    ProfileSpace,
    space_of,
)
from tests.apps.worlds.recordings import RESOLVER
from tests.engine.worlds import a_body, a_config

CONFIGS = {"gpus": a_config("gpus", scoringStrategy={"resources": [{"name": "cpu", "weight": 42}]})}
RATIO = {"shape": [{"utilization": 0, "score": 10}, {"utilization": 70, "score": 1}]}
PROFILES: dict[str, dict[str, Any]] = {
    "default": a_body("default"),
    "packed": a_body("packed", preset="BinPack", weights={"NodeResourcesFit": 500}),
    "shaped": a_body(
        "shaped",
        pluginConfig=[
            {
                "name": "NodeResourcesFit",
                "args": {
                    "ignoredResources": ["example.com/a"],
                    "scoringStrategy": {
                        "type": "RequestedToCapacityRatio",
                        "requestedToCapacityRatio": RATIO,
                    },
                },
            }
        ],
    ),
    "referring": a_body(
        "referring", pluginConfig=[{"name": "NodeResourcesFit", "configRef": {"name": "gpus"}}]
    ),
    "plain": a_body("plain", weights={"NodeResourcesFit": 0}),
}


class Drawn:
    """Chooses whatever hypothesis draws."""

    def __init__(self, data: st.DataObject) -> None:
        self._data = data

    def suggest_int(self, name: str, low: int, high: int, *, log: bool = False) -> int:
        """A number in these bounds."""
        return self._data.draw(st.integers(low, high), name)

    def suggest_categorical(self, name: str, choices: Sequence[str]) -> str:
        """One of these."""
        return self._data.draw(st.sampled_from(choices), name)


def space(
    name: str, asked: Sequence[str] = ("cpu", "memory", "pods"), varied: Sequence[str] = ()
) -> tuple[ProfileSpace, Resolution]:
    """Of one of the profiles."""
    resolution = RESOLVER(PROFILES[name], CONFIGS)
    return space_of(resolution.document, resolution.revision, asked, varied), resolution


@given(st.sampled_from(list(PROFILES)), st.data())
def test_each_profile_of_the_space_can_decide(name: str, data: st.DataObject) -> None:
    """Alone in its file; what is the pods' owners' wish keeps its weight, and filters stay."""
    found, resolution = space(name, ("cpu", "memory", "pods", "nvidia.com/gpu"))
    body = found.profile(found.choose(Drawn(data)))
    made, present = RESOLVER(body, {}).revision, resolution.revision
    assert made.points.keys() == present.points.keys()
    for plugin, weight in present.weights.items():
        if plugin not in FOR_THE_CLUSTER:
            assert made.weights[plugin] == weight
        else:
            assert 0 <= made.weights.get(plugin, 0) <= max(MOST_WEIGHT, weight)
    assert made.weights.keys() <= present.weights.keys()
    assert "configRef" not in str(body)


@pytest.mark.parametrize("name", [name for name in PROFILES if name != "shaped"])
def test_the_present_profile_is_in_it(name: str) -> None:
    """The point that it is at stands for itself."""
    found, resolution = space(name)
    point = {**found.present(), "shape 0": 0, "shape 50": 0, "shape 100": 0}
    assert RESOLVER(found.profile(point), {}).id == resolution.id
    assert found.changes(point) == 0


def test_what_may_vary() -> None:
    """Plugins that rank for the cluster's sake, and those that are named; resources that pods ask
    for count or not.
    """
    found, _ = space("default", ("cpu", "memory", "nvidia.com/gpu", "pods"), ("NodeAffinity",))
    assert list(found.present()) == [
        "weight NodeAffinity",
        "weight NodeResourcesFit",
        "weight VolumeBinding",
        "weight NodeResourcesBalancedAllocation",
        "weight ImageLocality",
        "resource cpu",
        "resource memory",
        "resource nvidia.com/gpu",
        "type",
    ]
    assert found.present()["resource nvidia.com/gpu"] == 0
    plain, _ = space("plain")
    assert "type" not in plain.present() and list(plain.beginnings()) == []
    with pytest.raises(WrongUse, match=r"--vary NodeAfinity.*did you mean \"NodeAffinity\""):
        space("default", varied=("NodeAfinity",))


def test_other_arguments_stay() -> None:
    """Of the plugin whose strategy varies; a shape goes with its type."""
    found, _ = space("shaped")
    first = next(iter(found.beginnings()))
    point = {**found.present(), "type": first["type"], "shape 0": 0, "shape 50": 5, "shape 100": 9}
    (config,) = found.profile(point)["spec"]["pluginConfig"]
    assert config["args"]["ignoredResources"] == ["example.com/a"]
    assert set(config["args"]["scoringStrategy"]) == {"type", "resources"}
    shaped = found.profile({**point, "type": "RequestedToCapacityRatio"})
    ratio = shaped["spec"]["pluginConfig"][0]["args"]["scoringStrategy"]["requestedToCapacityRatio"]
    assert [one["score"] for one in ratio["shape"]] == [0, 5, 9]
