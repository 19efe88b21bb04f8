"""The default selector of a pod: who its companions are, by the Services in front of it and the
controller behind it.

Asked for at many decisions of pods without constraints of their own, so Services are found by an
index, and selectors are compiled once by content. Source: Kubernetes ``DefaultSelector`` of
kube-scheduler's plugin helpers (v1.37).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

import msgspec

from kubefacts.labels import EVERYTHING, Selector, SelectorError, compile_selector, equality
from moorage.core.columns.pod_counters import SelectorIndex
from moorage.core.columns.store import Lister, Store
from moorage.core.objects.meta import HasMetadata, Labels, ObjectMeta, OwnerReference
from moorage.core.objects.pods import Pod
from moorage.core.objects.selector_terms import LabelSelector
from moorage.core.objects.workloads import ReplicaSet, ReplicationController, Service, StatefulSet
from moorage.core.structures.all_or_none import all_or_none
from moorage.core.structures.remembering import byte_size, memoized

NO_SELECTOR = b""
"""The content of a pod's default selector when it has none."""

_encode = msgspec.msgpack.Encoder().encode
_decode = msgspec.msgpack.Decoder(tuple[tuple[tuple[str, str], ...], LabelSelector | None]).decode


def default_selector(pod: Pod, store: Lister) -> bytes:
    """The content of the pod's default selector (equal bytes, equal selectors), for ``compiled``;
    NO_SELECTOR: it has none.
    """
    labels = store.index(ServiceSelectors).merged(pod.metadata.namespace, pod.metadata.labels)
    selector = None
    for owner in pod.metadata.owner_references or ():
        if owner.controller:
            more, selector = _of_owner(pod.metadata.namespace, owner, store)
            labels = {**labels, **more} if more else labels
            break
    if not labels and selector is None:
        return NO_SELECTOR
    content = _encode((sorted(labels.items()), selector))
    return content if compiled(content).conditions else NO_SELECTOR


@memoized(byte_size)
def compiled(content: bytes) -> Selector:
    """The selector; what its controller's selector says is left out when that cannot be read."""
    pairs, selector = _decode(content)
    try:
        more = compile_selector(selector)
    except SelectorError:
        more = EVERYTHING
    return Selector(equality(dict(pairs)) + (more.conditions or ()))


class ServiceSelectors:
    """The selectors of Services, kept by namespace as these come and go."""

    def __init__(self, store: Store) -> None:
        self._in: dict[str, SelectorIndex[tuple[str, Selector]]] = {}
        store.follow(Service, self._changed)

    def merged(self, namespace: str, labels: Labels | None) -> Labels:
        """The selectors of all Services that select a pod, as one; they do not contradict each
        other.
        """
        index = self._in.get(namespace)
        found: Labels = {}
        if index is not None:
            for _, selector in index.candidates(labels):
                if selector.matches(labels):
                    found |= {
                        one.key: value for one in selector.conditions or () for value in one.values
                    }
        return found

    def _changed(self, old: Service | None, new: Service | None) -> None:
        services = (
            (service, come)
            for service, come in ((old, -1), (new, 1))
            if service is not None and service.spec.selector
        )
        all_or_none(1, *((self._enter, service, come) for service, come in services))

    def _enter(self, service: Service, come: int, sign: int) -> None:
        namespace = service.metadata.namespace
        selector = Selector(equality(service.spec.selector or {}))
        index = (
            self._in[namespace] if namespace in self._in else SelectorIndex[tuple[str, Selector]]()
        )
        left = (index.add if come * sign > 0 else index.remove)(
            (service.metadata.name, selector), selector
        )
        self._in[namespace] = index
        if not left:
            del self._in[namespace]


_CONTROLLERS: Mapping[
    tuple[str, str], type[ReplicationController] | type[ReplicaSet] | type[StatefulSet]
] = {
    ("v1", "ReplicationController"): ReplicationController,
    ("apps/v1", "ReplicaSet"): ReplicaSet,
    ("apps/v1", "StatefulSet"): StatefulSet,
}


def controller_kinds(metadata: ObjectMeta) -> Iterator[type[HasMetadata]]:
    """The kind of the pod's controller, where that has a say in the default selector."""
    for owner in metadata.owner_references or ():
        kind = _CONTROLLERS.get((owner.api_version, owner.kind))
        if owner.controller and kind is not None:
            yield kind


def _of_owner(
    namespace: str, owner: OwnerReference, store: Lister
) -> tuple[Labels | None, LabelSelector | None]:
    """What the controller adds: labels (a ReplicationController), or a selector (a ReplicaSet, a
    StatefulSet).
    """
    kind = _CONTROLLERS.get((owner.api_version, owner.kind))
    if kind is None:
        return None, None
    controller = store.objects(kind).get(f"{namespace}/{owner.name}")
    if isinstance(controller, ReplicationController):
        return controller.spec.selector, None
    return None, (controller.spec.selector if controller is not None else None)
