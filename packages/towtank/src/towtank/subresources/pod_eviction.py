"""Eviction: a deletion that asks the disruption budgets."""

from __future__ import annotations

import dataclasses
import functools
from collections.abc import Sequence
from typing import Final

from towtank import managed_fields
from towtank.model import conditions, object_selectors, times
from towtank.model.api_errors import ApiError, bad_request, too_many_requests
from towtank.model.kinds import APIResource, Body
from towtank.model.requests import SERVER, RequestTarget, WriteOptions
from towtank.schemas import schema_parser
from towtank.storage import object_meta
from towtank.storage.verbs import Verbs
from towtank.strategies.common import at
from towtank.subresources.pod_binding import set_condition, store_pod, stored_pod, success_status
from towtank.wire.options import deleting

_BUDGETS: Final = "poddisruptionbudgets.policy"
_VIOLATED: Final = "Cannot evict pod as it would violate the pod's disruption budget."
_SEVERAL: Final = (
    "This pod has more than one PodDisruptionBudget, which the eviction subresource does not "
    "support."
)
_RETRY_SECONDS: Final = 10
_EVICTING: Final = {
    "type": "DisruptionTarget",
    "status": "True",
    "reason": "EvictionByEvictionAPI",
    "message": "Eviction API: evicting",
}


def evict(
    verbs: Verbs, target: RequestTarget, eviction: Body, options: WriteOptions
) -> tuple[int, Body]:
    """Answer a POST to pods/NAME/eviction."""
    if (eviction.get("metadata") or {}).get("name") != target.name:
        raise bad_request("name in URL does not match name in Eviction object")
    pod = stored_pod(verbs, target.namespace, target.name)
    deletion = deleting({}, eviction.get("deleteOptions"))
    quiet = WriteOptions(dry_run=options.dry_run or deletion.dry_run)
    _ask_budget(verbs, pod, quiet)
    object_meta.require_same(target, pod, deletion.preconditions, going=True)
    # others are gone in a moment
    if "deletionTimestamp" not in pod["metadata"] and pod["spec"].get("nodeName"):
        set_condition(pod, _EVICTING, verbs.clock())
        store_pod(verbs, pod, quiet)
    asked = dataclasses.replace(deletion, preconditions={}, dry_run=quiet.dry_run)
    verbs.delete(RequestTarget(target.resource, target.namespace, target.name), asked)
    return success_status()


def _counts(pod: Body) -> bool:
    """Whether anybody misses it: not when it does not run, or goes anyway."""
    return "deletionTimestamp" not in pod["metadata"] and at(pod, "status.phase") not in {
        "Pending",
        "Succeeded",
        "Failed",
    }


def _ask_budget(verbs: Verbs, pod: Body, options: WriteOptions) -> None:
    """Take a pod that counts out of its budget. Raises ApiError 429 when that is used up."""
    if not _counts(pod):
        return
    budgets = _budgets(verbs.every(_BUDGETS, pod["metadata"]["namespace"]), pod)
    if len(budgets) > 1:
        raise bad_request(_SEVERAL)
    if not budgets or _needs_none(pod, budgets[0]):
        return
    _require_allowed(budgets[0])
    budget = _taken(budgets[0], pod, times.timestamp(verbs.clock()))
    if not options.dry_run:
        owner = managed_fields.ManagedFieldsEntry(_resource(), SERVER, "status", verbs.clock())
        managed_fields.track(budget, budgets[0], owner)
        verbs.store.put(_BUDGETS, budget["metadata"]["namespace"], budget)


@functools.cache
def _resource() -> APIResource:
    kind = "PodDisruptionBudget"
    schema = schema_parser.builtin("policy/v1", kind)
    return APIResource("policy", "v1", "poddisruptionbudgets", kind, has_status=True, schema=schema)


def _budgets(budgets: Sequence[Body], pod: Body) -> list[Body]:
    labels = pod["metadata"].get("labels") or {}
    return [
        budget
        for budget in budgets
        if object_selectors.compiled(at(budget, "spec.selector")).matches(labels)
    ]


def _needs_none(pod: Body, budget: Body) -> bool:
    """A pod that is not ready is no loss, unless its budget lacks pods already."""
    if conditions.holds(pod, "Ready"):
        return False
    if at(budget, "spec.unhealthyPodEvictionPolicy") == "AlwaysAllow":
        return True
    healthy, desired = (
        at(budget, "status.currentHealthy") or 0,
        at(budget, "status.desiredHealthy") or 0,
    )
    return bool(healthy >= desired > 0)


def _require_allowed(budget: Body) -> None:
    metadata, status = budget["metadata"], budget.get("status") or {}
    name = metadata["name"]
    if (status.get("observedGeneration") or 0) < metadata.get("generation", 0):
        why = f"The disruption budget {name} is still being processed by the server."
        raise _refusal(why, _RETRY_SECONDS)
    if (status.get("disruptionsAllowed") or 0) <= 0:
        needs, has = status.get("desiredHealthy") or 0, status.get("currentHealthy") or 0
        short = (
            f"needs {needs} healthy pods and has {has} currently"
            if has <= needs
            else "does not allow evicting pods currently"
        )
        raise _refusal(f"The disruption budget {name} {short}", 0)


def _taken(budget: Body, pod: Body, now: str) -> Body:
    status = budget["status"]
    left = status["disruptionsAllowed"] - 1
    disrupted = {**(status.get("disruptedPods") or {}), pod["metadata"]["name"]: now}
    status = {**status, "disruptionsAllowed": left, "disruptedPods": disrupted}
    if not left:
        status["conditions"] = _used_up(budget, now)
    return {**budget, "metadata": dict(budget["metadata"]), "status": status}


def _used_up(budget: Body, now: str) -> list[Body]:
    said = {
        "type": "DisruptionAllowed",
        "status": "False",
        "reason": "InsufficientPods",
        "message": "",
        "observedGeneration": budget["metadata"].get("generation", 0),
    }
    return conditions.merged_conditions(budget, conditions.with_transition_time(budget, said, now))


def _refusal(why: str, after: int) -> ApiError:
    return too_many_requests(_VIOLATED, after).with_causes(
        [{"reason": "DisruptionBudget", "message": why}]
    )
