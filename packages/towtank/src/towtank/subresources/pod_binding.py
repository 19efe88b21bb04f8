"""Binding: what a scheduler does with a pod."""

from __future__ import annotations

from datetime import datetime
from typing import Any, Final

from towtank.model import conditions, times
from towtank.model.api_errors import bad_request, conflict, not_found
from towtank.model.kinds import APIResource, Body
from towtank.model.requests import RequestTarget, WriteOptions
from towtank.storage import object_meta
from towtank.storage.verbs import Verbs, copied

PODS = "pods"
_POD: Final = APIResource("", "v1", PODS, "Pod")
_CREATED = 201


def success_status() -> tuple[int, Body]:
    """What is answered where there is no object to show."""
    return _CREATED, {
        "kind": "Status",
        "apiVersion": "v1",
        "metadata": {},
        "status": "Success",
        "code": _CREATED,
    }


def bind(
    verbs: Verbs, target: RequestTarget, binding: Body, options: WriteOptions
) -> tuple[int, Body]:
    """Answer a POST to pods/NAME/binding."""
    if (binding.get("metadata") or {}).get("name") != target.name:
        raise bad_request("name in URL does not match name in Binding object")
    return _bind(verbs, target.namespace, binding, options)


def bind_by_name(
    verbs: Verbs, target: RequestTarget, binding: Body, options: WriteOptions
) -> tuple[int, Body]:
    """POST to bindings: the older form."""
    if not (binding.get("metadata") or {}).get("name"):
        raise bad_request("Name parameter required.")
    return _bind(verbs, target.namespace, binding, options)


def _bind(verbs: Verbs, namespace: str, binding: Body, options: WriteOptions) -> tuple[int, Body]:
    node = _node(binding.get("target") or {})
    metadata: dict[str, Any] = binding["metadata"]
    pod = stored_pod(verbs, namespace, metadata["name"])
    _check(pod, metadata)
    for part in ("annotations", "labels"):
        if metadata.get(part):
            pod["metadata"][part] = {**(pod["metadata"].get(part) or {}), **metadata[part]}
    pod["spec"]["nodeName"] = node
    pod["status"].pop("nominatedNodeName", None)  # it is where it was to be
    set_condition(pod, {"type": "PodScheduled", "status": "True"}, verbs.clock())
    store_pod(verbs, pod, options)
    return success_status()


def _node(target: Body) -> str:
    if target.get("kind") not in {None, "", "Node"}:
        raise bad_request(
            f'target.kind: Unsupported value: "{target["kind"]}": supported values: "Node", '
            f'"<empty>"'
        )
    if not target.get("name"):
        raise bad_request("target.name: Required value")
    return str(target["name"])


def _check(pod: Body, wanted: Body) -> None:
    found, name = pod["metadata"], pod["metadata"]["name"]
    object_meta.require_same(RequestTarget(_POD, found["namespace"], name), pod, wanted)
    if "deletionTimestamp" in found:
        raise conflict(
            "pods/binding", "", name, f"pod {name} is being deleted, cannot be assigned to a host"
        )
    if node := pod["spec"].get("nodeName"):
        raise conflict("pods/binding", "", name, f'pod {name} is already assigned to node "{node}"')
    if pod["spec"].get("schedulingGates"):
        raise conflict("pods/binding", "", name, f"pod {name} has non-empty .spec.schedulingGates")


# ---- pods, by the server's own hand --------------------------------------------------------------


def stored_pod(verbs: Verbs, namespace: str, name: str) -> Body:
    """A copy of a pod. Raises ApiError 404."""
    stored = verbs.store.get(PODS, namespace, name)
    if stored is None:
        raise not_found(PODS, "", name)
    return copied(stored)


def store_pod(verbs: Verbs, pod: Body, options: WriteOptions) -> None:
    """Store a pod as it is: what the server does itself has no field owner, and no rule is against
    it.
    """
    if not options.dry_run:
        verbs.store.put(PODS, pod["metadata"]["namespace"], pod)


def set_condition(pod: Body, condition: Body, now: datetime) -> None:
    """Write a condition of a pod's status."""
    said = conditions.with_transition_time(
        pod, {**condition, "lastProbeTime": None}, times.timestamp(now)
    )
    pod.setdefault("status", {})["conditions"] = conditions.merged_conditions(pod, said)
