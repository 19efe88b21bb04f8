"""Defaults of pods and of pod templates: what is meant by what a pod does not say."""

from __future__ import annotations

from typing import Any, Final

from towtank.model.kinds import Body
from towtank.strategies.common import at, fill, read_quantities

CONTAINERS: Final = ("initContainers", "containers", "ephemeralContainers")
_PROBES: Final = ("livenessProbe", "readinessProbe", "startupProbe")
_READABLE: Final = 0o644
_TOKEN_SECONDS: Final = 3600


def default_template(body: Body) -> None:
    """Of a workload: its spec.template."""
    template = body["spec"].get("template")
    if template is not None:
        default_pod_spec(template.setdefault("spec", {}), body["kind"])


def default_pod_spec(spec: Body, kind: str = "Pod") -> None:
    """What pods and templates have in common; ``kind`` is the whole object's."""
    fill(
        spec,
        {
            "restartPolicy": "Always",
            "terminationGracePeriodSeconds": 30,
            "dnsPolicy": "ClusterFirst",
            "securityContext": {},
            "schedulerName": "default-scheduler",
        },
    )
    if account := spec.get("serviceAccountName") or spec.get("serviceAccount"):
        spec["serviceAccountName"] = spec["serviceAccount"] = account
    for key in CONTAINERS:
        for container in spec.get(key) or ():
            _default_container(container, kind)
            if spec.get("hostNetwork"):
                for port in container.get("ports") or ():
                    fill(port, {"hostPort": port.get("containerPort")})
    for volume in spec.get("volumes") or ():
        _default_volume(volume)


def _default_container(container: Body, kind: str) -> None:
    fill(
        container,
        {
            "imagePullPolicy": "Always" if _moves(container.get("image") or "") else "IfNotPresent",
            "terminationMessagePath": "/dev/termination-log",
            "terminationMessagePolicy": "File",
            "resources": {},
        },
    )
    resources = container["resources"]
    read_quantities(kind, resources.get("limits"), resources.get("requests"))
    for port in container.get("ports") or ():
        fill(port, {"protocol": "TCP"})
    for variable in container.get("env") or ():
        _default_field(at(variable, "valueFrom.fieldRef"))
    for probe in (container.get(name) for name in _PROBES):
        if probe is not None:
            fill(
                probe,
                {
                    "timeoutSeconds": 1,
                    "periodSeconds": 10,
                    "successThreshold": 1,
                    "failureThreshold": 3,
                },
            )
            _default_get(probe.get("httpGet"))
            if probe.get("grpc") is not None:
                fill(probe["grpc"], {"service": ""})
    for hook in (container.get("lifecycle") or {}).values():
        if isinstance(hook, dict):
            _default_get(hook.get("httpGet"))


def _moves(image: str) -> bool:
    """Whether an image's name may mean another image tomorrow: it has no tag, or the tag
    "latest".
    """
    last = image.rpartition("/")[2]
    return "@" not in last and last.partition(":")[2] in {"", "latest"}


def _default_get(action: Body | None) -> None:
    if action is not None:
        fill(action, {"path": "/", "scheme": "HTTP"})


def _default_field(reference: Body | None) -> None:
    if reference is not None:
        fill(reference, {"apiVersion": "v1"})


def _default_volume(volume: Body) -> None:
    if all(value is None for key, value in volume.items() if key != "name"):
        volume["emptyDir"] = {}
    for kind in ("configMap", "secret", "projected", "downwardAPI"):
        if volume.get(kind) is not None:
            fill(volume[kind], {"defaultMode": _READABLE})
    if volume.get("hostPath") is not None:
        fill(volume["hostPath"], {"type": ""})
    projected: list[Any] = at(volume, "projected.sources") or []
    for source in projected:
        if source.get("serviceAccountToken") is not None:
            fill(source["serviceAccountToken"], {"expirationSeconds": _TOKEN_SECONDS})
    for items in (
        at(volume, "downwardAPI.items"),
        *(at(source, "downwardAPI.items") for source in projected),
    ):
        for item in items or ():
            _default_field(item.get("fieldRef"))
    if (claim := at(volume, "ephemeral.volumeClaimTemplate")) is not None:
        claim.setdefault("metadata", {})
        fill(claim.setdefault("spec", {}), {"volumeMode": "Filesystem"})


def default_requests(spec: Body) -> None:
    """Of a pod, not of a template: what is limited is also requested."""
    for key in CONTAINERS:
        for container in spec.get(key) or ():
            resources = container["resources"]
            if limits := resources.get("limits"):
                fill(resources.setdefault("requests", {}), limits)
