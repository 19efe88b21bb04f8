"""What frees a pod must wake it: worlds of kube-scheduler's cases, in which one object comes,
changes or goes.

A plugin that refused a node, and does not any more, must have registered for the change, with a
hint that says yes. kube-scheduler's own registrations are no measure here: where they have a gap,
pods wait for minutes.
"""

from __future__ import annotations

import random
from collections.abc import Iterator
from typing import Any

import msgspec

from moorage.core.columns.store import Lister
from moorage.core.cycle.context import CycleContext
from moorage.core.cycle.cycle import decide
from moorage.core.framework.cluster_events import ActionType, ClusterEvent, EventResource
from moorage.core.framework.object_changes import node_changes, pod_changes, resources_freed
from moorage.core.framework.revisions import ProfileErrors, Revision
from moorage.core.framework.status import Code
from moorage.core.objects.nodes import Node
from moorage.core.objects.pods import Pod
from moorage.ports.stored_kinds import STORED_KINDS as KINDS
from tests.vectors.files import Case
from tests.vectors.profiles import revision_of
from tests.vectors.scheduling import STORED, cluster

_EVENTS = {kind.struct: kind.event for kind in KINDS}
Lists = dict[str, list[Any]]
"""A case's objects."""
Registration = tuple[str, EventResource | str, ActionType]
"""Of a plugin, by its name."""
Change = tuple[str, str, list[ClusterEvent], Lists]
"""The list that changes, how, the events of it, and the objects after it."""


def changes(case: Case, other: Case, chance: random.Random) -> Iterator[Change]:
    """One change of each kind and action: an object goes, becomes what ``other`` has under its
    name, or comes from there.
    """
    mine, its = case.get("objects", {}), other.get("objects", {})
    for name in ("nodes", "pods", *STORED):
        there, elsewhere = mine.get(name, []), its.get(name, [])
        if there:
            gone = chance.randrange(len(there))
            yield (
                name,
                "delete",
                _events(name, there[gone], None),
                {**mine, name: there[:gone] + there[gone + 1 :]},
            )
            known = {_key(one): one for one in elsewhere}
            if both := [i for i, one in enumerate(there) if _key(one) in known]:
                i = chance.choice(both)
                new = _changed(name, there[i], known[_key(there[i])])
                yield (
                    name,
                    "update",
                    _events(name, there[i], new),
                    {**mine, name: [*there[:i], new, *there[i + 1 :]]},
                )
        keys = {one for body in there for one in (_key(body), body["metadata"].get("uid"))}
        if more := [
            one
            for one in elsewhere
            if _key(one) not in keys and (one["metadata"].get("uid") or "none") not in keys
        ]:
            new = chance.choice(more)
            yield name, "add", _events(name, None, new), {**mine, name: [*there, new]}


def overlooked(
    case: Case, change: Change, without: frozenset[Registration] = frozenset()
) -> list[str]:
    """The plugins that let a pod pass after the change, where they refused it before, and that
    nobody would have asked.

    ``without``: registrations that are left out.
    """
    try:
        revision = revision_of(case["profile"])
    except ProfileErrors:
        return []
    name, how, events, after = change
    pod = msgspec.convert(case["pod"], Pod)
    old, _ = refused(pod, case.get("objects", {}), revision)
    new, store = refused(pod, after, revision)
    if any("*" in nodes for nodes in new.values()):
        return []
    there = {node["metadata"]["name"] for node in after["nodes"]}
    found = []
    for plugin, nodes in old.items():
        if not (there if "*" in nodes else nodes & there) - new.get(plugin, frozenset()):
            continue
        heard = [event for event in events if (plugin, event.resource, event.action) not in without]
        asked = [
            (wake, event)
            for wake in revision.deciders[plugin].events_to_register
            for event in heard
            if wake.matches(event)
        ]
        if not any(wake.hint is None or wake.hint(pod, event, store) for wake, event in asked):
            found.append(
                f"{plugin}: {name} {how}: "
                f"{'its hint says no' if asked else 'it has not registered for that'}"
            )
    return found


def refused(
    pod: Pod, objects: Lists, revision: Revision
) -> tuple[dict[str, frozenset[str]], Lister]:
    """Plugin -> the nodes that it refuses, "*" for all of them at once; and the store."""
    context = CycleContext(cluster(objects, None))
    decide(pod, revision, context)
    evaluation, nodes = context.evaluator.evaluation(pod, revision), context.snapshot.nodes
    status, plugin = evaluation.pre_filter[:2]
    if status.code is not Code.SUCCESS:
        return ({plugin: frozenset("*")} if plugin else {}), context.cache.store
    found = {}
    for name, column in evaluation.filters.items():
        if column.applies:
            found[name] = frozenset(
                node for node, row in nodes.row_of.items() if int(column.values[row])
            )
    return found, context.cache.store


def _events(name: str, old: Any, new: Any) -> list[ClusterEvent]:
    if name == "nodes":
        before, after = msgspec.convert(old, Node | None), msgspec.convert(new, Node | None)
        if before is not None and after is not None:
            return node_changes(before, after)
        return [
            ClusterEvent(
                EventResource.NODE,
                ActionType.ADD if before is None else ActionType.DELETE,
                before,
                after,
            )
        ]
    if name == "pods":
        return _pod_events(msgspec.convert(old, Pod | None), msgspec.convert(new, Pod | None))
    resource = _EVENTS[STORED[name]]
    action = (
        ActionType.ADD if old is None else ActionType.DELETE if new is None else ActionType.UPDATE
    )
    before, after = (msgspec.convert(one, STORED[name] | None) for one in (old, new))
    return [] if resource is None else [ClusterEvent(resource, action, before, after)]


def _pod_events(old: Pod | None, new: Pod | None) -> list[ClusterEvent]:
    """As ``engine.intake`` tells them; pods without a node are not in the worlds."""
    if old is not None and (new is None or old.spec.node_name != new.spec.node_name):
        return [
            resources_freed(old),
            *(
                [ClusterEvent(EventResource.ASSIGNED_POD, ActionType.ADD, new=new)]
                if new is not None
                else []
            ),
        ]
    if new is None or old is None:
        return [ClusterEvent(EventResource.ASSIGNED_POD, ActionType.ADD, new=new)]
    return pod_changes(old, new)


def _changed(name: str, old: dict[str, Any], new: dict[str, Any]) -> dict[str, Any]:
    """An object with what of another's the API lets change."""
    if name in ("pods", "persistentVolumes"):
        return {**old, "metadata": {**old["metadata"], "labels": new["metadata"].get("labels", {})}}
    if name == "csiStorageCapacities":
        return {
            **old,
            **{field: new[field] for field in ("capacity", "maximumVolumeSize") if field in new},
        }
    if name == "volumeAttachments" or (
        name == "persistentVolumeClaims" and old["spec"].get("volumeName")
    ):
        return old
    return {**new, "spec": old["spec"]} if name == "resourceClaims" else new


def _key(body: dict[str, Any]) -> tuple[str, str]:
    meta = body["metadata"]
    return meta.get("namespace", ""), meta["name"]
