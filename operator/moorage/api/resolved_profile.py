"""Resolved profiles: what becomes of a profile, and the objects that it is made of as a document
from which it can be resolved again.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from typing import Any

from moorage.api import bodies
from moorage.api.bodies import Body
from moorage.api.conditions import ConditionReason
from moorage.core.framework.revisions import FieldError, ProfileErrors, Revision
from moorage.core.queue.hints import ProfileQueueConfig
from moorage.core.trials.plans import TrialPlan


@dataclasses.dataclass(frozen=True, slots=True)
class Resolution:
    """What became of a profile: a revision, or errors.

    ``id`` is the desired revision's, "" where there are errors; ``profile`` and ``used`` are the
    objects that it is made of, the PluginConfigs that it references as far as they exist.
    """

    scheduler_name: str
    id: str
    profile: Body
    used: Mapping[str, Body]
    errors: tuple[FieldError, ...] = ()
    queue_config: ProfileQueueConfig = dataclasses.field(default_factory=ProfileQueueConfig)
    """What the profile means to the queue."""
    made: Revision | None = None
    plan: TrialPlan | None = None
    """How the revision is to be tried before it decides; None: not at all."""
    stopped: str = ""
    """The revision whose trial is to end."""

    @property
    def configs(self) -> dict[str, int]:
        """The generations of the PluginConfigs that it is made of, by name."""
        return {name: bodies.generation(body) for name, body in self.used.items()}

    @property
    def document(self) -> dict[str, Any]:
        """The objects that it is made of, enough to resolve it again."""
        return document_of(self.profile, self.used)

    @property
    def revision(self) -> Revision:
        """What can run. Raises ProfileErrors when there are errors."""
        if self.made is None:
            raise ProfileErrors(self.errors)
        return self.made

    @property
    def initial_backoff(self) -> float:
        """Seconds that a pod waits after it was refused for the first time."""
        return self.queue_config.initial_backoff


def unresolved(profile: Body, bug: BaseException) -> Resolution:
    """What becomes of a profile that resolving failed on."""
    text = f"cannot be looked into: {bug!r}; please report this"
    fault = FieldError("spec", "{…}", text, ConditionReason.INVALID_SPEC)
    return Resolution(bodies.scheduler_name(profile), "", profile, {}, (fault,))


def document_of(profile: Body, configs: Mapping[str, Body]) -> dict[str, Any]:
    """A profile and the PluginConfigs that it references, as data."""
    return {
        "profile": bodies.essence(profile),
        "pluginConfigs": {name: bodies.essence(body) for name, body in configs.items()},
    }


def bodies_of(document: Mapping[str, Any]) -> tuple[Body, dict[str, Body]] | None:
    """The profile and the PluginConfigs of such a document; None for anything else."""
    profile, configs = document.get("profile"), document.get("pluginConfigs")
    if not isinstance(profile, Mapping) or not isinstance(configs, Mapping):
        return None
    if not all(isinstance(config, Mapping) for config in configs.values()):
        return None
    return bodies.kept(profile), {name: bodies.kept(body) for name, body in configs.items()}
