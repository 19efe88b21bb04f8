"""The built-in kinds: what is served of them, from the data, with what Kubernetes' own code does for each."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from typing import Final

from towtank.model.kinds import APIResource, Body, ScaleSubresource, StorageMapping, Strategy
from towtank.schemas import parsing
from towtank.strategies import (
    configuration,
    crds,
    devices,
    events,
    namespaces,
    nodes,
    pods,
    policy,
    priorities,
    roles,
    runtimes,
    services,
    storage,
    workloads,
)

_SCALE: Final = ScaleSubresource(selector=".spec.selector")
_SHOWN_WHEN_REMOVED: Final = frozenset(
    {
        "namespaces",
        "persistentvolumeclaims",
        "persistentvolumes",
        "pods",
        "podtemplates",
        "serviceaccounts",
        "services",
        *(f"{plural}.storage.k8s.io" for plural in ("csidrivers", "csinodes", "storageclasses", "volumeattachments")),
        *(f"{plural}.resource.k8s.io" for plural in ("deviceclasses", "resourceclaims", "resourceclaimtemplates", "resourceslices")),
    }
)


@dataclasses.dataclass(frozen=True, slots=True)
class _Own:
    """What the data does not say of a kind."""

    strategy: Strategy
    generation: bool = False
    scale: ScaleSubresource | None = None


def _own() -> Mapping[str, _Own]:
    """By qualified plural name; kinds that are not here do what all kinds do."""
    return {
        "pods": _Own(pods.PodStrategy(), generation=True),
        "nodes": _Own(nodes.NodeStrategy()),
        "namespaces": _Own(namespaces.NamespaceStrategy()),
        "events": _Own(events.EventStrategy()),
        "secrets": _Own(configuration.SecretStrategy()),
        "configmaps": _Own(configuration.ConfigMapStrategy()),
        "persistentvolumes": _Own(storage.PersistentVolumeStrategy()),
        "persistentvolumeclaims": _Own(storage.PersistentVolumeClaimStrategy()),
        "services": _Own(services.ServiceStrategy()),
        "endpoints": _Own(services.EndpointsStrategy()),
        "podtemplates": _Own(workloads.PodTemplateStrategy(), generation=True),
        "replicationcontrollers": _Own(workloads.ReplicationControllerStrategy(), generation=True, scale=_SCALE),
        "replicasets.apps": _Own(workloads.ReplicaSetStrategy(), generation=True, scale=_SCALE),
        "statefulsets.apps": _Own(workloads.StatefulSetStrategy(), generation=True, scale=_SCALE),
        "deployments.apps": _Own(workloads.DeploymentStrategy(), generation=True, scale=_SCALE),
        "daemonsets.apps": _Own(workloads.DaemonSetStrategy(), generation=True),
        "controllerrevisions.apps": _Own(workloads.ControllerRevisionStrategy()),
        "jobs.batch": _Own(workloads.JobStrategy(), generation=True),
        "storageclasses.storage.k8s.io": _Own(storage.StorageClassStrategy()),
        "csinodes.storage.k8s.io": _Own(storage.CSINodeStrategy()),
        "csidrivers.storage.k8s.io": _Own(storage.CSIDriverStrategy()),
        "csistoragecapacities.storage.k8s.io": _Own(storage.CSIStorageCapacityStrategy()),
        "volumeattachments.storage.k8s.io": _Own(storage.VolumeAttachmentStrategy()),
        "poddisruptionbudgets.policy": _Own(policy.PodDisruptionBudgetStrategy(), generation=True),
        "leases.coordination.k8s.io": _Own(policy.LeaseStrategy()),
        "networkpolicies.networking.k8s.io": _Own(Strategy(), generation=True),
        runtimes.KEY: _Own(runtimes.RuntimeClassStrategy()),
        "priorityclasses.scheduling.k8s.io": _Own(priorities.PriorityClassStrategy()),
        crds.KEY: _Own(crds.CRDStrategy(), generation=True),
        "deviceclasses.resource.k8s.io": _Own(devices.DeviceClassStrategy(), generation=True),
        "resourceclaims.resource.k8s.io": _Own(devices.ResourceClaimStrategy()),
        "resourceclaimtemplates.resource.k8s.io": _Own(devices.ResourceClaimTemplateStrategy()),
        "resourceslices.resource.k8s.io": _Own(devices.ResourceSliceStrategy(), generation=True),
        "roles.rbac.authorization.k8s.io": _Own(roles.RoleStrategy()),
        "clusterroles.rbac.authorization.k8s.io": _Own(roles.RoleStrategy()),
        "rolebindings.rbac.authorization.k8s.io": _Own(roles.RoleBindingStrategy()),
        "clusterrolebindings.rbac.authorization.k8s.io": _Own(roles.RoleBindingStrategy()),
        "validatingwebhookconfigurations.admissionregistration.k8s.io": _Own(roles.WebhookConfigurationStrategy(), generation=True),
    }


def resources() -> list[APIResource]:
    """All, as they are served."""
    own = _own()
    served = [_joined(resource, own.get(resource.key)) for resource in parsing.served()]
    core = next(resource for resource in served if resource.key == "events")
    form = StorageMapping(dataclasses.replace(core, error_group=events.GROUP), events.to_stored, events.to_served)
    return [
        dataclasses.replace(one, mapping=form, strategy=events.EventsV1Strategy()) if one.key == events.NEWER else one for one in served
    ]


def _joined(resource: APIResource, own: _Own | None) -> APIResource:
    own = own or _Own(Strategy())
    shown = resource.key in _SHOWN_WHEN_REMOVED
    return dataclasses.replace(resource, strategy=own.strategy, generation=own.generation, scale=own.scale, shows_removed=shown)


def initial_objects() -> list[Body]:
    """What every cluster has from the start."""
    spaces: list[Body] = [{"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name}} for name in namespaces.INITIAL]
    classes: list[Body] = [
        {
            "apiVersion": f"{priorities.GROUP}/v1",
            "kind": "PriorityClass",
            "metadata": {"name": name},
            "value": value,
            "description": description,
        }
        for name, (value, description) in priorities.SYSTEM.items()
    ]
    return [*spaces, *classes]
