"""Pod groups of workloads, fitted: each where the first workload of its members stands."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterator, Sequence

from moorage.apps.pod_templates import PodTemplate, pods_of
from moorage.core.groups.group_spec import GroupSpec, group_spec, why_no_spec
from moorage.core.objects.pod_groups import GroupKey, membership_of
from moorage.core.simulation.fitting import Fit
from moorage.core.simulation.group_fits import GroupFit, fit_group
from moorage.core.simulation.simulator import Simulator

_Group = tuple[GroupKey, str]
"""Members that name another schedulerName are another group."""


class GroupFits:
    """What comes of the groups of these workloads."""

    def __init__(
        self, simulator: Simulator, templates: Sequence[PodTemplate], unserved: Collection[str]
    ) -> None:
        """``unserved``: the APIs of groups that the API server does not have."""
        self._simulator = simulator
        self._unserved = unserved
        self._templates: dict[_Group, list[PodTemplate]] = defaultdict(list)
        self._found: dict[_Group, GroupFit] = {}
        for template in templates:
            if (group := _group_of(template)) is not None:
                self._templates[group].append(template)

    @property
    def found(self) -> Iterator[GroupFit]:
        """Those that were asked for, in that order."""
        yield from self._found.values()

    def of(self, template: PodTemplate) -> GroupFit | None:
        """That of the workload's pods; None where these go alone, or nothing says how many they
        have to be.
        """
        group = _group_of(template)
        if group is not None and group not in self._found and (spec := self._spec(group)):
            members = [*pods_of(self._templates[group])]
            if members:
                self._found[group] = fit_group(self._simulator, spec, members)
        return None if group is None else self._found.get(group)

    def why_none(self, template: PodTemplate) -> str:
        """Why such pods are not tried, as nothing says how many they have to be; else ""."""
        group = _group_of(template)
        if group is None or self._spec(group) is not None:
            return ""
        said = filter(None, (membership_of(one.pod) for one in self._templates[group]))
        return why_no_spec(group[0], said, self._simulator.context.cache.store, self._unserved)

    def _spec(self, group: _Group) -> GroupSpec | None:
        said = filter(None, (membership_of(one.pod) for one in self._templates[group]))
        return group_spec(group[0], said, self._simulator.context.cache.store)


def _group_of(template: PodTemplate) -> _Group | None:
    """A DaemonSet's pods are tied to their nodes, and wait for nobody."""
    member = None if template.on_each_node else membership_of(template.pod)
    return None if member is None else (member.key, template.pod.spec.scheduler_name)


def fit_of_members(template: PodTemplate, group: GroupFit) -> Fit:
    """The workload's part of its group."""
    mine = {pod.metadata.uid for pod in pods_of([template])}
    nodes = tuple(node for pod, node in group.nodes if pod.metadata.uid in mine)
    room = template.replicas * group.room
    return Fit(template.pod, template.replicas, nodes, room, group.counted_out, (), (), None)
