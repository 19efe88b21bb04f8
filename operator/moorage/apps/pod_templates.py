"""Pod templates: the pods that workloads in YAML files stand for, as their controllers would make
them and an API server would store them.

Limits and quotas of namespaces, admission webhooks and the overhead of RuntimeClasses are nobody's
here.
"""

from __future__ import annotations

import dataclasses
from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, Final, NamedTuple

import msgspec

from moorage.apps.exit_status import WrongUse
from moorage.apps.object_files import Document
from moorage.apps.object_parts import ObjectPart
from moorage.apps.printing.amounts import counted
from moorage.apps.workload_groups import (
    WORKLOAD,
    Maker,
    TemplatedGroups,
    maker_of,
    templated_groups,
)
from moorage.apps.worlds import from_files, manifests
from moorage.core.groups.group_spec import GROUP_KINDS, AnyPodGroup
from moorage.core.objects.meta import HasMetadata, OwnerReference
from moorage.core.objects.pod_groups import group_of
from moorage.core.objects.pods import Pod, PodSchedulingGroup
from moorage.core.objects.workloads import ReplicaSet, ReplicationController, StatefulSet

WORKLOADS: Final = (
    "Deployment",
    "ReplicaSet",
    "ReplicationController",
    "StatefulSet",
    "Job",
    "CronJob",
    "JobSet",
)
JOB_SET: Final = ("JobSet", "jobset.x-k8s.io/v1alpha2")
"""Kind and API version."""
DAEMON_SET: Final = "DaemonSet"
_OWNERS: Final[Mapping[str, type[ReplicaSet | ReplicationController | StatefulSet]]] = {
    "Deployment": ReplicaSet,
    "ReplicaSet": ReplicaSet,
    "ReplicationController": ReplicationController,
    "StatefulSet": StatefulSet,
}
"""Who makes the pods, where placement asks for it: pods of one owner spread by default."""

_JOB_SET_NAME: Final = "jobset.sigs.k8s.io/jobset-name"
_REPLICATED_JOB_NAME: Final = "jobset.sigs.k8s.io/replicatedjob-name"
"""Labels of a JobSet's pods."""
_KEPT: Final = ("name", "namespace", "labels", "annotations")


@dataclasses.dataclass(frozen=True, slots=True)
class PodTemplate:
    """One workload: its pods are like ``pod``, and there are to be ``replicas``."""

    name: str
    """``Kind namespace/name``, of a JobSet with the replicated Job."""
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
    faults = list[str]()
    templated = templated_groups(documents, known, faults)
    found, groups, others = list[PodTemplate](), list[AnyPodGroup](templated.new), set[str]()
    for document in documents:
        try:
            if _makes_pods(document, kinds):
                found += _templates(document, known, templated)
            elif document.kind == "PodGroup" and document.api_version in GROUP_KINDS:
                groups.append(_group(document, known))
            elif document.kind != "PriorityClass" and document.type != WORKLOAD:
                others.add(document.kind or "no kind")
        except (msgspec.MsgspecError, manifests.ManifestError) as error:
            faults.append(document.fault(error))
    if faults:
        raise WrongUse("\n".join(faults))
    if not found:
        there = f"; there is {', '.join(sorted(others))}" if others else ""
        raise WrongUse(f"{', '.join(map(str, files))}: there is none of {', '.join(kinds)}{there}")
    members = {group_of(template.pod) for template in found}
    warnings = [*_passed_over(others), *templated.without_members(members)]
    return Workloads(found, tuple(groups), tuple(warnings))


def _makes_pods(document: Document, kinds: Collection[str]) -> bool:
    return document.kind in kinds and (document.kind != JOB_SET[0] or document.type == JOB_SET)


def _passed_over(others: Collection[str]) -> Iterator[str]:
    """What is to be said of objects of other kinds."""
    for kind in sorted(others):
        yield f"passed over: {kind}, which is not read"
    if DAEMON_SET in others:
        yield "what DaemonSets need is not asked: their pods come with their nodes"


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
    meta, labels = pod.metadata, pod.metadata.labels or {}
    yield f"Pod {meta.namespace}/{meta.name}"
    for owner in meta.owner_references or ():
        if not owner.controller:
            continue
        yield f"{owner.kind} {meta.namespace}/{owner.name}"
        if (name := labels.get(_JOB_SET_NAME)) and owner.kind == "Job":
            yield f"JobSet {meta.namespace}/{name} {labels.get(_REPLICATED_JOB_NAME, '')}"
        name, _, suffix = owner.name.rpartition("-")
        if owner.kind == "ReplicaSet" and suffix == labels.get("pod-template-hash"):
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


def _templates(
    document: Document, known: Mapping[str, int], groups: TemplatedGroups
) -> Iterator[PodTemplate]:
    """Raises ManifestError and MsgspecError."""
    maker, whole = maker_of(document), ObjectPart(document.body)
    spec, new = whole.object("spec"), _NewPods(maker, document.number, known)
    match maker.kind:
        case "Pod":
            yield PodTemplate(str(maker), new.pod(whole), 1)
        case "DaemonSet":
            yield PodTemplate(str(maker), new.pod(spec.object("template")), 0, on_each_node=True)
        case "JobSet":
            for one in spec.objects("replicatedJobs"):
                yield _replicated_job(one, new, groups)
        case "Job":
            yield _job(whole, new, groups)
        case "CronJob":
            yield _job(spec.object("jobTemplate"), new, groups)
        case _:
            owner, template = _owner(maker, spec), spec.object("template")
            pod = new.pod(template, groups.name_for(maker, whole), owner=owner)
            yield PodTemplate(str(maker), pod, spec.number("replicas"), owner=owner)


def _job(job: ObjectPart, new: _NewPods, groups: TemplatedGroups) -> PodTemplate:
    template = job.object("spec").object("template")
    pod = new.pod(template, groups.name_for(new.maker, job))
    return PodTemplate(str(new.maker), pod, _pods_of_job(job))


def _replicated_job(part: ObjectPart, new: _NewPods, groups: TemplatedGroups) -> PodTemplate:
    """The pods of all Jobs that a JobSet makes of one of its templates."""
    name, job, jobset = part.text("name"), part.object("template"), new.maker
    labels = {_JOB_SET_NAME: jobset.name, _REPLICATED_JOB_NAME: name}
    pod = new.pod(
        job.object("spec").object("template"),
        groups.name_for(jobset, job, name),
        name=f"{jobset.name}-{name}",
        labels=labels,
    )
    return PodTemplate(f"{jobset} {name}", pod, part.number("replicas") * _pods_of_job(job))


def _pods_of_job(job: ObjectPart) -> int:
    """How many there are at a time."""
    spec = job.object("spec")
    wanted, whole = spec.number("parallelism"), spec.body.get("completions")
    return min(wanted, whole) if isinstance(whole, int) else wanted


class _NewPods:
    """Pods as ``maker`` makes them, on no node; ``number`` tells apart makers of one name."""

    def __init__(self, maker: Maker, number: int, known: Mapping[str, int]) -> None:
        self.maker = maker
        self._number = number
        self._known = known

    def pod(
        self,
        template: ObjectPart,
        group: str = "",
        *,
        name: str = "",
        labels: Mapping[str, str] | None = None,
        owner: HasMetadata | None = None,
    ) -> Pod:
        """One of a template's pods, in this ``group`` unless it is in one already, with these
        labels beside its own. Raises ManifestError and MsgspecError.
        """
        body = {
            "apiVersion": "v1",
            "kind": "Pod",
            "metadata": self._metadata(template, name, labels),
        }
        spec = template.object("spec").body
        body["spec"] = {field: value for field, value in spec.items() if field != "nodeName"}
        pod = msgspec.convert(manifests.completed(body, self._known), Pod)
        meta = msgspec.structs.replace(
            pod.metadata,
            uid=f"new {self.maker}{f' {name}' if name else ''} {self._number}",
            owner_references=None if owner is None else (_owned_by(owner),),
        )
        pod = msgspec.structs.replace(pod, metadata=meta)
        return pod if not group or group_of(pod) is not None else _in_group(pod, group)

    def _metadata(
        self, template: ObjectPart, name: str, labels: Mapping[str, str] | None
    ) -> dict[str, Any]:
        said = template.object_if_any("metadata").body
        found = {field: value for field, value in said.items() if field in _KEPT}
        found |= {"name": name or self.maker.name, "namespace": self.maker.namespace}
        if labels:
            found["labels"] = {**(found.get("labels") or {}), **labels}
        return found


def _in_group(pod: Pod, name: str) -> Pod:
    spec = msgspec.structs.replace(pod.spec, scheduling_group=PodSchedulingGroup(name))
    return msgspec.structs.replace(pod, spec=spec)


def _group(document: Document, known: Mapping[str, int]) -> AnyPodGroup:
    """Raises ManifestError and MsgspecError."""
    body = manifests.completed(document.body, known)
    group: AnyPodGroup = msgspec.convert(body, GROUP_KINDS[document.api_version])
    return group


def _owned_by(owner: HasMetadata) -> OwnerReference:
    meta = owner.metadata
    api = "v1" if isinstance(owner, ReplicationController) else "apps/v1"
    return OwnerReference(api, type(owner).__name__, meta.name, meta.uid, controller=True)


def _owner(maker: Maker, spec: ObjectPart) -> HasMetadata | None:
    kind = _OWNERS[maker.kind]
    uid = f"{maker.kind}/{maker.namespace}/{maker.name}"
    metadata = {"name": maker.name, "namespace": maker.namespace, "uid": uid}
    return msgspec.convert(
        {"metadata": metadata, "spec": {"selector": spec.body.get("selector")}}, kind
    )
