"""PluginConfig: the arguments of one plugin, to be shared by profiles that reference it."""

from __future__ import annotations

from typing import Annotated, ClassVar

from pydantic import BaseModel, ConfigDict, Field

from moorage.api.conditions import Condition
from moorage.api.v1alpha1.common import (
    AGE,
    SET,
    Arguments,
    CustomResourceKind,
    PluginName,
    PrinterColumn,
    ResourceMeta,
    SpecModel,
    StatusModel,
    condition_path,
    immutable,
    keyed_by,
    rules,
)


class PluginConfigSpec(SpecModel):
    """Arguments of a plugin."""

    model_config = ConfigDict(json_schema_extra=rules(immutable("plugin")))

    plugin: PluginName
    """The plugin whose arguments these are. Immutable."""
    args: Arguments = Field(default_factory=dict)
    """As in KubeSchedulerConfiguration, pluginConfig[].args. Fields that are left out have the
    plugin's defaults. Wrong ones are told in the condition Accepted.
    """


class PluginConfigStatus(StatusModel):
    """What the operator made of it."""

    observed_generation: int | None = None
    """The generation that the rest of the status is about."""
    hash: str | None = None
    """Of the spec: equal hashes, equal arguments."""
    conditions: Annotated[tuple[Condition, ...], Field(json_schema_extra=keyed_by("type"))] = ()
    """Accepted: whether the arguments are valid. Active: whether all profiles that reference it
    run this generation.
    """
    profiles: Annotated[tuple[str, ...], Field(json_schema_extra=SET)] = ()
    """The SchedulerProfiles that reference it."""
    profile_count: int | None = None
    """How many these are."""


class PluginConfig(BaseModel):
    """PluginConfig holds the arguments of one plugin, for SchedulerProfiles to reference."""

    KIND: ClassVar = CustomResourceKind(
        name="PluginConfig",
        plural="pluginconfigs",
        short_name="pcfg",
        columns=(
            PrinterColumn("Plugin", ".spec.plugin"),
            PrinterColumn("Accepted", condition_path("Accepted", "status")),
            PrinterColumn("Active", condition_path("Active", "status")),
            PrinterColumn("Reason", condition_path("Active", "reason")),
            PrinterColumn("Profiles", ".status.profileCount", "integer"),
            AGE,
            PrinterColumn("Message", condition_path("Active", "message"), priority=1),
        ),
        selectable=(".spec.plugin",),
    )

    metadata: ResourceMeta
    spec: PluginConfigSpec
    status: PluginConfigStatus | None = None
