"""Scale: the number of replicas of whatever has replicas."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from kubefacts import labels, selector_texts
from towtank.model.api_errors import STALE, StatusCause, bad_request, conflict, invalid
from towtank.model.kinds import Body, ScaleSubresource
from towtank.model.requests import RequestTarget, WriteOptions
from towtank.storage import object_meta
from towtank.storage.verbs import Verbs
from towtank.strategies.common import at

API_VERSION = "autoscaling/v1"
KIND = "Scale"


def get(verbs: Verbs, target: RequestTarget) -> Body:
    """Answer a GET of the scale."""
    return _shown(target, verbs.get(target).body)


def change(
    verbs: Verbs, target: RequestTarget, make: Callable[[Body], Body], options: WriteOptions
) -> Body:
    """Answer a PUT or PATCH of the scale."""
    wanted = make(get(verbs, target))
    _check(target, wanted, verbs.get(target).body)
    replicas = at(wanted, "spec.replicas") or 0
    path = _paths(target).spec_replicas.removeprefix(".").split(".")

    def scaled(body: Body) -> Body:
        place: dict[str, Any] = body
        for key in path[:-1]:
            place = place.setdefault(key, {})
        place[path[-1]] = replicas
        return body

    return _shown(target, verbs.patch(target, scaled, options))


def _paths(target: RequestTarget) -> ScaleSubresource:
    return target.resource.scale or ScaleSubresource()


def _check(target: RequestTarget, wanted: Body, body: Body) -> None:
    metadata, resource = wanted.get("metadata") or {}, target.resource
    object_meta.require_name(metadata, target.name)
    object_meta.require_same(target, body, {"uid": metadata.get("uid")})
    if metadata.get("resourceVersion") not in {None, "", body["metadata"]["resourceVersion"]}:
        raise conflict(resource.plural, resource.group, target.name, STALE)
    if (replicas := at(wanted, "spec.replicas") or 0) < 0:
        causes = [
            StatusCause.invalid("spec.replicas", replicas, "must be greater than or equal to 0")
        ]
        raise invalid(KIND, "autoscaling", target.name, causes)


def _shown(target: RequestTarget, body: Body) -> Body:
    paths = _paths(target)
    kept = ("name", "namespace", "uid", "resourceVersion", "creationTimestamp")
    replicas = at(body, paths.spec_replicas.removeprefix("."))
    if replicas is None and target.resource.custom:
        raise bad_request(f'the spec replicas field "{paths.spec_replicas}" does not exist')
    status = {"replicas": at(body, paths.status_replicas.removeprefix(".")) or 0}
    if paths.selector and (selector := at(body, paths.selector.removeprefix("."))):
        status["selector"] = selector if isinstance(selector, str) else _selector_text(selector)
    return {
        "kind": KIND,
        "apiVersion": API_VERSION,
        "metadata": {key: body["metadata"][key] for key in kept if key in body["metadata"]},
        "spec": {"replicas": replicas} if replicas else {},
        "status": status,
    }


def _selector_text(selector: Body) -> str:
    """A selector as a query has it; of a LabelSelector, or of a plain map."""
    plain = not selector.keys() & {"matchLabels", "matchExpressions"}
    return selector_texts.selector_text(
        labels.from_body({"matchLabels": selector} if plain else selector)
    )
