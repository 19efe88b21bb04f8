"""The space that is searched: what of a profile may be otherwise, and what becomes of it then.

Weights of plugins that rank nodes for the cluster's sake, and how NodeResourcesFit ranks them.
What pods ask for themselves (affinity, spread, tolerations) is their owners' wish, which no measure
sees: it keeps its weight unless somebody asks for more.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final, Literal, Protocol, TypeAlias, get_args

from moorage.api import plugin_args
from moorage.api.bodies import Body
from moorage.api.v1alpha1.common import API_VERSION
from moorage.apps.exit_status import WrongUse
from moorage.core.framework.revisions import Revision
from moorage.core.framework.utilization_shape import UtilizationShapePoint
from moorage.core.plugins import image_locality
from moorage.core.plugins.node_resources import balanced_allocation, fit
from moorage.core.plugins.node_resources.fit_arguments import (
    NodeResourcesFitArgs,
    RequestedToCapacityRatio,
    ScoringStrategy,
)
from moorage.core.plugins.node_resources.resource_allocation import ResourceSpec
from moorage.core.plugins.volume_binding import plugin as volume_binding
from moorage.core.structures.likeness import suggest

FOR_THE_CLUSTER: Final = (
    fit.NAME,
    balanced_allocation.NAME,
    image_locality.NAME,
    volume_binding.NAME,
)
"""Plugins whose weights are varied without being asked for."""
MOST_WEIGHT: Final = 100
"""Of a plugin; the present one may be more."""
MOST_RESOURCE_WEIGHT: Final = 10
StrategyType: TypeAlias = Literal["LeastAllocated", "MostAllocated", "RequestedToCapacityRatio"]
TYPES: Final[tuple[StrategyType, ...]] = get_args(StrategyType)
_RATIO: Final = TYPES[2]
_SHAPE: Final = {"shape 0": 0, "shape 50": 50, "shape 100": 100}
"""Of RequestedToCapacityRatio: the utilization (percent) of each point."""
_MOST_SCORE: Final = 10

Point: TypeAlias = Mapping[str, int | str]
"""Values by what they are called: ``weight NAME``, ``type``, ``resource NAME``, and
``shape PERCENT`` for the type that has one.
"""


class Chooser(Protocol):
    """Who says where in the space to look next."""

    def suggest_int(self, name: str, low: int, high: int, *, log: bool = False) -> int:
        """A whole number between these."""
        ...

    def suggest_categorical(self, name: str, choices: Sequence[str]) -> str:
        """One of these."""
        ...


@dataclasses.dataclass(frozen=True, slots=True)
class ProfileSpace:
    """``weights``: present ones, by plugin; ``strategy``: that of NodeResourcesFit, None where it
    does not score; ``more_resources``: what it might rank by beside.
    """

    document: Mapping[str, Any]
    """The profile and its PluginConfigs, as a revision's document."""
    weights: Mapping[str, int]
    strategy: ScoringStrategy | None
    more_resources: tuple[str, ...]

    def choose(self, chooser: Chooser) -> Point:
        """A point of the space."""
        point: dict[str, int | str] = {}
        for name, weight in self.weights.items():
            most = max(MOST_WEIGHT, weight)
            # Weights matter by their ratio, and 0 is one of them.
            point[f"weight {name}"] = (
                chooser.suggest_int(f"weight {name}", 1, most + 1, log=True) - 1
            )
        if self.strategy is not None:
            point["type"] = chooser.suggest_categorical("type", TYPES)
            for name, (least, most) in self._resources().items():
                point[f"resource {name}"] = chooser.suggest_int(f"resource {name}", least, most)
            for name in _SHAPE:
                point[name] = chooser.suggest_int(name, 0, _MOST_SCORE)
        return point

    def present(self) -> dict[str, int | str]:
        """The point where all is as it is, but for the shape of a strategy that has one."""
        found: dict[str, int | str] = {f"weight {n}": w for n, w in self.weights.items()}
        if self.strategy is not None:
            ranked = {one.name: one.weight or 1 for one in self.strategy.resources or ()}
            for name in self._resources():
                found[f"resource {name}"] = ranked.get(name, 0)
            found["type"] = self.strategy.type
        return found

    def changes(self, point: Point) -> int:
        """In how much a point is another one than the present."""
        return sum(point[name] != value for name, value in self.present().items())

    def beginnings(self) -> Iterator[dict[str, int | str]]:
        """Where to look first, in what a chooser says: as it is, but for the strategy's type."""
        said = {
            name: value + 1 if name.startswith("weight ") and isinstance(value, int) else value
            for name, value in self.present().items()
        }
        if self.strategy is not None:
            yield from ({**said, "type": kind} for kind in TYPES[:2])

    def profile(self, point: Point) -> dict[str, Any]:
        """The SchedulerProfile at this point, its PluginConfigs' arguments inline."""
        spec = self.document["profile"]["spec"]
        weights = {name: point[f"weight {name}"] for name in self.weights}
        changed = {name: weight for name, weight in weights.items() if weight != self.weights[name]}
        body: dict[str, Any] = {**spec}
        if changed:
            body["weights"] = {**(spec.get("weights") or {}), **changed}
        if (configs := list(self._plugin_config(point))) or "pluginConfig" in spec:
            body["pluginConfig"] = configs
        metadata = {"name": self.document["profile"]["metadata"]["name"]}
        return {
            "apiVersion": API_VERSION,
            "kind": "SchedulerProfile",
            "metadata": metadata,
            "spec": body,
        }

    # ---- inside ----------------------------------------------------------------------------------

    def _resources(self) -> dict[str, tuple[int, int]]:
        """The weights that each resource may have; 0: it does not count."""
        present = (self.strategy.resources or ()) if self.strategy is not None else ()
        mine = {one.name: (1, max(MOST_RESOURCE_WEIGHT, one.weight)) for one in present}
        return {**mine, **dict.fromkeys(self.more_resources, (0, MOST_RESOURCE_WEIGHT))}

    def _plugin_config(self, point: Point) -> Iterator[dict[str, Any]]:
        strategy = self._strategy(point)
        for entry in self.document["profile"]["spec"].get("pluginConfig") or ():
            args = self._args(entry)
            if entry["name"] == fit.NAME and strategy is not None:
                args, strategy = {**args, "scoringStrategy": strategy}, None
            yield {"name": entry["name"], "args": args}
        if strategy is not None:
            yield {"name": fit.NAME, "args": {"scoringStrategy": strategy}}

    def _args(self, entry: Body) -> dict[str, Any]:
        if (reference := entry.get("configRef")) is None:
            return dict(entry.get("args") or {})
        spec = self.document["pluginConfigs"][reference["name"]]["spec"]
        return dict(spec.get("args") or {})

    def _strategy(self, point: Point) -> dict[str, Any] | None:
        """As a document; None where it is the present one."""
        if self.strategy is None:
            return None
        kind = next(one for one in TYPES if one == point["type"])
        resources = tuple(
            ResourceSpec(name, weight)
            for name in self._resources()
            if (weight := int(point[f"resource {name}"]))
        )
        ratio = None
        if kind == _RATIO:
            shape = (UtilizationShapePoint(at, int(point[name])) for name, at in _SHAPE.items())
            ratio = RequestedToCapacityRatio(tuple(shape))
        made = dataclasses.replace(
            self.strategy, type=kind, resources=resources, requested_to_capacity_ratio=ratio
        )
        return None if made == self.strategy else plugin_args.encode(made)


def space_of(
    document: Mapping[str, Any], present: Revision, asked: Sequence[str], varied: Sequence[str]
) -> ProfileSpace:
    """What may vary of a profile. ``document`` is that of ``present``; ``asked``: resources that
    pods ask for; ``varied``: plugins whose weights may change beside. Raises WrongUse.
    """
    for name in varied:
        if name not in present.weights:
            known = suggest(name, present.weights) or f"; there are: {', '.join(present.weights)}"
            raise WrongUse(f"--vary {name}: the profile does not score with it{known}")
    weights = {
        name: weight
        for name, weight in present.weights.items()
        if name in FOR_THE_CLUSTER or name in varied
    }
    strategy = _strategy_of(present)
    if not weights:
        raise WrongUse(
            f"the profile {present.scheduler_name} scores with nothing that may vary; "
            f"--vary PLUGIN adds one"
        )
    ranked = {one.name for one in (strategy.resources or ())} if strategy is not None else set()
    more = tuple(name for name in asked if name not in ranked and name != "pods")
    return ProfileSpace(document, weights, strategy, more)


def _strategy_of(present: Revision) -> ScoringStrategy | None:
    """NodeResourcesFit's, where it scores."""
    if fit.NAME not in present.weights:
        return None
    args = getattr(present.deciders[fit.NAME], "args", None)
    found = args.scoring_strategy if isinstance(args, NodeResourcesFitArgs) else None
    return found or ScoringStrategy()
