"""The PodGroups that come of Workloads (scheduling.k8s.io/v1beta1) in YAML files, and which pods
are their members.

A controller makes one PodGroup of each of ``spec.podGroupTemplates`` and names it as it likes; here
it is WORKLOAD-TEMPLATE, unless the files have a PodGroup whose ``spec.workloadRef`` names the
template. Its members are the pods that name it, and those of whatever ``spec.controllerRef`` names.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping
from typing import Final, NamedTuple

import msgspec

from moorage.apps.object_files import Document
from moorage.apps.object_parts import ObjectPart
from moorage.apps.worlds import manifests
from moorage.apps.worlds.manifests import ManifestError
from moorage.core.objects.pod_groups import API, GroupKey, PodGroup

WORKLOAD: Final = ("Workload", API)
"""Kind and API version: Kueue has other Workloads."""
TEMPLATE_ANNOTATION: Final = "scheduling.k8s.io/group-template-name"
"""Of a Job: the template that the group of its pods is made of."""


class Maker(NamedTuple):
    """An object that makes pods."""

    kind: str
    namespace: str
    name: str

    def __str__(self) -> str:
        """``Kind namespace/name``."""
        return f"{self.kind} {self.namespace}/{self.name}"


class TemplatedGroup(NamedTuple):
    """One template, and the group that comes of it: a ``new`` one, None where the files have it."""

    workload: Maker
    template: str
    maker: Maker | None
    key: GroupKey
    new: PodGroup | None


class TemplatedGroups:
    """Those of all Workloads in files."""

    def __init__(self, groups: Iterable[TemplatedGroup] = ()) -> None:
        self.groups = tuple(groups)

    @property
    def new(self) -> tuple[PodGroup, ...]:
        """Those that the files do not have."""
        return tuple(one.new for one in self.groups if one.new is not None)

    def name_for(self, maker: Maker, job: ObjectPart, replicated_job: str = "") -> str:
        """The group of the pods of a Job that is this one, or is made by this one; "" where no
        Workload is its. The Job names the template; else it is the one that is called as its
        ``replicated_job``, or the only one. Raises ManifestError where that is none.
        """
        mine = {one.template: one.key.name for one in self.groups if one.maker == maker}
        annotations = job.object_if_any("metadata").object_if_any("annotations")
        said = str(annotations.body.get(TEMPLATE_ANNOTATION) or "")
        if not mine or said in mine:
            return mine.get(said, "")
        if not said and (len(mine) == 1 or replicated_job in mine):
            return mine.get(replicated_job, next(iter(mine.values())))
        asked = repr(said) if said else "Required value"
        raise ManifestError(
            f"{annotations.path}[{TEMPLATE_ANNOTATION}]: {asked}: the Workload of {maker} has the "
            f"templates {', '.join(mine)}; name one of these"
        )

    def without_members(self, named: Collection[GroupKey | None]) -> Iterator[str]:
        """What is to be said of groups that are not among those which pods of the files name."""
        for one in self.groups:
            if one.key not in named:
                yield (
                    f"{one.workload}: no pod of the files is in a group of template "
                    f"{one.template!r}: name the pods' maker in spec.controllerRef, or the group "
                    f"{one.key.name!r} in the pods' spec.schedulingGroup"
                )


def templated_groups(
    documents: Iterable[Document], known: Mapping[str, int], faults: list[str]
) -> TemplatedGroups:
    """What comes of the Workloads among these; ``known`` are priorities by class. What means
    nothing is added to ``faults``.
    """
    documents = tuple(documents)
    there = dict(_referring(documents))
    found = list[TemplatedGroup]()
    for document in documents:
        if document.type == WORKLOAD:
            try:
                found += _groups_of(document, known, there)
            except ManifestError as error:
                faults.append(document.fault(error))
    return TemplatedGroups(found)


def maker_of(document: Document) -> Maker:
    """The object of a document as what makes pods. Raises ManifestError where it has no name."""
    metadata = ObjectPart(document.body).object("metadata")
    namespace = str(metadata.body.get("namespace") or "default")
    return Maker(document.kind, namespace, metadata.text("name"))


# ---- inside --------------------------------------------------------------------------------------


def _referring(documents: Iterable[Document]) -> Iterator[tuple[tuple[Maker, str], str]]:
    """The PodGroups of files that say of which Workload and template they are, and their names."""
    for document in documents:
        if document.type != ("PodGroup", API):
            continue
        spec, metadata = document.body.get("spec"), document.body.get("metadata")
        reference = spec.get("workloadRef") if isinstance(spec, dict) else None
        if isinstance(reference, dict) and isinstance(metadata, dict):
            namespace = str(metadata.get("namespace") or "default")
            workload = Maker(WORKLOAD[0], namespace, str(reference.get("workloadName")))
            yield (workload, str(reference.get("templateName"))), document.name


def _groups_of(
    document: Document, known: Mapping[str, int], there: Mapping[tuple[Maker, str], str]
) -> Iterator[TemplatedGroup]:
    """Raises ManifestError."""
    workload, spec = maker_of(document), ObjectPart(document.body).object("spec")
    maker = _controller(spec, workload.namespace)
    if spec.body.get("compositePodGroupTemplates"):
        raise ManifestError(
            "spec.compositePodGroupTemplates: groups of groups are not scheduled; use "
            "spec.podGroupTemplates"
        )
    for template in spec.objects("podGroupTemplates"):
        name = template.text("name")
        template.object("schedulingPolicy")
        declared = there.get((workload, name))
        key = GroupKey(API, workload.namespace, declared or f"{workload.name}-{name}")
        new = None if declared else _group(key, template, known)
        yield TemplatedGroup(workload, name, maker, key, new)


def _controller(spec: ObjectPart, namespace: str) -> Maker | None:
    reference = spec.object_if_any("controllerRef")
    if not reference.body:
        return None
    return Maker(reference.text("kind"), namespace, reference.text("name"))


def _group(key: GroupKey, template: ObjectPart, known: Mapping[str, int]) -> PodGroup:
    """As an API server would store it; what is wrong is said of the template."""
    body = {
        "apiVersion": API,
        "kind": "PodGroup",
        "metadata": {"name": key.name, "namespace": key.namespace},
        "spec": {field: value for field, value in template.body.items() if field != "name"},
    }
    try:
        return msgspec.convert(manifests.completed(body, known), PodGroup)
    except (msgspec.MsgspecError, ManifestError) as error:
        raise ManifestError(str(error).replace("spec", template.path, 1)) from error
