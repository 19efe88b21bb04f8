"""PriorityClasses, and what they make of a pod."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from towtank.model.api_errors import StatusCause, forbidden
from towtank.model.kinds import Body, ObjectGetter, Strategy
from towtank.strategies.common import fill, one_of, unchanged

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
        if body.get("globalDefault"):
            for other in reads.every(f"{PLURAL}.{GROUP}"):
                if other.get("globalDefault"):
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
    spec, name = pod["spec"], pod["metadata"].get("name") or ""
    chosen = _class_of(spec, reads)
    if chosen is None:
        if spec.get("priorityClassName"):
            raise forbidden(
                "pods",
                "",
                name,
                f"no PriorityClass with name {spec['priorityClassName']} was found",
            )
        priority, policy = 0, _PREEMPT
    else:
        spec["priorityClassName"] = chosen["metadata"]["name"]
        priority, policy = chosen["value"], chosen.get("preemptionPolicy", _PREEMPT)
    why = (
        "must not be provided in pod spec; priority admission controller computed {} from the "
        "given PriorityClass name"
    )
    if spec.get("priority") not in {None, priority}:
        raise forbidden(
            "pods",
            "",
            name,
            f"the integer value of priority ({spec['priority']}) {why.format(priority)}",
        )
    if spec.get("preemptionPolicy") not in {None, policy}:
        raise forbidden(
            "pods",
            "",
            name,
            (
                f"the string value of PreemptionPolicy ({spec['preemptionPolicy']}) "
                f"{why.format(policy)}"
            ),
        )
    spec |= {"priority": priority, "preemptionPolicy": policy}


def _class_of(spec: Body, reads: ObjectGetter) -> Body | None:
    if name := spec.get("priorityClassName"):
        return reads.find(f"{PLURAL}.{GROUP}", "", name)
    return next((one for one in reads.every(f"{PLURAL}.{GROUP}") if one.get("globalDefault")), None)
