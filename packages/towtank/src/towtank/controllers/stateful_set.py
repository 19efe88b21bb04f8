"""StatefulSets: pods with numbers, one after the other, each with claims of its own.

What differs from Kubernetes' own controller: no ControllerRevisions are written, so a pod below the
partition that has to be made anew gets the newest template; claims are never deleted.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
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
        bodies = [stored.body for stored in (change.before, change.now) if stored]
        if (
            resource == STATEFUL_SETS
            and change.type != "DELETED"
            and (len(bodies) == 1 or bodies[0]["spec"] != bodies[1]["spec"])
        ):
            yield "step", *change.now.key
        elif resource == PODS:
            for name in {owner_name(body, "StatefulSet") for body in bodies} - {""}:
                yield "step", change.now.key[0], name
            if change.type != "DELETED" and not bodies[-1]["metadata"].get("ownerReferences"):
                yield from (
                    ("step", *stored.key)
                    for stored in self.client.verbs.store.list(STATEFUL_SETS, change.now.key[0])
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
            pod = pods.get(number)
            if pod is None:
                self._create(owner, number)
            elif is_finished(pod) and not is_terminating(pod):
                self.client.delete(PODS, pod)
            if not together and (
                pod is None or is_terminating(pod) or not conditions.holds(pod, "Ready")
            ):
                return
        for number in sorted(pods.keys() - set(wanted), reverse=True):
            if not is_terminating(pods[number]):
                self.client.delete(PODS, pods[number])
            if not together:
                return
        self._update(owner, {number: pods[number] for number in wanted if number in pods})

    def _update(self, owner: Body, pods: Mapping[int, Body]) -> None:
        """Delete the last pod that has an older template; it is made anew."""
        strategy = owner["spec"].get("updateStrategy", {})
        if strategy.get("type") == "OnDelete" or not all(
            conditions.holds(pod, "Ready") and not is_terminating(pod) for pod in pods.values()
        ):
            return
        partition, revision = (
            strategy.get("rollingUpdate", {}).get("partition", 0),
            _revision(owner),
        )
        old = [
            number
            for number, pod in pods.items()
            if number >= partition and labels_of(pod).get(_REVISION) != revision
        ]
        if old:
            self.client.delete(PODS, pods[max(old)])

    def _create(self, owner: Body, number: int) -> None:
        template, namespace = owner["spec"]["template"], owner["metadata"]["namespace"]
        name = f"{owner['metadata']['name']}-{number}"
        volumes = []
        for each in owner["spec"].get("volumeClaimTemplates", ()):
            claimed = f"{each['metadata']['name']}-{name}"
            volumes.append(
                {"name": each["metadata"]["name"], "persistentVolumeClaim": {"claimName": claimed}}
            )
            if not self.client.verbs.find(CLAIMS, namespace, claimed):
                said = {**each["metadata"], "name": claimed, "namespace": namespace}
                said["labels"] = {
                    **labels_of(each),
                    **owner["spec"]["selector"].get("matchLabels", {}),
                }
                self.client.create(CLAIMS, {"metadata": said, "spec": each["spec"]})
        claimed_names = {volume["name"] for volume in volumes}
        others = [
            volume
            for volume in template["spec"].get("volumes", ())
            if volume["name"] not in claimed_names
        ]
        spec = {
            **template["spec"],
            "hostname": name,
            "subdomain": owner["spec"].get("serviceName", ""),
            "volumes": [*others, *volumes],
        }
        labels = {
            **labels_of(template),
            _REVISION: _revision(owner),
            _NAME: name,
            _INDEX: str(number),
        }
        annotations = template["metadata"].get("annotations", {})
        own = {
            "name": name,
            "namespace": namespace,
            "labels": labels,
            "ownerReferences": [owner_reference(owner)],
        }
        self.client.create(PODS, {"metadata": {**own, "annotations": annotations}, "spec": spec})

    def _report(self, owner: Body) -> None:
        pods = [pod for pod in self._pods(owner).values() if not is_finished(pod)]
        there = [pod for pod in pods if not is_terminating(pod)]
        ready, newest = [pod for pod in there if conditions.holds(pod, "Ready")], _revision(owner)
        updated = [pod for pod in there if labels_of(pod).get(_REVISION) == newest]
        before = owner.get("status", {})
        done = len(updated) == len(pods) == len(ready) == owner["spec"].get("replicas", 1)
        current = newest if done else before.get("currentRevision") or newest
        status = {
            "replicas": len(pods),
            "readyReplicas": len(ready) or None,
            "availableReplicas": len(ready),
            "currentReplicas": sum(1 for pod in there if labels_of(pod).get(_REVISION) == current)
            or None,
            "updatedReplicas": len(updated) or None,
            "currentRevision": current,
            "updateRevision": newest,
            "observedGeneration": owner["metadata"].get("generation"),
            "collisionCount": before.get("collisionCount", 0),
        }
        self.client.status(STATEFUL_SETS, owner, status)


def _revision(owner: Body) -> str:
    return f"{owner['metadata']['name']}-{template_hash(owner['spec']['template'])}"
