"""Shared nodes: which profiles of other installations may place pods on the nodes of one of ours.

Each installation decides by itself, and sees the other's pods once they are bound: where both may
use a node, two pods may be sent there at the same moment (docs/operating.md).
"""

from __future__ import annotations

from moorage.api.bodies import Body
from moorage.api.conditions import ConditionReason, ConditionResult, ConditionType
from moorage.api.node_pools import NodePool, StatedPool, may_meet, pool_of, stated_pool
from moorage.engine.profile_records import ProfileRecord, ProfileRecords

NAMED = 3
"""So many profiles of others a message names."""
MAX_KEPT = 1000
"""Pools of ours about which is kept who shares them."""


class SharedNodes:
    """The pools of other installations' profiles. ``records``: what else is known of these, and the
    PluginConfigs.
    """

    def __init__(self, records: ProfileRecords) -> None:
        self._records = records
        self._stated: dict[str, StatedPool] = {}
        self._pools: dict[str, NodePool] = {}
        """By profile."""
        self._sharing: dict[NodePool, set[str]] = {}
        """By a pool of ours: the profiles whose pools may meet it."""
        self._results: dict[NodePool, ConditionResult] = {}
        """What was found out since the last change."""

    def profile_changed(self, name: str, body: Body | None) -> None:
        """A profile of another installation is in this state; None: it is gone, or none of
        theirs.
        """
        if body is not None:
            self._stated[name] = stated_pool(body)
            self._keep(name, self._stated[name].pool(self._records.configs))
        elif self._stated.pop(name, None) is not None:
            del self._pools[name]
            self._results.clear()
            for names in self._sharing.values():
                names.discard(name)

    def plugin_config_changed(self, config: str) -> None:
        """A PluginConfig has changed, or is gone."""
        for name, stated in self._stated.items():
            if stated.config == config:
                self._keep(name, stated.pool(self._records.configs))

    def condition(self, record: ProfileRecord) -> ConditionResult | None:
        """The condition NodesShared; None where there is no profile of another installation, or
        nothing of this one decides.
        """
        if not self._pools or record.active is None:
            return None
        pool = pool_of(record.active.revision)
        if pool not in self._results:
            self._results[pool] = self._result(pool)
        return self._results[pool]

    def _keep(self, name: str, pool: NodePool) -> None:
        """A foreign profile has this pool."""
        if name in self._pools and self._pools[name] == pool:
            return
        self._pools[name] = pool
        self._results.clear()
        for ours, names in self._sharing.items():
            (names.add if may_meet(ours, pool) else names.discard)(name)

    def _names(self, ours: NodePool) -> set[str]:
        if ours not in self._sharing:
            if len(self._sharing) >= MAX_KEPT:
                self._sharing.clear()
            pools = self._pools.items()
            self._sharing[ours] = {name for name, pool in pools if may_meet(ours, pool)}
        return self._sharing[ours]

    def _result(self, ours: NodePool) -> ConditionResult:
        names = sorted(self._names(ours))
        if not names:
            return ConditionResult(ConditionType.NODES_SHARED, False, ConditionReason.POOLS_APART)
        told = ", ".join(self._records.foreign[name].title for name in names[:NAMED])
        more = f" and {len(names) - NAMED} more" if len(names) > NAMED else ""
        if ours is None and all(self._pools[name] is None for name in names):
            reason, text = ConditionReason.ALL_NODES, "any node may be used, as by"
        else:
            reason, text = ConditionReason.POOLS_MEET, "some nodes may also be used by"
        return ConditionResult(ConditionType.NODES_SHARED, True, reason, f"{text} {told}{more}")
