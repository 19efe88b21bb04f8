"""The built-in kinds: what is served of them, from the data, with what Kubernetes' own code does
for each.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from typing import Final

from towtank.model.kinds import APIResource, Body, ScaleSubresource, StorageMapping, Strategy
from towtank.schemas import schema_parser
from towtank.strategies import (
    admission_kinds,
    config_kinds,
    crd,
    event,
    flow_control,
    namespace_strategy,
    node_strategy,
    pod,
    pod_group,
    policy,
    priority_class,
    rbac,
    resource_claim,
    runtime_class,
    services,
    storage_kinds,
    workload,
)

_SCALE: Final = ScaleSubresource(selector=".spec.selector")
_SHOWN_WHEN_REMOVED: Final = frozenset(
    {
        "namespaces",
        "persistentvolumeclaims",
        "persistentvolumes",
        "pods",
        "podtemplates",
        "resourcequotas",
        "serviceaccounts",
        "services",
        *(
            f"{plural}.storage.k8s.io"
            for plural in ("csidrivers", "csinodes", "storageclasses", "volumeattachments")
        ),
        *(
            f"{plural}.resource.k8s.io"
            for plural in (
                "deviceclasses",
                "resourceclaims",
                "resourceclaimtemplates",
                "resourceslices",
            )
        ),
    }
)


@dataclasses.dataclass(frozen=True, slots=True)
class _Own:
    """What the data does not say of a kind."""

    strategy: Strategy
    generation: bool = False
    scale: ScaleSubresource | None = None


_OWN: Final[Mapping[str, _Own]] = {
    "pods": _Own(pod.PodStrategy(), generation=True),
    "nodes": _Own(node_strategy.NodeStrategy()),
    "namespaces": _Own(namespace_strategy.NamespaceStrategy()),
    "events": _Own(event.EventStrategy()),
    "secrets": _Own(config_kinds.SecretStrategy()),
    "configmaps": _Own(config_kinds.ConfigMapStrategy()),
    "persistentvolumes": _Own(storage_kinds.PersistentVolumeStrategy()),
    "persistentvolumeclaims": _Own(storage_kinds.PersistentVolumeClaimStrategy()),
    "services": _Own(services.ServiceStrategy()),
    "endpoints": _Own(services.EndpointsStrategy()),
    "podtemplates": _Own(workload.PodTemplateStrategy(), generation=True),
    "replicationcontrollers": _Own(
        workload.ReplicationControllerStrategy(), generation=True, scale=_SCALE
    ),
    "replicasets.apps": _Own(workload.ReplicaSetStrategy(), generation=True, scale=_SCALE),
    "statefulsets.apps": _Own(workload.StatefulSetStrategy(), generation=True, scale=_SCALE),
    "deployments.apps": _Own(workload.DeploymentStrategy(), generation=True, scale=_SCALE),
    "daemonsets.apps": _Own(workload.DaemonSetStrategy(), generation=True),
    "controllerrevisions.apps": _Own(workload.ControllerRevisionStrategy()),
    "jobs.batch": _Own(workload.JobStrategy(), generation=True),
    "storageclasses.storage.k8s.io": _Own(storage_kinds.StorageClassStrategy()),
    "csinodes.storage.k8s.io": _Own(storage_kinds.CSINodeStrategy()),
    "csidrivers.storage.k8s.io": _Own(storage_kinds.CSIDriverStrategy()),
    "csistoragecapacities.storage.k8s.io": _Own(storage_kinds.CSIStorageCapacityStrategy()),
    "volumeattachments.storage.k8s.io": _Own(storage_kinds.VolumeAttachmentStrategy()),
    "resourcequotas": _Own(policy.ResourceQuotaStrategy()),
    "poddisruptionbudgets.policy": _Own(policy.PodDisruptionBudgetStrategy(), generation=True),
    "leases.coordination.k8s.io": _Own(policy.LeaseStrategy()),
    "networkpolicies.networking.k8s.io": _Own(Strategy(), generation=True),
    runtime_class.KEY: _Own(runtime_class.RuntimeClassStrategy()),
    "priorityclasses.scheduling.k8s.io": _Own(priority_class.PriorityClassStrategy()),
    pod_group.KEY: _Own(pod_group.PodGroupStrategy()),
    pod_group.WORKLOADS: _Own(pod_group.GroupTemplatesStrategy()),
    crd.KEY: _Own(crd.CRDStrategy(), generation=True),
    "deviceclasses.resource.k8s.io": _Own(resource_claim.DeviceClassStrategy(), generation=True),
    "devicetaintrules.resource.k8s.io": _Own(
        resource_claim.DeviceTaintRuleStrategy(), generation=True
    ),
    "resourceclaims.resource.k8s.io": _Own(resource_claim.ResourceClaimStrategy()),
    "resourceclaimtemplates.resource.k8s.io": _Own(resource_claim.ResourceClaimTemplateStrategy()),
    "resourceslices.resource.k8s.io": _Own(resource_claim.ResourceSliceStrategy(), generation=True),
    "roles.rbac.authorization.k8s.io": _Own(rbac.RoleStrategy()),
    "clusterroles.rbac.authorization.k8s.io": _Own(rbac.RoleStrategy()),
    "rolebindings.rbac.authorization.k8s.io": _Own(rbac.RoleBindingStrategy()),
    "clusterrolebindings.rbac.authorization.k8s.io": _Own(rbac.RoleBindingStrategy()),
    "validatingwebhookconfigurations.admissionregistration.k8s.io": _Own(
        admission_kinds.WebhookConfigurationStrategy(), generation=True
    ),
    "mutatingwebhookconfigurations.admissionregistration.k8s.io": _Own(
        admission_kinds.WebhookConfigurationStrategy(), generation=True
    ),
    "mutatingadmissionpolicies.admissionregistration.k8s.io": _Own(
        admission_kinds.MutatingAdmissionPolicyStrategy(), generation=True
    ),
    "mutatingadmissionpolicybindings.admissionregistration.k8s.io": _Own(
        admission_kinds.MutatingAdmissionPolicyBindingStrategy(), generation=True
    ),
    "flowschemas.flowcontrol.apiserver.k8s.io": _Own(
        flow_control.FlowSchemaStrategy(), generation=True
    ),
    "prioritylevelconfigurations.flowcontrol.apiserver.k8s.io": _Own(
        flow_control.PriorityLevelConfigurationStrategy(), generation=True
    ),
}
"""By qualified plural name; kinds that are not here do what all kinds do."""


def resources() -> list[APIResource]:
    """All, as they are served."""
    served = [_joined(resource) for resource in schema_parser.served()]
    core = next(resource for resource in served if resource.key == "events")
    form = StorageMapping(
        dataclasses.replace(core, error_group=event.GROUP), event.to_stored, event.to_served
    )
    return [
        dataclasses.replace(one, mapping=form, strategy=event.EventsV1Strategy())
        if one.key == event.NEWER
        else one
        for one in served
    ]


def _joined(resource: APIResource) -> APIResource:
    own = _OWN.get(resource.key, _Own(Strategy()))
    return dataclasses.replace(
        resource,
        strategy=own.strategy,
        generation=own.generation,
        scale=own.scale,
        shows_removed=resource.key in _SHOWN_WHEN_REMOVED,
    )


def initial_objects() -> list[Body]:
    """What every cluster has from the start."""
    spaces: list[Body] = [
        {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name}}
        for name in namespace_strategy.INITIAL
    ]
    classes: list[Body] = [
        {
            "apiVersion": f"{priority_class.GROUP}/v1",
            "kind": "PriorityClass",
            "metadata": {"name": name},
            "value": value,
            "description": description,
        }
        for name, (value, description) in priority_class.SYSTEM.items()
    ]
    return [*spaces, *classes]
