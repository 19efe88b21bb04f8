"""The built-in kinds: what is served of them, from the data, with what Kubernetes' own code does for each."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from typing import Final

from towtank.model.kinds import Body, Form, Resource, Scale, Strategy
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

_SCALE: Final = Scale(selector=".spec.selector")
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
    scale: Scale | None = None


def _own() -> Mapping[str, _Own]:
    """By qualified plural name; kinds that are not here do what all kinds do."""
    return {
        "pods": _Own(pods.Pods(), generation=True),
        "nodes": _Own(nodes.Nodes()),
        "namespaces": _Own(namespaces.Namespaces()),
        "events": _Own(events.Events()),
        "secrets": _Own(configuration.Secrets()),
        "configmaps": _Own(configuration.ConfigMaps()),
        "persistentvolumes": _Own(storage.Volumes()),
        "persistentvolumeclaims": _Own(storage.Claims()),
        "services": _Own(services.Services()),
        "endpoints": _Own(services.Endpoints()),
        "podtemplates": _Own(workloads.PodTemplates(), generation=True),
        "replicationcontrollers": _Own(workloads.ReplicationControllers(), generation=True, scale=_SCALE),
        "replicasets.apps": _Own(workloads.ReplicaSets(), generation=True, scale=_SCALE),
        "statefulsets.apps": _Own(workloads.StatefulSets(), generation=True, scale=_SCALE),
        "deployments.apps": _Own(workloads.Deployments(), generation=True, scale=_SCALE),
        "daemonsets.apps": _Own(workloads.DaemonSets(), generation=True),
        "controllerrevisions.apps": _Own(workloads.ControllerRevisions()),
        "jobs.batch": _Own(workloads.Jobs(), generation=True),
        "storageclasses.storage.k8s.io": _Own(storage.StorageClasses()),
        "csinodes.storage.k8s.io": _Own(storage.DriversOfNodes()),
        "csidrivers.storage.k8s.io": _Own(storage.Drivers()),
        "csistoragecapacities.storage.k8s.io": _Own(storage.Capacities()),
        "volumeattachments.storage.k8s.io": _Own(storage.Attachments()),
        "poddisruptionbudgets.policy": _Own(policy.Budgets(), generation=True),
        "leases.coordination.k8s.io": _Own(policy.Leases()),
        "networkpolicies.networking.k8s.io": _Own(Strategy(), generation=True),
        runtimes.KEY: _Own(runtimes.RuntimeClasses()),
        "priorityclasses.scheduling.k8s.io": _Own(priorities.PriorityClasses()),
        crds.KEY: _Own(crds.CustomResourceDefinitions(), generation=True),
        "deviceclasses.resource.k8s.io": _Own(devices.DeviceClasses(), generation=True),
        "resourceclaims.resource.k8s.io": _Own(devices.ResourceClaims()),
        "resourceclaimtemplates.resource.k8s.io": _Own(devices.ResourceClaimTemplates()),
        "resourceslices.resource.k8s.io": _Own(devices.ResourceSlices(), generation=True),
        "roles.rbac.authorization.k8s.io": _Own(roles.Roles()),
        "clusterroles.rbac.authorization.k8s.io": _Own(roles.Roles()),
        "rolebindings.rbac.authorization.k8s.io": _Own(roles.Bindings()),
        "clusterrolebindings.rbac.authorization.k8s.io": _Own(roles.Bindings()),
        "validatingwebhookconfigurations.admissionregistration.k8s.io": _Own(roles.Webhooks(), generation=True),
    }


def resources() -> list[Resource]:
    """All, as they are served."""
    own = _own()
    served = [_joined(resource, own.get(resource.key)) for resource in parsing.served()]
    core = next(resource for resource in served if resource.key == "events")
    form = Form(dataclasses.replace(core, said=events.GROUP), events.inward, events.outward)
    return [dataclasses.replace(one, form=form, strategy=events.NewerEvents()) if one.key == events.NEWER else one for one in served]


def _joined(resource: Resource, own: _Own | None) -> Resource:
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
