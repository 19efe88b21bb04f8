"""The registry: plugin name -> how it is made and where it takes part. A plain mapping, filled by
one list, with no side effects.
"""

from __future__ import annotations

import dataclasses
import functools
from collections.abc import Callable, Iterable, Mapping
from typing import Any, NamedTuple, TypeAlias

from moorage.core.framework.guard import Guard
from moorage.core.framework.interfaces import (
    ExtensionPoint,
    FeasibleScorePlugin,
    FilterPlugin,
    Plugin,
    PreEnqueuePlugin,
    PreFilterPlugin,
    PreScorePlugin,
    QueueSortPlugin,
    ReservePlugin,
    ScorePlugin,
)
from moorage.core.framework.placement_contract import (
    PlacementGeneratePlugin,
    PlacementScorePlugin,
)
from moorage.core.framework.post_filter_contract import (
    PodGroupPostFilterPlugin,
    PodGroupPreemptionPlugin,
    PostFilterPlugin,
)

_PROTOCOLS: dict[ExtensionPoint, tuple[type[Any], ...]] = {
    ExtensionPoint.PRE_ENQUEUE: (PreEnqueuePlugin,),
    ExtensionPoint.QUEUE_SORT: (QueueSortPlugin,),
    ExtensionPoint.PRE_FILTER: (PreFilterPlugin,),
    ExtensionPoint.FILTER: (FilterPlugin,),
    ExtensionPoint.POST_FILTER: (PostFilterPlugin,),
    ExtensionPoint.PRE_SCORE: (PreScorePlugin,),
    ExtensionPoint.SCORE: (ScorePlugin, FeasibleScorePlugin),
    ExtensionPoint.RESERVE: (ReservePlugin,),
    ExtensionPoint.PLACEMENT_GENERATE: (PlacementGeneratePlugin,),
    ExtensionPoint.PLACEMENT_SCORE: (PlacementScorePlugin,),
    ExtensionPoint.POD_GROUP_POST_FILTER: (PodGroupPostFilterPlugin, PodGroupPreemptionPlugin),
}
"""The protocols of each extension point that a decider can have; the remaining points belong to
actors.
"""


class RequiredAccess(NamedTuple):
    """What is done at the API server: verbs, API group and resource (with its subresource), as
    roles name them.
    """

    verbs: tuple[str, ...]
    group: str
    resource: str
    own_namespace_only: bool = False
    """Only in the operator's own namespace."""
    name: str = ""
    """Of the one object that it is done to; "" for any."""


@dataclasses.dataclass(frozen=True)
class PluginSpec:
    """One plugin as it can be enabled.

    ``decider`` is the plugin's class (None: it only acts, as DefaultBinder does); ``args`` the
    frozen dataclass of its arguments (None: it takes none), given to ``decider`` as its only
    argument; ``acts_at`` the extension points of its actor. ``weight`` is the score weight that
    presets give it. A plugin from outside the tree has the ``guard`` that stands around its calls.
    ``writes``: what its actor needs beyond what every profile needs; the condition Permitted names
    what is missing of it. ``dispensable``: points that it prepares nothing at for its other ones.
    """

    name: str
    decider: type[Plugin] | None
    args: type[Any] | None = None
    acts_at: frozenset[ExtensionPoint] = frozenset()
    weight: int = 1
    guard: Guard | None = None
    writes: tuple[RequiredAccess, ...] = ()
    dispensable: frozenset[ExtensionPoint] = frozenset()

    @functools.cached_property
    def points(self) -> frozenset[ExtensionPoint]:
        """Every extension point that the plugin has, decider and actor together."""
        if self.decider is None:
            return self.acts_at
        mine = (
            point
            for point, protocols in _PROTOCOLS.items()
            if any(_has(self.decider, protocol) for protocol in protocols)
        )
        return self.acts_at | frozenset(mine)

    @functools.cached_property
    def default_args(self) -> Any:
        """Its arguments where nobody gives any; None when it takes none."""
        return self.args() if self.args is not None else None

    def make(self, args: Any) -> Plugin | None:
        """A decider with these arguments; None when the plugin only acts."""
        if self.decider is None:
            return None
        factory: Callable[..., Plugin] = self.decider
        return factory(args) if self.args is not None else factory()


Registry: TypeAlias = Mapping[str, PluginSpec]


def build_registry(*lists: Iterable[PluginSpec]) -> Registry:
    """One mapping of several lists; raises ValueError for a name that comes twice."""
    registry: dict[str, PluginSpec] = {}
    for spec in (spec for specs in lists for spec in specs):
        if spec.name in registry:
            raise ValueError(f"plugin {spec.name!r} is registered twice")
        registry[spec.name] = spec
    return registry


def _has(decider: type[Plugin], protocol: type[Any]) -> bool:
    methods = [
        name
        for name, value in vars(protocol).items()
        if callable(value) and not name.startswith("_")
    ]
    return all(hasattr(decider, name) for name in methods)
