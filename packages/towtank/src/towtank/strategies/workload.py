"""Deployments, ReplicaSets, StatefulSets, DaemonSets, ReplicationControllers and Jobs."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from types import MappingProxyType
from typing import Any, Final

from kubefacts.labels import NOTHING
from towtank.model import metadata_rules, object_selectors
from towtank.model.api_errors import StatusCause
from towtank.model.kinds import Body, Strategy
from towtank.strategies.common import AT_LEAST_ZERO, at, at_least_zero, fill, one_of, unchanged
from towtank.strategies.pod_defaults import default_pod_spec, default_template
from towtank.strategies.pod_validation import annotation_causes, pod_spec_causes
from towtank.strategies.storage_kinds import default_claim_spec

_QUARTER: Final = "25%"
_MISMATCH: Final = "`selector` does not match template `labels`"
_TEMPLATE_LABELS: Final = "spec.template.metadata.labels"
_RESTARTS: Final = "spec.template.spec.restartPolicy"
_RETENTION: Final = "persistentVolumeClaimRetentionPolicy"


class WorkloadStrategy(Strategy):
    """What all have in common that make pods of a template for a selector."""

    zeros: tuple[str, ...] = ()
    """Counters that a new object's status has."""
    fixed: tuple[str, ...] = ("spec.selector",)
    """What never changes."""

    def default(self, body: Body) -> None:
        """Fill in the template's defaults."""
        body.setdefault("spec", {})
        default_template(body)

    def prepare_create(self, body: Body) -> None:
        """Nothing has run yet."""
        body["status"] = dict.fromkeys(self.zeros, 0)

    def validate(self, body: Body) -> Sequence[StatusCause]:
        """Selector and template have to fit."""
        return tuple(self._causes(body["spec"]))

    def _causes(self, spec: Body) -> Iterator[StatusCause]:
        yield from at_least_zero(
            {"spec": spec}, "spec.replicas", "spec.minReadySeconds", "spec.revisionHistoryLimit"
        )
        yield from _selector_causes(spec)
        yield from template_causes(spec)

    def validate_update(self, new: Body, old: Body) -> Sequence[StatusCause]:
        """What is fixed stays."""
        return tuple(unchanged(new, old, *self.fixed))


def _default_rollout(spec: Body, key: str, rolling: Mapping[str, Any]) -> None:
    """How pods are replaced: rolling unless the spec says otherwise, and then like this."""
    fill(spec, {key: {}})
    fill(spec[key], {"type": "RollingUpdate"})
    if spec[key]["type"] == "RollingUpdate":
        fill(spec[key], {"rollingUpdate": {}})
        fill(spec[key]["rollingUpdate"], rolling)


def _selector_causes(spec: Body) -> Iterator[StatusCause]:
    selector = spec.get("selector")
    if selector is None:
        yield StatusCause.required("spec.selector")
    elif not any(selector.values()):
        yield StatusCause.invalid(
            "spec.selector", selector, "empty selector is invalid for deployment"
        )
    labels = at(spec, "template.metadata.labels")
    if not _selects(selector, labels or {}):
        yield StatusCause.invalid(_TEMPLATE_LABELS, labels, _MISMATCH)


def _selects(selector: Body | None, labels: Mapping[str, str]) -> bool:
    """Whether a LabelSelector chooses these labels. One that is not there, or empty, chooses
    nothing here.
    """
    return object_selectors.compiled(selector, empty=NOTHING).matches(labels)


def template_causes(spec: Body, restarts: Sequence[str] = ("Always",)) -> Iterator[StatusCause]:
    """What is wrong with spec.template."""
    template = spec.get("template") or {}
    yield from metadata_rules.label_causes(at(template, "metadata.labels") or {}, _TEMPLATE_LABELS)
    yield from annotation_causes(at(template, "metadata.annotations"), "spec.template.annotations")
    yield from pod_spec_causes(template.get("spec") or {}, "spec.template.spec", restarts=restarts)


class DeploymentStrategy(WorkloadStrategy):
    """Their generation counts annotations too."""

    status_leaves = ("labels",)

    def default(self, body: Body) -> None:
        """Roll out by quarters."""
        super().default(body)
        for condition in at(body, "status.conditions") or ():
            condition.setdefault("lastTransitionTime", None)
            condition.setdefault("lastUpdateTime", None)
        spec = body["spec"]
        fill(spec, {"replicas": 1, "revisionHistoryLimit": 10, "progressDeadlineSeconds": 600})
        _default_rollout(spec, "strategy", {"maxSurge": _QUARTER, "maxUnavailable": _QUARTER})

    def validate_status(self, new: Body, old: Body) -> Sequence[StatusCause]:
        """Of all pods, so many are."""
        status = new.get("status") or {}
        total = status.get("replicas") or 0
        counts = ("updatedReplicas", "readyReplicas", "availableReplicas")
        numbers = ("observedGeneration", "replicas", *counts, "unavailableReplicas")
        above = [(name, count) for name in counts if (count := status.get(name) or 0) > total]
        return [
            *at_least_zero(new, *(f"status.{name}" for name in numbers)),
            *(
                StatusCause.invalid(
                    f"status.{name}", count, "cannot be greater than status.replicas"
                )
                for name, count in above
            ),
        ]

    def prepare_update(self, new: Body, old: Body) -> None:
        """Revisions are kept in annotations, so a change of those is a change."""
        if new["metadata"].get("annotations") != old["metadata"].get("annotations"):
            new["metadata"]["generation"] = old["metadata"].get("generation", 0) + 1

    def _causes(self, spec: Body) -> Iterator[StatusCause]:
        yield from super()._causes(spec)
        strategy = spec["strategy"]
        if strategy["type"] not in {"Recreate", "RollingUpdate"}:
            shown = {"Type": strategy["type"], "RollingUpdate": strategy.get("rollingUpdate")}
            yield StatusCause.unsupported("spec.strategy", shown, ("Recreate", "RollingUpdate"))
        elif (
            (rolling := strategy.get("rollingUpdate"))
            and rolling["maxSurge"] in {0, "0%"}
            and rolling["maxUnavailable"] in {0, "0%"}
        ):
            field = "spec.strategy.rollingUpdate.maxUnavailable"
            yield StatusCause.invalid(
                field, rolling["maxUnavailable"], "may not be 0 when `maxSurge` is 0"
            )


class ReplicaSetStrategy(WorkloadStrategy):
    zeros = ("replicas",)

    def default(self, body: Body) -> None:
        """One replica unless the spec says otherwise."""
        super().default(body)
        fill(body["spec"], {"replicas": 1})


class ReplicationControllerStrategy(ReplicaSetStrategy):
    """The older form: the selector is a map, and may be left out."""

    fixed = ()
    propagation = "Orphan"
    selectable = object_selectors.field_readers("status.replicas", unsaid="0")

    def default(self, body: Body) -> None:
        """Selector and labels are the template's."""
        super().default(body)
        if not body["spec"].get("minReadySeconds"):
            body["spec"].pop("minReadySeconds", None)
        if labels := at(body, _TEMPLATE_LABELS):
            fill(body["spec"], {"selector": dict(labels)})
            fill(body["metadata"], {"labels": dict(labels)})

    def _causes(self, spec: Body) -> Iterator[StatusCause]:
        yield from at_least_zero({"spec": spec}, "spec.replicas")
        if not spec.get("selector"):
            yield StatusCause.required("spec.selector")
        elif not _selects(
            {"matchLabels": spec["selector"]}, at(spec, "template.metadata.labels") or {}
        ):
            yield StatusCause.invalid(
                _TEMPLATE_LABELS, at(spec, "template.metadata.labels"), _MISMATCH
            )
        yield from template_causes(spec)


class StatefulSetStrategy(WorkloadStrategy):
    zeros = ("replicas", "availableReplicas")
    fixed = ("selector", "volumeClaimTemplates", "serviceName", "podManagementPolicy")

    def default(self, body: Body) -> None:
        """One pod after another unless the spec says otherwise."""
        super().default(body)
        spec = body["spec"]
        fill(spec, {"replicas": 1, "revisionHistoryLimit": 10, "serviceName": ""})
        fill(spec, {"podManagementPolicy": "OrderedReady", _RETENTION: {}})
        fill(spec[_RETENTION], {"whenDeleted": "Retain", "whenScaled": "Retain"})
        _default_rollout(spec, "updateStrategy", {"partition": 0, "maxUnavailable": 1})
        for claim in spec.get("volumeClaimTemplates") or ():
            fill(claim, {"apiVersion": "v1", "kind": "PersistentVolumeClaim", "status": {}})
            fill(claim["status"], {"phase": "Pending"})
            default_claim_spec(claim.setdefault("spec", {}))

    def validate_update(self, new: Body, old: Body) -> Sequence[StatusCause]:
        """Most of it stays."""
        return tuple(unchanged(new, old, *(f"spec.{field}" for field in self.fixed)))


class DaemonSetStrategy(WorkloadStrategy):
    zeros = (
        "currentNumberScheduled",
        "desiredNumberScheduled",
        "numberMisscheduled",
        "numberReady",
    )

    def default(self, body: Body) -> None:
        """One node after another."""
        super().default(body)
        fill(body["spec"], {"revisionHistoryLimit": 10})
        _default_rollout(body["spec"], "updateStrategy", {"maxUnavailable": 1, "maxSurge": 0})
        annotations: dict[str, Any] = body["metadata"].get("annotations") or {}
        body["metadata"]["annotations"] = {
            "deprecated.daemonset.template.generation": "1",
            **annotations,
        }


class JobStrategy(Strategy):
    propagation = "Orphan"
    orphans = (
        "child pods are preserved by default when jobs are deleted; set "
        "propagationPolicy=Background to remove them or set "
        "propagationPolicy=Orphan to suppress this warning"
    )
    selectable = MappingProxyType(
        {"status.successful": object_selectors.field_reader("status.succeeded", unsaid="0")}
    )

    def default(self, body: Body) -> None:
        """Once, and six times again."""
        spec = body.setdefault("spec", {})
        default_template(body)
        if spec.get("completions") is None and spec.get("parallelism") is None:
            spec["completions"] = 1
        replaced = "Failed" if spec.get("podFailurePolicy") else "TerminatingOrFailed"
        fill(spec, {"parallelism": 1, "backoffLimit": 6, "completionMode": "NonIndexed"})
        fill(spec, {"suspend": False, "manualSelector": False, "podReplacementPolicy": replaced})

    def prepare_create(self, body: Body) -> None:
        """A job's pods are known by its UID."""
        body["status"] = {}
        metadata, spec = body["metadata"], body["spec"]
        if spec["manualSelector"]:
            return
        uid, name = metadata["uid"], metadata.get("name", "")
        own = {
            "controller-uid": uid,
            "batch.kubernetes.io/controller-uid": uid,
            "job-name": name,
            "batch.kubernetes.io/job-name": name,
        }
        template = spec.setdefault("template", {}).setdefault("metadata", {})
        template["labels"] = {**(template.get("labels") or {}), **own}
        if not metadata.get("labels"):  # the labels of a job that has none are its pods'
            metadata["labels"] = dict(template["labels"])
        spec["selector"] = {"matchLabels": {"batch.kubernetes.io/controller-uid": uid}}

    def validate(self, body: Body) -> Sequence[StatusCause]:
        """A pod that ends."""
        spec, restarts = body["spec"], ("OnFailure", "Never", "Always")
        numbers = ("parallelism", "completions", "backoffLimit", "activeDeadlineSeconds")
        causes = [*at_least_zero(body, *(f"spec.{number}" for number in numbers))]
        causes += one_of(spec["completionMode"], ("NonIndexed", "Indexed"), "spec.completionMode")
        if spec["completionMode"] == "Indexed" and spec.get("completions") is None:
            why = "when completion mode is Indexed"
            causes.append(StatusCause.required("spec.completions", why))
        if at(body, _RESTARTS) == "Always":
            causes.append(StatusCause.required(_RESTARTS, 'valid values: "OnFailure", "Never"'))
        return [*causes, *template_causes(spec, restarts)]

    def validate_update(self, new: Body, old: Body) -> Sequence[StatusCause]:
        """What a job does stays; where its pods run may change while it is suspended and has not
        started.
        """
        fixed = ["spec.selector", "spec.completionMode"]
        if new["spec"]["completionMode"] != "Indexed":
            fixed.insert(0, "spec.completions")
        if not (at(old, "spec.suspend") and not at(old, "status.startTime")):
            fixed.append("spec.template")
        return tuple(unchanged(new, old, *fixed))


class PodTemplateStrategy(Strategy):
    """A template that stands alone."""

    def default(self, body: Body) -> None:
        """Fill in the pod's defaults."""
        default_pod_spec(body.setdefault("template", {}).setdefault("spec", {}), "PodTemplate")

    def validate(self, body: Body) -> Sequence[StatusCause]:
        """Refuse what breaks the pod's rules."""
        return tuple(pod_spec_causes(body["template"]["spec"], "template.spec"))


class ControllerRevisionStrategy(Strategy):
    """A template as it was."""

    def default(self, body: Body) -> None:
        """The first is zero."""
        fill(body, {"revision": 0})

    def validate(self, body: Body) -> Sequence[StatusCause]:
        """Refuse a negative revision."""
        return (
            ()
            if body["revision"] >= 0
            else (StatusCause.invalid("revision", body["revision"], AT_LEAST_ZERO),)
        )

    def validate_update(self, new: Body, old: Body) -> Sequence[StatusCause]:
        """The data is immutable."""
        return tuple(unchanged(new, old, "data"))
