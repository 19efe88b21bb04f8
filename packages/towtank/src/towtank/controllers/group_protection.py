"""PodGroups: a deleted one goes when no pod uses it any more."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import datetime

from towtank.controllers.client import PODS, is_finished, is_terminating
from towtank.controllers.controller import Controller, Key
from towtank.model.kinds import Body
from towtank.storage.store import StoreChange
from towtank.strategies.pod_group import FINALIZER, KEY


class PodGroupProtectionController(Controller):
    """Keys: (namespace, name) of a group."""

    def keys_to_queue(self, resource: str, change: StoreChange) -> Iterable[Key]:
        """A group, and whose pod has ended or is gone."""
        if resource == KEY and change.type != "DELETED" and _waits(change.now.body):
            yield change.now.key
        if resource == PODS and (change.type == "DELETED" or is_finished(change.now.body)):
            group = _group_of(change.now.body)
            if group:
                yield change.now.key[0], group

    def reconcile(self, key: Key, now: datetime) -> None:
        """Take the finalizer from a group without pods."""
        namespace, name = key
        group = self.client.verbs.find(KEY, namespace, name)
        if group is None or not _waits(group):
            return
        pods = self.client.pods["namespace", namespace]
        if not any(_group_of(pod) == name and not is_finished(pod) for pod in pods):
            self.client.drop_finalizer(KEY, group, FINALIZER)


def _waits(group: Body) -> bool:
    """Whether it is being deleted and still has the finalizer."""
    return is_terminating(group) and FINALIZER in group["metadata"].get("finalizers", ())


def _group_of(pod: Body) -> str:
    """The name of a pod's group, "" for none."""
    return (pod["spec"].get("schedulingGroup") or {}).get("podGroupName") or ""
