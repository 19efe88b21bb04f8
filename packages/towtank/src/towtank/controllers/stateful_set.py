"""StatefulSets: pods with numbers, one after the other, each with claims of its own.

What differs from Kubernetes' own controller: no ControllerRevisions are written, so a pod below the
partition that has to be made anew gets the newest template; claims are never deleted.
"""

from __future__ import annotations

import collections
from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime

from towtank.controllers.client import PODS, is_finished, is_terminating
from towtank.controllers.controller import Controller, Key
from towtank.controllers.deployment import template_hash
from towtank.controllers.ownership import claim, labels_of, owner_name, owner_reference
from towtank.controllers.persistent_volume import CLAIMS
from towtank.model import conditions
from towtank.model.kinds import Body
from towtank.model.object_selectors import compiled
from towtank.storage.store import StoreChange

STATEFUL_SETS = "statefulsets.apps"
_REVISION, _NAME, _INDEX = (
    "controller-revision-hash",
    "statefulset.kubernetes.io/pod-name",
    "apps.kubernetes.io/pod-index",
)


class StatefulSetController(Controller):
    """Keys: ("step", namespace, name)."""

    keys_per_slice = 4

    def keys_to_queue(self, resource: str, change: StoreChange) -> Iterable[Key]:
        """Sets, their pods, and pods that are nobody's."""
        namespace, stays = change.now.key[0], change.type != "DELETED"
        if resource == STATEFUL_SETS and stays and change.alters(_spec):
            yield "step", *change.now.key
        elif resource == PODS:
            for name in {owner_name(body, "StatefulSet") for body in change.bodies} - {""}:
                yield "step", namespace, name
            if stays and not change.now.body["metadata"].get("ownerReferences"):
                yield from (
                    ("step", *stored.key)
                    for stored in self.client.verbs.store.list(STATEFUL_SETS, namespace)
                )

    def reconcile(self, key: Key, now: datetime) -> None:
        """One step for one pod, or for all of them where they need not wait for each other; then
        the status.
        """
        owner = self.client.verbs.find(STATEFUL_SETS, *key[1:])
        if owner is None:
            return
        claim(self.client, PODS, owner, compiled(owner["spec"].get("selector")))
        if not is_terminating(owner):
            self._step(owner)
        self._report(owner)

    def _pods(self, owner: Body) -> dict[int, Body]:
        """The owner's pods by their number."""
        prefix = f"{owner['metadata']['name']}-"
        found = self.client.pods["owner", owner["metadata"]["uid"]]
        numbered = {
            pod["metadata"]["name"].removeprefix(prefix): pod
            for pod in found
            if pod["metadata"]["name"].startswith(prefix)
        }
        return {int(number): pod for number, pod in numbered.items() if number.isdecimal()}

    def _step(self, owner: Body) -> None:
        spec, pods = owner["spec"], self._pods(owner)
        together = spec.get("podManagementPolicy") == "Parallel"
        first = spec.get("ordinals", {}).get("start", 0)
        wanted = range(first, first + spec.get("replicas", 1))
        for number in wanted:
            serves = self._keep_up(owner, number, pods.get(number))
            if not serves and not together:
                return
        too_many = sorted(pods.keys() - set(wanted), reverse=True)
        self._remove([pods[number] for number in too_many], together=together)
        if too_many and not together:
            return
        self._update(owner, {number: pods[number] for number in wanted if number in pods})

    def _keep_up(self, owner: Body, number: int, pod: Body | None) -> bool:
        """Make a pod that lacks, and delete one that has finished, to be made anew; returns whether
        it serves.
        """
        if pod is None:
            self._create(owner, number)
            return False
        if is_finished(pod) and not is_terminating(pod):
            self.client.delete(PODS, pod)
        return _serves(pod)

    def _remove(self, pods: Sequence[Body], *, together: bool) -> None:
        """Delete all of these pods together, or the first; that one waits, when it does not serve,
        for all but the last that does not.
        """
        unready = [pod for pod in pods if not _serves(pod)]
        for pod in pods if together else pods[:1]:
            waits = not together and pod in unready[:-1]
            if not waits and not is_terminating(pod):
                self.client.delete(PODS, pod)

    def _update(self, owner: Body, pods: Mapping[int, Body]) -> None:
        """Delete the last pod that has an older template; it is made anew."""
        strategy, revision = owner["spec"].get("updateStrategy", {}), _revision(owner)
        if strategy.get("type") == "OnDelete" or not all(map(_serves, pods.values())):
            return
        partition = strategy.get("rollingUpdate", {}).get("partition", 0)
        old = [
            number
            for number, pod in pods.items()
            if number >= partition and labels_of(pod).get(_REVISION) != revision
        ]
        if old:
            self.client.delete(PODS, pods[max(old)])

    def _create(self, owner: Body, number: int) -> None:
        """Make a pod, and its claims unless they are left of an earlier one."""
        claims = {
            each["metadata"]["name"]: _claim(owner, each, number)
            for each in owner["spec"].get("volumeClaimTemplates", ())
        }
        for each in claims.values():
            if not self.client.verbs.find(
                CLAIMS, each["metadata"]["namespace"], each["metadata"]["name"]
            ):
                self.client.create(CLAIMS, each)
        volumes = [_volume(name, each) for name, each in claims.items()]
        self.client.create(PODS, _pod(owner, number, volumes))

    def _report(self, owner: Body) -> None:
        pods = [pod for pod in self._pods(owner).values() if not is_finished(pod)]
        there = [pod for pod in pods if not is_terminating(pod)]
        ready = sum(conditions.holds(pod, "Ready") for pod in there)
        revisions = collections.Counter(labels_of(pod).get(_REVISION) for pod in there)
        newest, before = _revision(owner), owner.get("status", {})
        done = revisions[newest] == len(pods) == ready == owner["spec"].get("replicas", 1)
        current = newest if done else before.get("currentRevision") or newest
        status = {
            "replicas": len(pods),
            "readyReplicas": ready or None,
            "availableReplicas": ready,
            "currentReplicas": revisions[current] or None,
            "updatedReplicas": revisions[newest] or None,
            "currentRevision": current,
            "updateRevision": newest,
            "observedGeneration": owner["metadata"].get("generation"),
            "collisionCount": before.get("collisionCount", 0),
        }
        self.client.status(STATEFUL_SETS, owner, status)


def _spec(body: Body) -> object:
    return body["spec"]


def _serves(pod: Body) -> bool:
    return conditions.holds(pod, "Ready") and not is_terminating(pod)


def _revision(owner: Body) -> str:
    return f"{owner['metadata']['name']}-{template_hash(owner['spec']['template'])}"


# ---- what is made --------------------------------------------------------------------------------


def _claim(owner: Body, template: Body, number: int) -> Body:
    name = f"{template['metadata']['name']}-{owner['metadata']['name']}-{number}"
    chosen_by = owner["spec"]["selector"].get("matchLabels", {})
    own = {
        "name": name,
        "namespace": owner["metadata"]["namespace"],
        "labels": {**labels_of(template), **chosen_by},
    }
    return {"metadata": {**template["metadata"], **own}, "spec": template["spec"]}


def _volume(name: str, claimed: Body) -> Body:
    return {"name": name, "persistentVolumeClaim": {"claimName": claimed["metadata"]["name"]}}


def _pod(owner: Body, number: int, volumes: Sequence[Body]) -> Body:
    """The pod of a number; ``volumes`` replace those of the template that have their names."""
    template, name = owner["spec"]["template"], f"{owner['metadata']['name']}-{number}"
    own = {_REVISION: _revision(owner), _NAME: name, _INDEX: str(number)}
    metadata = {
        "name": name,
        "namespace": owner["metadata"]["namespace"],
        "labels": {**labels_of(template), **own},
        "annotations": template["metadata"].get("annotations", {}),
        "ownerReferences": [owner_reference(owner)],
    }
    taken = {volume["name"] for volume in volumes}
    others = [each for each in template["spec"].get("volumes", ()) if each["name"] not in taken]
    called = {"hostname": name, "subdomain": owner["spec"].get("serviceName", "")}
    spec = {**template["spec"], **called, "volumes": [*others, *volumes]}
    return {"metadata": metadata, "spec": spec}
