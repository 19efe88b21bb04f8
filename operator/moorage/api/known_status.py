"""The part of a status that this release knows. During an upgrade a newer release may have written
fields and conditions that this one has no word for: these are not its to judge or to take away.
"""

from __future__ import annotations

import functools
from collections.abc import Mapping
from typing import Any

from pydantic import BaseModel

from moorage.api.conditions import is_known
from moorage.api.structural_schema import pruned, structural
from moorage.api.v1alpha1.plugin_config import PluginConfig, PluginConfigStatus
from moorage.api.v1alpha1.scheduler_profile import SchedulerProfile
from moorage.api.v1alpha1.scheduler_profile_status import SchedulerProfileStatus

_STATUSES: Mapping[str, type[BaseModel]] = {
    SchedulerProfile.KIND.name: SchedulerProfileStatus,
    PluginConfig.KIND.name: PluginConfigStatus,
}


def known_status(kind: str, status: Mapping[str, Any]) -> dict[str, Any]:
    """The status of an object of this kind, less fields and types of conditions that are not this
    release's.
    """
    found: dict[str, Any] = pruned(status, _schema(kind))
    if isinstance(conditions := found.get("conditions"), list):
        found["conditions"] = [one for one in conditions if is_known(one)]
    return found


@functools.cache
def _schema(kind: str) -> Mapping[str, Any]:
    return structural(_STATUSES[kind].model_json_schema(by_alias=True))
