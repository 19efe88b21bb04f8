"""SchedulerProfile: one way to schedule, named by pods in ``spec.schedulerName``."""

from __future__ import annotations

from typing import Annotated, Any, ClassVar, Literal

from pydantic import BaseModel, ConfigDict, Field

from moorage.api.v1alpha1.common import (
    AGE,
    ATOMIC,
    Arguments,
    CustomResourceKind,
    NamedReference,
    PluginName,
    PrinterColumn,
    QualifiedName,
    ResourceMeta,
    SpecModel,
    Weight,
    condition_path,
    immutable,
    keyed_by,
    rule,
    rules,
)
from moorage.api.v1alpha1.profile_assign import ProfileAssign
from moorage.api.v1alpha1.profile_extender import ProfileExtender
from moorage.api.v1alpha1.scheduler_profile_status import SchedulerProfileStatus

MAX_PLUGINS = 64
"""At one extension point. The rule that each is named once compares all with all."""
MAX_SECONDS = 86400

Percentage = Annotated[int, Field(ge=0, le=100)]
Seconds = Annotated[int, Field(ge=1, le=MAX_SECONDS)]


# ---- plugins -------------------------------------------------------------------------------------


class EnabledPlugin(SpecModel):
    """A plugin to run."""

    name: PluginName
    """The plugin's name."""
    weight: Weight = Field(default=0, json_schema_extra={"default": None})
    """Of its score; only at score, placementScore and multiPoint. Unset or 0 means 1."""


class DisabledPlugin(SpecModel):
    """A plugin not to run."""

    name: PluginName
    """The plugin's name; '*' stands for all that are not enabled here."""


_NAMED_ONCE = rule(
    "!has(self.enabled)"
    " || self.enabled.all(one, self.enabled.exists_one(other, other.name == one.name))",
    "a plugin is enabled twice here: name each of them once",
    "enabled",
)
"""That a plugin is both disabled and enabled is no fault: so its place is another."""


class PluginSet(SpecModel):
    """What to add to, and to take away from, the plugins of the preset."""

    model_config = ConfigDict(json_schema_extra=rules(_NAMED_ONCE))

    enabled: Annotated[
        tuple[EnabledPlugin, ...], Field(max_length=MAX_PLUGINS, json_schema_extra=ATOMIC)
    ] = ()
    """Plugins to run, in this order, after those of the preset; one that the preset has too keeps
    the preset's place and gets the weight that stands here.
    """
    disabled: Annotated[
        tuple[DisabledPlugin, ...], Field(max_length=MAX_PLUGINS, json_schema_extra=ATOMIC)
    ] = ()
    """Plugins of the preset not to run."""


class Plugins(SpecModel):
    """Plugins by extension point, as in a KubeSchedulerProfile."""

    model_config = ConfigDict(
        json_schema_extra=rules(
            rule(
                "!has(self.bind) || !has(self.bind.disabled)"
                " || !self.bind.disabled.exists(one, one.name == '*')"
                " || (has(self.bind.enabled) && size(self.bind.enabled) > 0)",
                "at least one bind plugin has to be enabled",
                "bind",
            )
        )
    )

    multi_point: PluginSet | None = None
    """For every extension point that a plugin has."""
    pre_enqueue: PluginSet | None = None
    """Before a pod may be tried at all."""
    queue_sort: PluginSet | None = None
    """The order of waiting pods. There is one queue for all profiles, so only the operator's own
    queueSort plugin may stand here.
    """
    pre_filter: PluginSet | None = None
    """Once for each pod, before filter."""
    filter: PluginSet | None = None
    """Which nodes will do."""
    post_filter: PluginSet | None = None
    """When no node will."""
    pre_score: PluginSet | None = None
    """Once for each pod, before score."""
    score: PluginSet | None = None
    """Which of the nodes that will do are better."""
    reserve: PluginSet | None = None
    """When a node was chosen."""
    permit: PluginSet | None = None
    """May hold the pod back once more."""
    pre_bind: PluginSet | None = None
    """What must be done before the pod is bound."""
    bind: PluginSet | None = None
    """Binds the pod."""
    post_bind: PluginSet | None = None
    """After it was bound."""
    placement_generate: PluginSet | None = None
    """On which nodes a pod group may lie. At most one plugin."""
    placement_score: PluginSet | None = None
    """Which of several such places is better."""
    pod_group_post_filter: PluginSet | None = None
    """When a pod group does not fit."""


class ProfilePluginConfig(SpecModel):
    """Arguments of a plugin: inline or by reference."""

    model_config = ConfigDict(
        json_schema_extra=rules(
            rule(
                "has(self.args) != has(self.configRef)",
                "exactly one of args and configRef has to be set",
            )
        )
    )

    name: PluginName
    """The plugin's name."""
    args: Arguments | None = None
    """As in KubeSchedulerConfiguration, pluginConfig[].args, laid over the preset's arguments of
    this plugin. Wrong ones are told in the condition Accepted.
    """
    config_ref: NamedReference | None = None
    """A PluginConfig with the arguments."""


# ---- rollout -------------------------------------------------------------------------------------

PodCount = Annotated[int, Field(ge=1, le=1_000_000)]


class CanaryRollout(SpecModel):
    """A canary."""

    percent: Annotated[int, Field(ge=1, le=100)] = 10
    """Of the pods, which the new revision decides about. Which ones they are depends on their UIDs
    alone.
    """
    pods: PodCount = 400
    """After so many of them it takes over."""


class ShadowRollout(SpecModel):
    """A shadow."""

    pods: PodCount = 400
    """After so many pods the new revision takes over."""


def _only_with(field: str, strategy: str) -> dict[str, Any]:
    return rule(
        f"!has(self.{field}) || self.strategy == '{strategy}'",
        f"{field} is for strategy {strategy}: set that, or leave {field} out",
        field,
    )


class RolloutSpec(SpecModel):
    """How a new revision of the profile comes to decide."""

    model_config = ConfigDict(
        json_schema_extra=rules(_only_with("canary", "Canary"), _only_with("shadow", "Shadow"))
    )

    strategy: Literal["Immediate", "Canary", "Shadow"] = "Immediate"
    """Immediate: at once. Canary: it decides about some pods first, and the former revision says
    what it would have done. Shadow: it only says what it would do about each pod. In both, the
    former one goes on until enough pods were decided by both, and stays if the new one is worse.
    """
    canary: CanaryRollout | None = None
    """For strategy Canary."""
    shadow: ShadowRollout | None = None
    """For strategy Shadow."""
    margin_percent: Percentage = 0
    """By so many percentage points the share of pods without a node may grow."""
    max_regressions: Annotated[int, Field(ge=0, le=1_000_000)] | None = None
    """More pods than these for which only the former revision finds a node end the trial at once.
    When unset, only what they prove does.
    """
    progress_deadline_seconds: Seconds = 600
    """A trial that no pod came for so long ends, and the former revision stays."""
    stopped: Annotated[str, Field(max_length=63)] = ""
    """A revision whose trial is to end, as moorage trial NAME --stop writes it; others are tried
    all the same.
    """


# ---- spec ----------------------------------------------------------------------------------------


def _names(field: str, name: str) -> str:
    """Whether a list of plugins below ``plugins`` has this name."""
    point, _, _ = field.partition(".")
    there = f"has(self.plugins) && has(self.plugins.{point}) && has(self.plugins.{field})"
    return f"({there} && self.plugins.{field}.exists(one, one.name == {name}))"


def _taken_away(point: str) -> str:
    return f"({_names(f'{point}.disabled', 'name')} || {_names(f'{point}.disabled', _ALL)})"


_ALL = "'*'"
_SCORES_WHAT_IS_WEIGHED = (
    "!has(self.weights) || self.weights.all(name, self.weights[name] == 0"
    f" || {_names('score.enabled', 'name')}"
    f" || !(self.preset == 'NoScoring' || {_taken_away('score')}"
    f" || ({_taken_away('multiPoint')} && !{_names('multiPoint.enabled', 'name')})))"
)
"""As far as it can be told without knowing which plugins there are, and what presets have."""


class SchedulerProfileSpec(SpecModel):
    """What the profile is to be like."""

    model_config = ConfigDict(
        json_schema_extra=rules(
            immutable("controllerName"),
            immutable("schedulerName", optional=True),
            rule(
                "!has(self.podInitialBackoffSeconds) || !has(self.podMaxBackoffSeconds)"
                " || self.podInitialBackoffSeconds <= self.podMaxBackoffSeconds",
                "must be greater than or equal to podInitialBackoffSeconds",
                "podMaxBackoffSeconds",
            ),
            rule(
                _SCORES_WHAT_IS_WEIGHED,
                "a plugin that is not enabled at score has a weight:"
                " enable it there, or leave its weight out",
                "weights",
            ),
            rule(
                "!has(self.extenders) || self.extenders.filter(one,"
                " has(one.bindVerb) && one.bindVerb != '').size() <= 1",
                "only one extender can have a bindVerb",
                "extenders",
            ),
        )
    )

    controller_name: QualifiedName = "moorage"
    """Which installation of the operator serves the profile. Immutable."""
    scheduler_name: QualifiedName | None = None
    """What pods put in spec.schedulerName; when unset, the profile's own name. Immutable, and
    unique: of two profiles with the same one the older is served.
    """
    preset: Literal["Default", "BinPack", "Spread", "NoScoring"] = "Default"
    """What to start from. Default: as kube-scheduler without a configuration. BinPack: fill nodes
    up. Spread: load nodes alike.
    NoScoring: any node that fits.
    """
    plugins: Plugins | None = None
    """Plugins to enable and disable, exactly as in a KubeSchedulerProfile."""
    weights: Annotated[dict[str, Weight], Field(max_length=MAX_PLUGINS)] = Field(
        default_factory=dict
    )
    """Weights at score by plugin, set last. 0: do not score with it. A name that is not enabled at
    score is an error.
    """
    plugin_config: Annotated[
        tuple[ProfilePluginConfig, ...], Field(max_length=64, json_schema_extra=keyed_by("name"))
    ] = ()
    """Arguments of plugins."""
    percentage_of_nodes_to_score: Percentage | None = None
    """How many of the nodes that will do are enough to choose from. 0: kube-scheduler's adaptive
    rule; when unset, the operator's (100).
    """
    extenders: Annotated[
        tuple[ProfileExtender, ...], Field(max_length=16, json_schema_extra=ATOMIC)
    ] = ()
    """HTTP services to ask, as in KubeSchedulerConfiguration."""
    pod_initial_backoff_seconds: Seconds | None = None
    """How long a refused pod waits at first before it may be tried again; when unset, the
    operator's (1).
    """
    pod_max_backoff_seconds: Seconds | None = None
    """How long it waits at most; when unset, the operator's (10)."""
    suspend: bool = False
    """While true, pods stay queued and none is bound."""
    # Without a default of the schema: every object would have it then, and replicas of a release
    # that does not know the field refuse it.
    paused: bool = Field(default=False, json_schema_extra={"default": None})
    """While true, the revision that decides goes on, whatever else is changed here or in
    PluginConfigs, as a Deployment that is paused is not rolled out.
    """
    assign: ProfileAssign | None = None
    """Pods that get the profile without naming it, where component assign or assign-webhook is
    installed.
    """
    rollout: RolloutSpec | None = None
    """How a new revision comes to decide."""


_NAME_FITS: dict[str, Any] = rule(
    "has(self.spec.schedulerName) || size(self.metadata.name) <= 63",
    "a profile whose name has more than 63 characters needs a schedulerName",
    "spec.schedulerName",
)


class SchedulerProfile(BaseModel):
    """SchedulerProfile is one way to schedule pods. Pods name it in spec.schedulerName."""

    KIND: ClassVar = CustomResourceKind(
        name="SchedulerProfile",
        plural="schedulerprofiles",
        short_name="sprof",
        columns=(
            PrinterColumn("Scheduler", ".status.schedulerName"),
            PrinterColumn("Ready", condition_path("Ready", "status")),
            PrinterColumn("Reason", condition_path("Ready", "reason")),
            PrinterColumn("Revision", ".status.activeRevision"),
            PrinterColumn("Active", ".status.queue.active", "integer"),
            PrinterColumn("Backoff", ".status.queue.backoff", "integer"),
            PrinterColumn("Unsched", ".status.queue.unschedulable", "integer"),
            PrinterColumn("Gated", ".status.queue.gated", "integer"),
            PrinterColumn("Leader", ".status.leader.identity"),
            AGE,
            PrinterColumn("Preset", ".spec.preset", priority=1),
            PrinterColumn("Desired", ".status.desiredRevision", priority=1),
            PrinterColumn("Message", condition_path("Ready", "message"), priority=1),
        ),
        selectable=(".spec.schedulerName", ".spec.controllerName"),
        rules=(_NAME_FITS,),
    )

    metadata: ResourceMeta
    spec: SchedulerProfileSpec
    status: SchedulerProfileStatus | None = None

    @property
    def scheduler_name(self) -> str:
        """The name that pods use."""
        return self.spec.scheduler_name or self.metadata.name
