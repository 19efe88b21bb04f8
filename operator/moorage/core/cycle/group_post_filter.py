"""PodGroupPostFilter: when a pod group does not fit, what the plugins that may make room for it
say.

DynamicResources has claims give their devices back, DefaultPreemption displaces pods; they
are asked in the order of the profile. Source: kube-scheduler (v1.37).
"""

from __future__ import annotations

import dataclasses
import functools
from collections.abc import Mapping
from typing import Any, Final

from moorage.core.cycle import cycle
from moorage.core.cycle.context import CycleContext, Diagnosis
from moorage.core.cycle.group_attempt import GroupAttempt
from moorage.core.cycle.group_cycle import GroupResult
from moorage.core.cycle.group_preemption import (
    PREFIX,
    Fork,
    GroupPreemption,
    make_room,
)
from moorage.core.cycle.group_steps import Steps
from moorage.core.cycle.post_filter import make_attempt
from moorage.core.framework.evaluation.rejections import node_codes
from moorage.core.framework.interfaces import ExtensionPoint, is_a
from moorage.core.framework.post_filter_contract import (
    FailedGroupAttempt,
    PodGroupPostFilterPlugin,
    PodGroupPostFilterResult,
)
from moorage.core.framework.revisions import Revision
from moorage.core.framework.status import Code
from moorage.core.groups.group_spec import GroupSpec
from moorage.core.objects.pods import Pod


@dataclasses.dataclass(frozen=True, slots=True)
class GroupRoom:
    """What comes of all plugins: ``message`` is what is said of the group; ``preemption`` is None
    where nobody was asked. ``actions``: what plugins want to be done beside, by member (UID) and
    plugin.
    """

    message: str = ""
    preemption: GroupPreemption | None = None
    actions: Mapping[str, Mapping[str, Any]] = dataclasses.field(default_factory=dict)
    seats: Mapping[str, str] = dataclasses.field(default_factory=dict)
    """Where room is to be held for members, by UID."""
    asked: bool = True
    """Whether all were asked: else a nomination is left alone."""
    failed: bool = False
    """Whether one could not say, by a fault."""

    @property
    def is_made(self) -> bool:
        """Whether something is to be done so that the group fits."""
        made = self.preemption is not None and self.preemption.status.code is Code.SUCCESS
        return made or bool(self.actions)


NO_ROOM: Final = GroupRoom()
NOT_ASKED: Final = GroupRoom(asked=False)


@dataclasses.dataclass(frozen=True, slots=True)
class GroupPostFilters:
    """Asks the plugins of a revision."""

    revision: Revision
    context: CycleContext
    fork: Fork

    def run(self, attempt: GroupAttempt, result: GroupResult) -> Steps[GroupRoom]:
        """What plugins say of a group that does not fit, of which all was taken back. The word of
        one that knows better replaces that of those before it. Where others are displaced nothing
        else is done: the group fits with its claims as they are. Nobody makes any while others have
        members placed that may be taken back.
        """
        may_make_room = attempt.around.may_make_room
        said, actions = list[str](), dict[str, dict[str, Any]]()
        preemption, failed = None, False
        for name, plugin in self.revision.at(ExtensionPoint.POD_GROUP_POST_FILTER):
            if is_a(plugin, PodGroupPostFilterPlugin):
                answer = yield from self._ask(plugin, attempt, result)
                if answer.actions and not (yield from attempt.at_once(may_make_room)):
                    return NOT_ASKED
                status, words = answer.status, answer.status.message
                for uid, action in answer.actions.items():
                    actions.setdefault(uid, {})[name] = action
            else:
                place = attempt, self.revision, self.context, self.fork
                # from here to the copy nobody else has a turn
                yield from attempt.at_once(lambda: None)
                began = self.context.observer.mark()
                preemption = yield from make_room(*place)
                if preemption is None:
                    return NOT_ASKED
                code = preemption.status.code
                self.context.observer.group_preemption_ran(code.value, began)
                if code is Code.SUCCESS:
                    actions.clear()
                status, words = preemption.status, PREFIX + preemption.status.message
            if status.code is not Code.UNSCHEDULABLE:
                failed = status.code is Code.ERROR
                said = [words]
                break
            said += [words] if words else []
        return GroupRoom(", ".join(said), preemption, actions, failed=failed)

    def _ask(
        self, plugin: PodGroupPostFilterPlugin, attempt: GroupAttempt, result: GroupResult
    ) -> Steps[PodGroupPostFilterResult]:
        """One member after another, as far as the attempt came; then the plugin's answer."""
        looked_at, reached = [], {one.pod.metadata.uid for one in result.decisions}
        for pod in (one for one in attempt.members if one.metadata.uid in reached):
            look = functools.partial(self._look, plugin, pod, attempt.group)
            looked_at.append((pod, (yield from attempt.at_once(look))))
            yield True
        group, scheduled = attempt.group, len(attempt.scheduled)
        whole = FailedGroupAttempt(group, looked_at, scheduled, self.context.snapshot)
        answer = functools.partial(plugin.pod_group_post_filter, whole)
        return (yield from attempt.at_once(answer))

    def _look(self, plugin: PodGroupPostFilterPlugin, pod: Pod, group: GroupSpec) -> Any:
        """What a plugin finds out about a member; None of one that can't be judged. Raises
        OutOfTime.
        """
        evaluation = cycle.run_filters(pod, self.revision, self.context)
        if isinstance(evaluation, Diagnosis):
            return None
        refused = node_codes(evaluation, self.context.snapshot)
        failed = make_attempt(self.context, evaluation, refused)
        return plugin.look_at_member(pod, group, failed)
