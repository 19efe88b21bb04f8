"""Pod templates: the pods that workloads in YAML files stand for, as their controllers would make
them and an API server would store them.

Limits and quotas of namespaces, admission webhooks and the overhead of RuntimeClasses are nobody's
here.
"""

from __future__ import annotations

import dataclasses
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, Final, NamedTuple

import msgspec

from moorage.apps.exit_status import WrongUse
from moorage.apps.object_files import Document
from moorage.apps.printing.amounts import counted
from moorage.apps.worlds import from_files, manifests
from moorage.core.groups.group_spec import GROUP_KINDS, AnyPodGroup
from moorage.core.objects.meta import HasMetadata, OwnerReference
from moorage.core.objects.pods import Pod
from moorage.core.objects.workloads import ReplicaSet, ReplicationController, StatefulSet

WORKLOADS: Final = (
    "Deployment",
    "ReplicaSet",
    "ReplicationController",
    "StatefulSet",
    "Job",
    "CronJob",
)
DAEMON_SET: Final = "DaemonSet"
_OWNERS: Final[Mapping[str, type[ReplicaSet | ReplicationController | StatefulSet]]] = {
    "Deployment": ReplicaSet,
    "ReplicaSet": ReplicaSet,
    "ReplicationController": ReplicationController,
    "StatefulSet": StatefulSet,
}
"""Who makes the pods, where placement asks for it: pods of one owner spread by default."""

_KEPT: Final = ("name", "namespace", "labels", "annotations")


@dataclasses.dataclass(frozen=True, slots=True)
class PodTemplate:
    """One workload: its pods are like ``pod``, and there are to be ``replicas``."""

    name: str
    """``Kind namespace/name``."""
    pod: Pod
    replicas: int
    on_each_node: bool = False
    """A DaemonSet's: one on each node that admits it, whatever ``replicas`` says."""
    owner: HasMetadata | None = None
    """Whoever makes the pods, where placement asks for it."""


class Workloads(NamedTuple):
    """What is to come: pods, what belongs to them, and what is to be said of other objects."""

    templates: list[PodTemplate]
    groups: tuple[AnyPodGroup, ...] = ()
    warnings: tuple[str, ...] = ()


def read_workloads(
    files: Sequence[Path], priorities: Mapping[str, int], *, daemons: bool = False
) -> Workloads:
    """The workloads in files; ``priorities`` are those of the cluster's PriorityClasses, beside the
    files' own; ``daemons``: DaemonSets are wanted, too. Raises NoAnswer where a file cannot be
    read, and WrongUse for what means nothing, or where there is no workload.
    """
    documents = list(from_files.read(files))
    known = {**priorities, **manifests.priorities(document.body for document in documents)}
    kinds = ("Pod", *WORKLOADS, *((DAEMON_SET,) if daemons else ()))
    found, groups, faults, others = (
        list[PodTemplate](),
        list[AnyPodGroup](),
        list[str](),
        set[str](),
    )
    for document in documents:
        try:
            if document.kind in kinds:
                found.append(_template(document, known))
            elif document.kind == "PodGroup" and document.api_version in GROUP_KINDS:
                groups.append(_group(document, known))
            elif document.kind != "PriorityClass":
                others.add(document.kind or "no kind")
        except (msgspec.MsgspecError, manifests.ManifestError) as error:
            faults.append(document.fault(error))
    if faults:
        raise WrongUse("\n".join(faults))
    if not found:
        there = f"; there is {', '.join(sorted(others))}" if others else ""
        raise WrongUse(f"{', '.join(map(str, files))}: there is none of {', '.join(kinds)}{there}")
    warnings = [f"passed over: {kind}, as it makes no pods of its own" for kind in sorted(others)]
    if DAEMON_SET in others:
        warnings.append("what DaemonSets need is not asked: their pods come with their nodes")
    return Workloads(found, tuple(groups), tuple(warnings))


def already_there(templates: Sequence[PodTemplate], pods: Iterable[Pod]) -> Iterator[str]:
    """What is to be said of workloads some of whose pods are among these: whoever has applied them
    would count them twice.
    """
    there = Counter(name for pod in pods for name in _makers(pod))
    for name in dict.fromkeys(template.name for template in templates):
        if number := there[name]:
            verb, them = ("is", "it") if number == 1 else ("are", "them")
            text = f"{counted(number, 'pod')} of {name} {verb} there already"
            yield f"{text}: those of --pods count beside {them}"


def _makers(pod: Pod) -> Iterator[str]:
    """``Kind namespace/name`` of all that a pod may have been made of; of the makers of a
    ReplicaSet and a Job its name tells, as their controllers name it.
    """
    meta = pod.metadata
    yield f"Pod {meta.namespace}/{meta.name}"
    for owner in meta.owner_references or ():
        if not owner.controller:
            continue
        yield f"{owner.kind} {meta.namespace}/{owner.name}"
        name, _, suffix = owner.name.rpartition("-")
        if owner.kind == "ReplicaSet" and suffix == (meta.labels or {}).get("pod-template-hash"):
            yield f"Deployment {meta.namespace}/{name}"
        if owner.kind == "Job" and suffix.isdecimal():
            yield f"CronJob {meta.namespace}/{name}"


def pods_of(templates: Sequence[PodTemplate]) -> Iterator[Pod]:
    """All pods of all templates."""
    for template in templates:
        meta = template.pod.metadata
        for i in range(template.replicas):
            named = msgspec.structs.replace(meta, name=f"{meta.name}-{i}", uid=f"{meta.uid}-{i}")
            yield msgspec.structs.replace(template.pod, metadata=named)


def _template(document: Document, known: Mapping[str, int]) -> PodTemplate:
    """Raises ManifestError and MsgspecError."""
    kind, body = document.kind, document.body
    metadata, spec = _object(body, "metadata"), _object(body, "spec")
    if not isinstance(metadata.get("name"), str):
        raise manifests.ManifestError("metadata.name: Required value")
    names = {"name": metadata["name"], "namespace": str(metadata.get("namespace") or "default")}
    name = f"{kind} {names['namespace']}/{names['name']}"
    uid = f"new {name} {document.number}"  # others in the world and the files may have its name
    if kind == "Pod":
        return PodTemplate(name, _pod({**metadata, **names}, spec, known, uid), 1)
    path = "spec"
    if kind == "CronJob":
        path = "spec.jobTemplate.spec"
        spec = _object(_object(spec, "jobTemplate", "spec.jobTemplate"), "spec", path)
    template = _object(spec, "template", f"{path}.template")
    inner = template.get("metadata") or {}
    if not isinstance(inner, dict):
        raise manifests.ManifestError(f"{path}.template.metadata: must be an object")
    owner = _owner(kind, names, spec)
    pod_spec = _object(template, "spec", f"{path}.template.spec")
    pod = _pod({**inner, **names}, pod_spec, known, uid, owner)
    if kind == DAEMON_SET:
        return PodTemplate(name, pod, 0, on_each_node=True)
    return PodTemplate(name, pod, _replicas(kind, spec), owner=owner)


def _group(document: Document, known: Mapping[str, int]) -> AnyPodGroup:
    """Raises ManifestError and MsgspecError."""
    body = manifests.completed(document.body, known)
    group: AnyPodGroup = msgspec.convert(body, GROUP_KINDS[document.api_version])
    return group


def _pod(
    metadata: Mapping[str, Any],
    spec: Mapping[str, Any],
    known: Mapping[str, int],
    uid: str,
    owner: HasMetadata | None = None,
) -> Pod:
    """A new pod, on no node. Raises ManifestError and MsgspecError."""
    body = {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {key: value for key, value in metadata.items() if key in _KEPT},
        "spec": {key: value for key, value in spec.items() if key != "nodeName"},
    }
    pod = msgspec.convert(manifests.completed(body, known), Pod)
    owners = None if owner is None else (_owned_by(owner),)
    meta = msgspec.structs.replace(pod.metadata, uid=uid, owner_references=owners)
    return msgspec.structs.replace(pod, metadata=meta)


def _owned_by(owner: HasMetadata) -> OwnerReference:
    meta = owner.metadata
    api = "v1" if isinstance(owner, ReplicationController) else "apps/v1"
    return OwnerReference(api, type(owner).__name__, meta.name, meta.uid, controller=True)


def _owner(kind: str, names: Mapping[str, str], spec: Mapping[str, Any]) -> HasMetadata | None:
    if kind not in _OWNERS:
        return None
    metadata = {**names, "uid": f"{kind}/{names['namespace']}/{names['name']}"}
    body = {"metadata": metadata, "spec": {"selector": spec.get("selector")}}
    return msgspec.convert(body, _OWNERS[kind])


def _replicas(kind: str, spec: Mapping[str, Any]) -> int:
    """How many pods there are at a time."""
    is_job = kind in ("Job", "CronJob")
    field = "parallelism" if is_job else "replicas"
    wanted, whole = spec.get(field), spec.get("completions") if is_job else None
    found = 1 if wanted is None else wanted
    if not isinstance(found, int) or isinstance(found, bool) or found < 0:
        raise manifests.ManifestError(f"spec.{field}: {found!r}: must be a whole number, 0 or more")
    return min(found, whole) if isinstance(whole, int) else found


def _object(body: Mapping[str, Any], field: str, path: str = "") -> dict[str, Any]:
    value = body.get(field)
    if not isinstance(value, dict):
        raise manifests.ManifestError(f"{path or field}: Required value")
    return value
