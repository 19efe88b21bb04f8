"""PriorityClasses, and what they make of a pod."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from towtank.model.api_errors import StatusCause, forbidden
from towtank.model.kinds import Body, ObjectGetter, Strategy
from towtank.strategies.common import fill, one_of, pod_refused, unchanged

GROUP: Final = "scheduling.k8s.io"
PLURAL: Final = "priorityclasses"
SYSTEM: Final = {
    "system-cluster-critical": (
        2_000_000_000,
        (
            "Used for system critical pods that must run in the cluster, but can be moved to "
            "another node if necessary."
        ),
    ),
    "system-node-critical": (
        2_000_001_000,
        "Used for system critical pods that must not be moved from their current node.",
    ),
}
_HIGHEST: Final = 1_000_000_000
_PREEMPT: Final = "PreemptLowerPriority"
_RESERVED: Final = (
    "priority class names with 'system-' prefix are reserved for system use only. error: {} is "
    "not a known system priority class"
)


class PriorityClassStrategy(Strategy):
    """One of them may be the default."""

    def default(self, body: Body) -> None:
        """Preemption is the rule."""
        fill(body, {"preemptionPolicy": _PREEMPT, "value": 0})
        if body.get("globalDefault") is False:
            del body["globalDefault"]

    def admit(self, body: Body, reads: ObjectGetter) -> None:
        """A second default is refused."""
        if body.get("globalDefault") and (other := _default_class(reads)):
            text = (
                f"PriorityClass {other['metadata']['name']} is already marked as "
                f"default. Only one default can exist"
            )
            raise forbidden(PLURAL, GROUP, body["metadata"]["name"], text)

    def prepare_create(self, body: Body) -> None:
        """A generation that never changes."""
        body["metadata"]["generation"] = 1

    def validate(self, body: Body) -> Sequence[StatusCause]:
        """High values and system names are the system's."""
        name, causes = body["metadata"].get("name") or "", []
        if name in SYSTEM:
            return ()
        if name.startswith("system-"):
            causes.append(StatusCause.forbidden("metadata.name", _RESERVED.format(name)))
        if body["value"] > _HIGHEST:
            causes.append(
                StatusCause.forbidden(
                    "value", f"maximum allowed value of a user defined priority is {_HIGHEST}"
                )
            )
        return [*causes, *one_of(body["preemptionPolicy"], (_PREEMPT, "Never"), "preemptionPolicy")]

    def validate_update(self, new: Body, old: Body) -> Sequence[StatusCause]:
        """A class means the same as long as it is there."""
        moved = (
            [StatusCause.forbidden("value", "may not be changed in an update.")]
            if new["value"] != old["value"]
            else []
        )
        return [*moved, *unchanged(new, old, "preemptionPolicy")]


def resolve(pod: Body, reads: ObjectGetter) -> None:
    """Give a new pod its class' priority and policy. Raises ApiError when there is no such class,
    or the pod has a mind of its own.
    """
    spec, chosen = pod["spec"], _class_of(pod, reads)
    priority, policy = 0, _PREEMPT
    if chosen:
        spec["priorityClassName"] = chosen["metadata"]["name"]
        priority, policy = chosen["value"], chosen.get("preemptionPolicy", _PREEMPT)
    _require_computed(pod, "priority", priority, "integer value of priority")
    _require_computed(pod, "preemptionPolicy", policy, "string value of PreemptionPolicy")
    spec |= {"priority": priority, "preemptionPolicy": policy}


def _require_computed(pod: Body, field: str, computed: object, what: str) -> None:
    said = pod["spec"].get(field)
    if said not in {None, computed}:
        why = (
            f"the {what} ({said}) must not be provided in pod spec; priority admission controller "
            f"computed {computed} from the given PriorityClass name"
        )
        raise pod_refused(pod, why)


def _class_of(pod: Body, reads: ObjectGetter) -> Body | None:
    name = pod["spec"].get("priorityClassName")
    chosen = found(name, reads)
    if name and chosen is None:
        raise pod_refused(pod, f"no PriorityClass with name {name} was found")
    return chosen


def found(name: str | None, reads: ObjectGetter) -> Body | None:
    """The class of this name, or the default one where none is named."""
    return reads.find(f"{PLURAL}.{GROUP}", "", name) if name else _default_class(reads)


def _default_class(reads: ObjectGetter) -> Body | None:
    return next((one for one in reads.every(f"{PLURAL}.{GROUP}") if one.get("globalDefault")), None)
