"""The status of a SchedulerProfile: what the operator made of it."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field

from moorage.api.conditions import Condition
from moorage.api.v1alpha1.common import ATOMIC, StatusModel, Time, keyed_by


class UsedPluginConfig(StatusModel):
    """A PluginConfig that the profile references."""

    name: str
    """Its name."""
    observed_generation: int | None = None
    """The generation that desiredRevision is made of."""
    active_generation: int | None = None
    """The generation that activeRevision is made of."""


class LeaderStatus(StatusModel):
    """The replica that decides and writes."""

    identity: str
    """Its name."""
    since: Time | None = None
    """When it took the lead."""
    transitions: int | None = None
    """How often the lead has changed hands."""
    renew_time: Time | None = None
    """When it last said so; refreshed here every 30 s."""


class QueueStatus(StatusModel):
    """The profile's pods that have no node yet."""

    active: int | None = None
    """Ready to be tried."""
    backoff: int | None = None
    """Waiting a little after a refusal."""
    unschedulable: int | None = None
    """Refused, waiting for something to change."""
    gated: int | None = None
    """Not to be tried yet, as by scheduling gates."""
    in_flight: int | None = None
    """Being decided or bound."""
    oldest_pending_since: Time | None = None
    """Since when the one that waits longest could have been tried."""
    groups: int | None = None
    """Pod groups of which a member waits; the members count above, too."""
    room_held_for: str | None = None
    """namespace/name of the pod group for which room is held. Unset while none is."""
    room_held_until: Time | None = None
    """Until when at the latest."""


class WeightedPlugin(StatusModel):
    """A plugin that scores."""

    name: str
    """Its name."""
    weight: int
    """Its weight."""


PluginNames = Annotated[tuple[str, ...], Field(json_schema_extra=ATOMIC)]


class EffectivePlugins(StatusModel):
    """What really runs, in order."""

    pre_enqueue: PluginNames = ()
    queue_sort: PluginNames = ()
    pre_filter: PluginNames = ()
    filter: PluginNames = ()
    post_filter: PluginNames = ()
    pre_score: PluginNames = ()
    score: Annotated[tuple[WeightedPlugin, ...], Field(json_schema_extra=ATOMIC)] = ()
    reserve: PluginNames = ()
    permit: PluginNames = ()
    pre_bind: PluginNames = ()
    bind: PluginNames = ()
    post_bind: PluginNames = ()
    placement_generate: PluginNames = ()
    placement_score: Annotated[tuple[WeightedPlugin, ...], Field(json_schema_extra=ATOMIC)] = ()
    pod_group_post_filter: PluginNames = ()


class ReplicaStatus(StatusModel):
    """One process of the operator."""

    identity: str
    """Its name."""
    role: Literal["Leader", "Standby"] | None = None
    """What it does."""
    revision: str | None = None
    """The profile's revision that it has ready."""


class TrialRegression(StatusModel):
    """A pod for which only the former revision found a node."""

    pod: str
    """namespace/name."""
    uid: str
    """The pod's UID."""
    node: str
    """Where the former revision would have it."""
    message: str
    """Why the new one finds none."""


class TrialMove(StatusModel):
    """A pod for which both revisions found a node, and not the same."""

    pod: str
    """namespace/name."""
    uid: str
    """The pod's UID."""
    node: str
    """Where the former revision would have it."""
    tried_node: str
    """Where the new one would."""


class TrialStatus(StatusModel):
    """The trial of a revision: the running one, or the last one that ended without it deciding."""

    strategy: Literal["Canary", "Shadow"]
    """How it is tried."""
    revision: str
    """The one that is tried."""
    against: str
    """The one that it is compared with."""
    pods: int
    """So many are to be decided by both."""
    decided: int
    """Pods that both have decided about so far."""
    agreed: int
    """Those for which both said the same node, or none."""
    refused: int
    """Those for which both said none."""
    regressions: int
    """Those for which only the former revision found a node."""
    improvements: int
    """Those for which only the new one did."""
    worse_by_at_most: str
    """Percentage points by which the new one refuses more, at most (95 %)."""
    since: Time
    """When it began."""
    verdict: Literal["SoFarNoWorse", "Passed", "Regressed", "TooFewPods", "Stopped"]
    """What came of it."""
    regressed: Annotated[tuple[TrialRegression, ...], Field(json_schema_extra=ATOMIC)] = ()
    """The first pods of those."""
    elsewhere: Annotated[tuple[TrialMove, ...], Field(json_schema_extra=ATOMIC)] = ()
    """The last pods for which they said different nodes."""


class SchedulerProfileStatus(StatusModel):
    """What the operator made of it. Written by the leader alone."""

    observed_generation: int | None = None
    """The generation that conditions and desiredRevision are about."""
    scheduler_name: str | None = None
    """The effective one."""
    desired_revision: str | None = None
    """The revision that the spec stands for, with the PluginConfigs that it references and the
    preset: the same content has the same name. Unset while the spec is bad.
    """
    active_revision: str | None = None
    """The revision that decides now, or by which an observer explains; another than the desired
    one while that is bad, or waits.
    """
    active_since: Time | None = None
    """Since when it decides."""
    plugin_configs: Annotated[
        tuple[UsedPluginConfig, ...], Field(json_schema_extra=keyed_by("name"))
    ] = ()
    """The PluginConfigs that the profile references."""
    plugin_config_count: int | None = None
    """How many these are."""
    draining_cycles: int | None = None
    """Scheduling cycles that still go by an older revision."""
    conditions: Annotated[tuple[Condition, ...], Field(json_schema_extra=keyed_by("type"))] = ()
    """Accepted, ResolvedRefs, Permitted, Active, the roll-up Ready, Progressing where a revision
    is tried, and Assigned where the spec has assign.
    """
    leader: LeaderStatus | None = None
    """The replica that decides."""
    queue: QueueStatus | None = None
    """The profile's pods that have no node yet."""
    effective: EffectivePlugins | None = None
    """What really runs, by extension point."""
    replicas: Annotated[
        tuple[ReplicaStatus, ...], Field(json_schema_extra=keyed_by("identity"))
    ] = ()
    """The operator's replicas."""
    trial: TrialStatus | None = None
    """The trial of a new revision."""
    claimed_by: str | None = None
    """namespace/lease of the installation that serves the profile."""
    observed_by: str | None = None
    """namespace/lease of the observer that explains by the profile; unset while an installation
    serves it.
    """
