"""Defaults of pods and of pod templates: what is meant by what a pod does not say."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final

from towtank.model.kinds import Body
from towtank.strategies.common import at, fill, read_quantities

CONTAINERS: Final = ("initContainers", "containers", "ephemeralContainers")
_SPEC: Final = {
    "restartPolicy": "Always",
    "terminationGracePeriodSeconds": 30,
    "dnsPolicy": "ClusterFirst",
    "schedulerName": "default-scheduler",
}
_CONTAINER: Final = {
    "terminationMessagePath": "/dev/termination-log",
    "terminationMessagePolicy": "File",
}
_PROBE: Final = {
    "timeoutSeconds": 1,
    "periodSeconds": 10,
    "successThreshold": 1,
    "failureThreshold": 3,
}
_HTTP_GET: Final = {"path": "/", "scheme": "HTTP"}
_FIELD: Final = {"apiVersion": "v1"}
_PROBES: Final = ("livenessProbe", "readinessProbe", "startupProbe")
_ACTIONS: Final[Mapping[str, Mapping[str, Any]]] = {
    **dict.fromkeys(_PROBES, _PROBE),
    **{f"{probe}.httpGet": _HTTP_GET for probe in _PROBES},
    **{f"{probe}.grpc": {"service": ""} for probe in _PROBES},
    **{f"lifecycle.{hook}.httpGet": _HTTP_GET for hook in ("postStart", "preStop")},
}
"""Of a container: what somebody asks it, or does to it, by its path."""
_READABLE: Final = {"defaultMode": 0o644}
_VOLUME: Final[Mapping[str, Mapping[str, Any]]] = {
    **dict.fromkeys(("configMap", "secret", "projected", "downwardAPI"), _READABLE),
    "hostPath": {"type": ""},
}
_TOKEN_SECONDS: Final = 3600


def default_template(body: Body) -> None:
    """Of a workload: its spec.template."""
    template = body["spec"].get("template")
    if template is not None:
        default_pod_spec(template.setdefault("spec", {}), body["kind"])


def default_pod_spec(spec: Body, kind: str = "Pod") -> None:
    """What pods and templates have in common; ``kind`` is the whole object's."""
    fill(spec, _SPEC)
    fill(spec, {"securityContext": {}})
    if account := spec.get("serviceAccountName") or spec.get("serviceAccount"):
        spec["serviceAccountName"] = spec["serviceAccount"] = account
    for container in containers_of(spec):
        _default_container(container, kind)
        if spec.get("hostNetwork"):
            for port in container.get("ports") or ():
                fill(port, {"hostPort": port.get("containerPort")})
    for volume in spec.get("volumes") or ():
        _default_volume(volume)


def containers_of(spec: Body, kinds: Sequence[str] = CONTAINERS) -> list[Body]:
    """The containers of a spec."""
    return [container for kind in kinds for container in spec.get(kind) or ()]


def _default_container(container: Body, kind: str) -> None:
    pull = "Always" if _moves(container.get("image") or "") else "IfNotPresent"
    fill(container, {"imagePullPolicy": pull, "resources": {}, **_CONTAINER})
    resources = container["resources"]
    read_quantities(kind, resources.get("limits"), resources.get("requests"))
    for port in container.get("ports") or ():
        fill(port, {"protocol": "TCP"})
    for variable in container.get("env") or ():
        _fill_there(variable, {"valueFrom.fieldRef": _FIELD})
    _fill_there(container, _ACTIONS)


def _moves(image: str) -> bool:
    """Whether an image's name may mean another image tomorrow: it has no tag, or the tag
    "latest".
    """
    last = image.rpartition("/")[2]
    return "@" not in last and last.partition(":")[2] in {"", "latest"}


def _fill_there(body: Body, values: Mapping[str, Mapping[str, Any]]) -> None:
    """Fill in parts, by their paths, where they are there."""
    for path, said in values.items():
        if (part := at(body, path)) is not None:
            fill(part, said)


def _default_volume(volume: Body) -> None:
    if all(value is None for key, value in volume.items() if key != "name"):
        volume["emptyDir"] = {}
    _fill_there(volume, _VOLUME)
    projected: list[Body] = at(volume, "projected.sources") or []
    for source in projected:
        _fill_there(source, {"serviceAccountToken": {"expirationSeconds": _TOKEN_SECONDS}})
    for holder in (volume, *projected):
        for item in at(holder, "downwardAPI.items") or ():
            _fill_there(item, {"fieldRef": _FIELD})
    if (claim := at(volume, "ephemeral.volumeClaimTemplate")) is not None:
        claim.setdefault("metadata", {})
        fill(claim.setdefault("spec", {}), {"volumeMode": "Filesystem"})


def default_requests(spec: Body) -> None:
    """Of a pod, not of a template: what is limited is also requested."""
    for container in containers_of(spec):
        resources = container["resources"]
        if limits := resources.get("limits"):
            fill(resources.setdefault("requests", {}), limits)
