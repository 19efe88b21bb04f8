"""Deployments: a ReplicaSet for each template that there was, and pods that move from the old ones
to the newest.

What differs from Kubernetes' own controller: names of ReplicaSets are hashes of another kind, and
no events are written.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime

from towtank.controllers import deployment_status, rollout
from towtank.controllers.client import PODS, REPLICA_SETS, is_finished, is_terminating
from towtank.controllers.controller import Controller, Key
from towtank.controllers.ownership import claim, labels_of, owner_name, owner_reference
from towtank.model.kinds import Body
from towtank.model.object_selectors import compiled
from towtank.storage.store import StoreChange

DEPLOYMENTS = "deployments.apps"
HASH = "pod-template-hash"
REVISION = "deployment.kubernetes.io/revision"
_DESIRED, _MOST = (
    "deployment.kubernetes.io/desired-replicas",
    "deployment.kubernetes.io/max-replicas",
)
_HISTORY = "deployment.kubernetes.io/revision-history"
_OWN = (
    REVISION,
    _DESIRED,
    _MOST,
    _HISTORY,
    "kubectl.kubernetes.io/last-applied-configuration",
    "deprecated.deployment.rollback.to",
)
"""Annotations that a ReplicaSet does not take over from its Deployment."""
_LETTERS = "bcdfghjklmnpqrstvwxz2456789"
_HASH_LENGTH = 10
_HISTORY_LIMIT = 10
"""Empty ReplicaSets that stay for a rollback, where the Deployment does not say."""


class DeploymentController(Controller):
    """Keys: ("roll", namespace, name)."""

    keys_per_slice = 4

    def keys_to_queue(self, resource: str, change: StoreChange) -> Iterable[Key]:
        """Deployments, their ReplicaSets, ReplicaSets that are nobody's, and pods that are gone
        (Recreate waits for them).
        """
        if resource == DEPLOYMENTS:
            if change.type != "DELETED" and change.alters(_owners_part):
                yield "roll", *change.now.key
        elif resource == REPLICA_SETS:
            yield from self._of_set(change)
        elif resource == PODS and change.type == "DELETED":
            namespace, name = change.now.key[0], owner_name(change.now.body, "ReplicaSet")
            owner = self.client.verbs.find(REPLICA_SETS, namespace, name)
            if owner and (name := owner_name(owner, "Deployment")):
                yield "roll", namespace, name

    def _of_set(self, change: StoreChange) -> Iterable[Key]:
        namespace = change.now.key[0]
        for name in {owner_name(body, "Deployment") for body in change.bodies} - {""}:
            yield "roll", namespace, name
        if change.type != "DELETED" and not change.now.body["metadata"].get("ownerReferences"):
            for stored in self.client.verbs.store.list(DEPLOYMENTS, namespace):
                yield "roll", *stored.key

    def reconcile(self, key: Key, now: datetime) -> None:
        """One step of the rollout, and what there is to say about it."""
        deployment = self.client.verbs.find(DEPLOYMENTS, key[1], key[2])
        if deployment is None:
            return
        claim(self.client, REPLICA_SETS, deployment, compiled(deployment["spec"].get("selector")))
        if not is_terminating(deployment):
            self._step(deployment)
            deployment = self.client.verbs.find(DEPLOYMENTS, key[1], key[2]) or deployment
        self._report(deployment, now)

    # ---- the ReplicaSets -------------------------------------------------------------------------

    def _sets(self, deployment: Body) -> tuple[Body | None, list[Body]]:
        """The set of the present template, and the others, oldest first."""
        owned = sorted(
            self.client.indexes[REPLICA_SETS]["owner", deployment["metadata"]["uid"]], key=_age
        )
        wanted = _without_hash(deployment["spec"]["template"])
        new = next(
            (each for each in owned if _without_hash(each["spec"]["template"]) == wanted), None
        )
        return new, [each for each in owned if each is not new]

    def _step(self, deployment: Body) -> None:
        spec, (new, olds) = deployment["spec"], self._sets(deployment)
        to = _goal(deployment)
        present = [each for each in (new, *olds) if each]
        scaled = any(
            _size(each) and _annotation(each, _DESIRED) not in ("", str(to.replicas))
            for each in present
        )
        if spec.get("paused") or scaled:
            self._scale(deployment, new, olds, to)
        elif spec.get("strategy", {}).get("type") == "Recreate":
            self._recreate(deployment, new, olds, to)
        else:
            self._roll(self._newest(deployment, new, olds, 0), olds, to)
        self._forget(deployment, olds)

    def _roll(self, new: Body, olds: Sequence[Body], to: rollout.RolloutTarget) -> None:
        """Let the new set grow; where it cannot, let old ones shrink."""
        others = [_set(old) for old in olds]
        size = rollout.scale_up_new(_set(new), others, to)
        if size != _size(new):
            self._resize(new, size, to)
            return
        sizes = rollout.scale_down_old(_set(new), others, to)
        for old in olds:
            if (name := old["metadata"]["name"]) in sizes:
                self._resize(old, sizes[name], to)

    def _scale(
        self, deployment: Body, new: Body | None, olds: Sequence[Body], to: rollout.RolloutTarget
    ) -> None:
        """Follow a changed number of replicas without going on with the rollout."""
        newest_first = [each for each in (new, *reversed(olds)) if each]
        working = [each for each in newest_first if _size(each)]
        if len(working) <= 1:
            for only in working or newest_first[:1]:
                self._resize(only, to.replicas, to)
            return
        if new and _set(new).available >= to.replicas == _size(new):
            sizes = {each["metadata"]["name"]: 0 for each in working if each is not new}
        elif deployment["spec"].get("strategy", {}).get("type") == "Recreate":
            sizes = {}
        else:
            sizes = dict(rollout.scale_proportionally([_set(each) for each in working], to))
        for each in working:
            self._resize(each, sizes.get(each["metadata"]["name"], _size(each)), to)

    def _recreate(
        self, deployment: Body, new: Body | None, olds: Sequence[Body], to: rollout.RolloutTarget
    ) -> None:
        """The old pods are gone before new ones are made."""
        for old in olds:
            if _size(old):
                self._resize(old, 0, to)
        left = [pod for old in olds for pod in self.client.pods["owner", old["metadata"]["uid"]]]
        if all(map(is_finished, left)):
            new = self._newest(deployment, new, olds, to.replicas)
            self._resize(new, to.replicas, to)

    def _newest(self, deployment: Body, new: Body | None, olds: Sequence[Body], size: int) -> Body:
        """The set of the present template, made if need be, with the highest revision."""
        own = {
            name: value
            for name, value in deployment["metadata"].get("annotations", {}).items()
            if name not in _OWN
        }
        if new is None:
            new = self.client.create(REPLICA_SETS, _replica_set(deployment, size))
        before = _annotation(new, REVISION)
        revision = str(
            max(*(int(_annotation(old, REVISION) or 0) + 1 for old in olds), int(before or 0), 1)
        )
        said = {**own, REVISION: revision}
        if before and revision != before:
            said[_HISTORY] = ",".join(filter(None, (_annotation(new, _HISTORY), before)))
        self._annotate(DEPLOYMENTS, deployment, {REVISION: revision})
        return self._annotate(REPLICA_SETS, new, said)

    def _annotate(self, key: str, body: Body, said: Mapping[str, str]) -> Body:
        if all(_annotation(body, name) == value for name, value in said.items()):
            return body
        return self.client.patch(
            key, body, lambda copy: copy["metadata"].setdefault("annotations", {}).update(said)
        )

    def _resize(self, each: Body, size: int, to: rollout.RolloutTarget) -> None:
        """Give a set its size, and the numbers that tell later whether the Deployment was scaled
        since.
        """
        numbers = {_DESIRED: str(to.replicas), _MOST: str(to.max_total)}

        def resized(copy: Body) -> None:
            copy["spec"]["replicas"] = size
            copy["metadata"].setdefault("annotations", {}).update(numbers)

        if _size(each) != size or any(
            _annotation(each, name) != value for name, value in numbers.items()
        ):
            self.client.patch(REPLICA_SETS, each, resized)

    def _forget(self, deployment: Body, olds: Sequence[Body]) -> None:
        """Delete sets of earlier templates that are empty, but the latest some of them."""
        empty = [
            old
            for old in olds
            if not (_size(old) or old.get("status", {}).get("replicas") or is_terminating(old))
        ]
        empty.sort(key=lambda old: int(_annotation(old, REVISION) or 0))
        kept = deployment["spec"].get("revisionHistoryLimit", _HISTORY_LIMIT)
        for old in empty[: max(len(empty) - kept, 0)]:
            self.client.delete(REPLICA_SETS, old)

    def _report(self, deployment: Body, now: datetime) -> None:
        new, olds = self._sets(deployment)
        said = deployment_status.status(deployment, new, olds, _goal(deployment), now)
        deployment = self.client.status(DEPLOYMENTS, deployment, said)
        if (when := deployment_status.deadline(deployment)) is not None:
            self.queue.add(
                ("roll", deployment["metadata"]["namespace"], deployment["metadata"]["name"]), when
            )


def template_hash(template: Body) -> str:
    """A name for a template: the same for the same one."""
    digest = hashlib.sha256(json.dumps(template, sort_keys=True).encode()).digest()
    return "".join(_LETTERS[byte % len(_LETTERS)] for byte in digest[:_HASH_LENGTH])


def _replica_set(deployment: Body, size: int) -> Body:
    """The set of a Deployment's present template."""
    metadata, spec = deployment["metadata"], deployment["spec"]
    template, selector = spec["template"], spec["selector"]
    hashed = {HASH: template_hash(template)}
    labels = {**labels_of(template), **hashed}
    return {
        "metadata": {
            "name": f"{metadata['name']}-{hashed[HASH]}",
            "namespace": metadata["namespace"],
            "labels": labels,
            "ownerReferences": [owner_reference(deployment)],
        },
        "spec": {
            "replicas": size,
            "minReadySeconds": spec.get("minReadySeconds", 0),
            "selector": {**selector, "matchLabels": selector.get("matchLabels", {}) | hashed},
            "template": {**template, "metadata": {**template["metadata"], "labels": labels}},
        },
    }


def _goal(deployment: Body) -> rollout.RolloutTarget:
    spec, strategy = deployment["spec"], deployment["spec"].get("strategy", {})
    if strategy.get("type") == "Recreate":
        return rollout.RolloutTarget(spec.get("replicas", 1), 0, 0)
    rolling = strategy.get("rollingUpdate", {})
    return rollout.rollout_target(
        spec.get("replicas", 1),
        rolling.get("maxSurge", "25%"),
        rolling.get("maxUnavailable", "25%"),
    )


def _set(body: Body) -> rollout.ReplicaSetSize:
    available = body.get("status", {}).get("availableReplicas", 0)
    return rollout.ReplicaSetSize(
        body["metadata"]["name"], _size(body), available, int(_annotation(body, _MOST) or 0)
    )


def _size(body: Body) -> int:
    return int(body["spec"].get("replicas", 1))


def _annotation(body: Body, name: str) -> str:
    return str(body["metadata"].get("annotations", {}).get(name, ""))


def _without_hash(template: Body) -> Body:
    """A template without the label that tells templates apart."""
    metadata = template["metadata"]
    labels = {name: value for name, value in metadata.get("labels", {}).items() if name != HASH}
    return {**template, "metadata": {**metadata, "labels": labels}}


def _age(body: Body) -> tuple[str, str]:
    return body["metadata"]["creationTimestamp"], body["metadata"]["name"]


def _owners_part(deployment: Body) -> object:
    """What its owner says: what we write ourselves is left out."""
    metadata = deployment["metadata"]
    annotations = {
        name: value for name, value in metadata.get("annotations", {}).items() if name != REVISION
    }
    return deployment["spec"], annotations, metadata.get("deletionTimestamp")
