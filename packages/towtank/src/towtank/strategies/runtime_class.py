"""RuntimeClasses, and what they make of a pod."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Final

from kubefacts import names, quantities
from towtank.model.api_errors import StatusCause
from towtank.model.kinds import Body, ObjectGetter, Strategy
from towtank.strategies.common import (
    AT_LEAST_ZERO,
    at,
    named,
    pod_refused,
    read_quantities,
    unchanged,
)

KEY: Final = "runtimeclasses.node.k8s.io"
_NOT_ITS_OWN: Final = "pod rejected: Pod's Overhead doesn't match RuntimeClass's defined Overhead"
_NOBODYS: Final = (
    "pod rejected: Pod Overhead set without corresponding RuntimeClass defined Overhead"
)


class RuntimeClassStrategy(Strategy):
    """How pods' containers are run, and what that takes."""

    def default(self, body: Body) -> None:
        """Amounts as they are stored."""
        read_quantities("RuntimeClass", at(body, "overhead.podFixed"))

    def validate(self, body: Body) -> Sequence[StatusCause]:
        """A handler has a name, and no overhead is negative."""
        return tuple(_causes(body))

    def validate_update(self, new: Body, old: Body) -> Sequence[StatusCause]:
        """A class means the same handler as long as it is there."""
        return tuple(unchanged(new, old, "handler", shown=False))


def _causes(body: Body) -> Iterator[StatusCause]:
    yield from named(body.get("handler", ""), "handler", names.dns_label)
    for name, amount in (at(body, "overhead.podFixed") or {}).items():
        if quantities.exact(amount) < 0:
            yield StatusCause.invalid(f"overhead.limits[{name}]", amount, AT_LEAST_ZERO)


def resolve(pod: Body, reads: ObjectGetter) -> None:
    """Give a new pod its class' overhead and places. Raises ApiError when there is no such class,
    or the pod has a mind of its own.
    """
    spec, chosen = pod["spec"], None
    if name := spec.get("runtimeClassName"):
        chosen = reads.find(KEY, "", name)
        if chosen is None:
            raise pod_refused(pod, f'pod rejected: RuntimeClass "{name}" not found')
    overhead = at(chosen, "overhead.podFixed")
    if spec.get("overhead") and spec["overhead"] != overhead:
        raise pod_refused(pod, _NOT_ITS_OWN if overhead else _NOBODYS)
    if overhead:
        spec["overhead"] = dict(overhead)
    _place(pod, at(chosen, "scheduling") or {})


def _place(pod: Body, scheduling: Body) -> None:
    spec, selector = pod["spec"], scheduling.get("nodeSelector") or {}
    for key, value in selector.items():
        said = (spec.get("nodeSelector") or {}).get(key, value)
        if said != value:
            why = (
                f"conflict: runtimeClass.scheduling.nodeSelector[{key}] = {value}; "
                f"pod.spec.nodeSelector[{key}] = {said}"
            )
            raise pod_refused(pod, why)
    if selector:
        spec["nodeSelector"] = {**(spec.get("nodeSelector") or {}), **selector}
    tolerations = spec.get("tolerations") or []
    if added := [one for one in scheduling.get("tolerations") or () if one not in tolerations]:
        spec["tolerations"] = [*tolerations, *added]
