"""The volume binder: has the volumes of a pod bound or made.

Volumes are set aside for claims, claims get the node where their volume is to be made; Kubernetes'
volume controller and the drivers do the rest, and the pod waits for it. What was written stays when
that fails: the pod's next attempt starts from there.
"""

from __future__ import annotations

from collections.abc import Iterator

from moorage.core.objects.meta import key
from moorage.core.objects.nodes import Node
from moorage.core.objects.pods import Pod
from moorage.core.objects.storage import CSINode, PersistentVolume, PersistentVolumeClaim
from moorage.core.plugins.volume_binding.offers import VolumeOffers
from moorage.core.plugins.volume_binding.plugin import PodVolumes
from moorage.core.volumes.claims import SELECTED_NODE, is_bound
from moorage.core.volumes.reach import node_can_attach
from moorage.engine.binding.actors.contract import ActorTools
from moorage.engine.binding.actors.object_waiter import KindAndName
from moorage.ports.errors import EdgeError


class VolumeBinder:
    """Writes what VolumeBinding reserved, and waits until all of the pod's claims are bound.

    Source: kube-scheduler VolumeBinding and its binder (v1.37), texts included. It checks each
    second, we at each change.
    """

    def __init__(self, tools: ActorTools) -> None:
        self._writes = tools.writes
        self._objects = tools.objects
        self._clock = tools.clock
        self._turns = tools.turns

    async def pre_bind(self, pod: Pod, node: str, reserved: PodVolumes | None) -> None:
        """Return when each claim has its volume. Raises EdgeError when one will not get it."""
        if reserved is None:
            return
        async with self._turns[pod.spec.scheduler_name]:
            for obj in reserved.writes:
                if isinstance(obj, PersistentVolume):
                    await self._writes.bind_volume(obj)
                else:
                    await self._writes.select_node(obj)
        done = await self._objects.wait_until(
            lambda: self._all_bound(node, reserved),
            lambda: self._names(reserved),
            self._clock,
            float(reserved.timeout),
        )
        if not done:
            raise EdgeError("binding volumes: context deadline exceeded")

    def _names(self, work: PodVolumes) -> Iterator[KindAndName]:
        """What is waited for: the claims, and the volumes that they have or are to have."""
        claims = self._objects.objects(PersistentVolumeClaim)
        for pv in work.volumes:
            yield PersistentVolume, pv.metadata.name
        for claim in work.claims:
            yield PersistentVolumeClaim, claim
            if claim in claims and claims[claim].spec.volume_name:
                yield PersistentVolume, claims[claim].spec.volume_name

    def _all_bound(self, name: str, work: PodVolumes) -> bool:
        """Whether all claims are bound to volumes in the node's reach. Raises EdgeError when that
        is not to be expected any more.

        What was written may not have come by the watch yet: until then it is assumed, and nothing
        is known.
        """
        node = self._objects.node(name)
        if node is None:
            raise _failed(f'failed to get node "{name}": node "{name}" not found')
        return all(
            [
                *(self._is_reserved_volume_bound(pv, node) for pv in work.volumes),
                *(self._is_provisioned(claim, node) for claim in work.provisions),
            ]
        )

    def _is_reserved_volume_bound(self, expected: PersistentVolume, node: Node) -> bool:
        """Whether the claim of a volume that is set aside is bound to it."""
        name, ref = expected.metadata.name, expected.spec.claim_ref
        pv = self._objects.objects(PersistentVolume).get(name)
        if pv is None or ref is None:
            raise _failed(f'failed to check binding: could not find v1.PersistentVolume "{name}"')
        claim = self._claim(f"{ref.namespace}/{ref.name}", ref.uid, "binding")
        if self._is_assumed(pv):
            return False
        self._check_reach(pv, node)
        if pv.spec.claim_ref is None or not pv.spec.claim_ref.uid:
            raise _failed(f'ClaimRef got reset for pv "{name}"')
        if pv.spec.claim_ref.uid != ref.uid or claim.spec.volume_name not in ("", name):
            raise _failed(f'claim "{key(claim)}" is bound to another volume than pv "{name}"')
        return is_bound(claim)

    def _is_provisioned(self, expected: PersistentVolumeClaim, node: Node) -> bool:
        """Whether a claim is bound to a volume that was made for it; a provisioner that gives up
        takes its node away.
        """
        name = expected.metadata.name
        claim = self._claim(key(expected), expected.metadata.uid, "provisioning pvc")
        if self._is_assumed(claim):
            return False
        if not claim.metadata.annotations:
            raise _failed(f'selectedNode annotation reset for PVC "{name}"')
        if claim.metadata.annotations.get(SELECTED_NODE) != node.metadata.name:
            raise _failed(f'provisioning failed for PVC "{name}"')
        if claim.spec.volume_name:
            pv = self._objects.objects(PersistentVolume).get(claim.spec.volume_name)
            if pv is None:
                return False
            self._check_reach(pv, node)
        return is_bound(claim)

    def _claim(self, name: str, uid: str, checking: str) -> PersistentVolumeClaim:
        claim = self._objects.objects(PersistentVolumeClaim).get(name)
        if claim is None or claim.metadata.uid != uid:
            raise _failed(
                f'failed to check {checking}: could not find v1.PersistentVolumeClaim "{name}"'
            )
        return claim

    def _is_assumed(self, obj: PersistentVolume | PersistentVolumeClaim) -> bool:
        return self._objects.store.index(VolumeOffers).is_assumed(obj)

    def _check_reach(self, pv: PersistentVolume, node: Node) -> None:
        csi_node = self._objects.objects(CSINode).get(node.metadata.name)
        if not node_can_attach(node.metadata.labels or {}, csi_node, pv):
            text = (
                f'pv "{pv.metadata.name}" node affinity doesn\'t match node "{node.metadata.name}"'
            )
            raise _failed(f"{text}: no matching NodeSelectorTerms")


def _failed(text: str) -> EdgeError:
    return EdgeError(f"binding volumes: {text}")
