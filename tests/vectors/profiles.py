"""A KubeSchedulerProfile v1, as a user writes it, is a valid SchedulerProfile's spec: pasted in and
resolved as the operator does.
"""

from __future__ import annotations

from typing import Any

from moorage.api.resolution import Resolver
from moorage.core.framework.registry import build_registry
from moorage.core.framework.revisions import Revision
from moorage.core.plugins.intree import INTREE, PRESETS

RESOLVER = Resolver(build_registry(INTREE), PRESETS)


def revision_of(profile: dict[str, Any]) -> Revision:
    """The profile resolved over the Default preset. Raises ProfileErrors."""
    return RESOLVER(
        {"metadata": {"name": "vectors", "generation": 1}, "spec": profile}, {}
    ).revision
