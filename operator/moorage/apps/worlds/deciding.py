"""Which revisions decide for which pods, as far as objects tell.

The operator is asked for nothing: what it would make of the objects is made here by the same
resolver. Where a spec is refused the last good revision decides, which the operator has stored.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable, Mapping
from typing import Final

from moorage.api import bodies
from moorage.api.bodies import Body
from moorage.api.conditions import ConditionReason, ConditionType
from moorage.api.operator_config import OperatorConfiguration
from moorage.api.resolution import Resolver
from moorage.api.resolved_profile import Resolution
from moorage.api.v1alpha1.common import API_VERSION
from moorage.core.framework.holds import SUSPENDED, Hold
from moorage.core.framework.registry import build_registry
from moorage.core.framework.revisions import Revision
from moorage.core.plugins.intree import INTREE, PRESETS

DEFAULT_SCHEDULER: Final = "default-scheduler"
PROFILE, CONFIG = "SchedulerProfile", "PluginConfig"
_WAITS: Final = {
    "type": ConditionType.ACTIVE.value,
    "status": "False",
    "reason": ConditionReason.WAITING.value,
}
"""The condition of a revision that decides, but not before it knows all that it decides by."""
_DEFAULT_PROFILE: Final[Body] = {
    "apiVersion": API_VERSION,
    "kind": PROFILE,
    "metadata": {"name": DEFAULT_SCHEDULER},
    "spec": {"preset": "Default"},
}


@dataclasses.dataclass(slots=True)
class ProfileSet:
    """Resolved profiles by schedulerName, and what is to be said of them."""

    by_scheduler: dict[str, Resolution] = dataclasses.field(default_factory=dict)
    warnings: list[str] = dataclasses.field(default_factory=list)
    left_out: dict[str, str] = dataclasses.field(default_factory=dict)
    """By schedulerName, of those that mean nothing here: what is wrong."""

    def revisions(self) -> dict[str, Revision]:
        """What decides, by schedulerName."""
        return {name: one.revision for name, one in self.by_scheduler.items()}

    def add(self, resolution: Resolution) -> None:
        """The first one of a schedulerName keeps it."""
        self.by_scheduler.setdefault(resolution.scheduler_name, resolution)


def in_tree_resolver() -> Resolver:
    """Resolves profiles of plugins in the tree, with the operator's defaults."""
    return Resolver(build_registry(INTREE), PRESETS, OperatorConfiguration())


def default_profile(resolver: Resolver) -> Resolution:
    """kube-scheduler's own profile: preset Default under its usual name."""
    return resolver(_DEFAULT_PROFILE, {})


def with_default(revisions: Mapping[str, Revision], resolver: Resolver) -> dict[str, Revision]:
    """These, by schedulerName, and preset Default for kube-scheduler's pods where nobody decides
    for these.
    """
    return {DEFAULT_SCHEDULER: default_profile(resolver).revision, **revisions}


def stand_ins(candidates: Iterable[str], resolver: Resolver) -> dict[str, Revision]:
    """Preset Default for the candidates' schedulerNames: who decides beside them where no profile
    is known that did.
    """
    return dict.fromkeys(candidates, default_profile(resolver).revision)


def resolved(
    profiles: Iterable[Body], configs: Iterable[Body], resolver: Resolver
) -> dict[str, Resolution]:
    """What becomes of profiles with these PluginConfigs, by the profiles' names, the older ones
    first, as they keep their schedulerName.
    """
    named = {name_of(body): body for body in configs}
    return {name_of(body): resolver(body, named) for body in sorted(profiles, key=_age)}


def holds(profiles: Iterable[Body]) -> dict[str, Hold]:
    """By schedulerName, why those leave their pods in the queue that do, as far as their specs and
    statuses say.
    """
    found = {bodies.scheduler_name(one): _hold(one) for one in profiles}
    return {name: hold for name, hold in found.items() if hold is not None}


def name_of(body: Body) -> str:
    """metadata.name, "" for none."""
    return _text(body, "name")


def refusal(resolution: Resolution) -> str:
    """What is wrong with a profile, in one line."""
    return "; ".join(map(str, resolution.errors))


def _age(body: Body) -> tuple[str, str]:
    return _text(body, "creationTimestamp"), name_of(body)


def _hold(profile: Body) -> Hold | None:
    if bodies.suspended(profile):
        return SUSPENDED
    status = bodies.status(profile)
    decides = status.get("activeRevision") == status.get("desiredRevision")
    conditions = status.get("conditions")
    for one in conditions if isinstance(conditions, list) and decides else ():
        if isinstance(one, Mapping) and _WAITS.items() <= one.items():
            return Hold("ProfileWaiting", f"is not ready: {one.get('message')}")
    return None


def _text(body: Body, field: str) -> str:
    metadata = body.get("metadata")
    return str(metadata.get(field) or "") if isinstance(metadata, Mapping) else ""
