"""PodDisruptionBudgets, ResourceQuotas and Leases: promises."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import Final

from towtank.model.api_errors import StatusCause
from towtank.model.kinds import Body, Strategy
from towtank.strategies.common import AT_LEAST_ZERO, at, at_least_zero, one_of

_POLICIES: Final = ("AlwaysAllow", "IfHealthyBudget")
_PERCENT: Final = re.compile("[0-9]+%")
_PERCENT_TEXT: Final = (
    "a valid percent string must be a numeric string followed by an ending '%' (e.g. '1%',  or "
    "'93%', regex used for validation is "
    f"'{_PERCENT.pattern}')"
)


class ResourceQuotaStrategy(Strategy):
    """How much a namespace may have. Nobody counts, and nobody is refused."""

    def prepare_create(self, body: Body) -> None:
        """What is used others say."""
        body["status"] = {}


class PodDisruptionBudgetStrategy(Strategy):
    """How many pods may be missing."""

    conditional = True

    def default(self, body: Body) -> None:
        """An empty budget is one."""
        body.setdefault("spec", {})

    def prepare_create(self, body: Body) -> None:
        """Nothing is allowed before somebody has counted."""
        body["status"] = dict.fromkeys(
            ("currentHealthy", "desiredHealthy", "disruptionsAllowed", "expectedPods"), 0
        )

    def validate(self, body: Body) -> Sequence[StatusCause]:
        """One limit, of pods or of percents."""
        return tuple(_budget_causes(body["spec"]))


def _budget_causes(spec: Body) -> Iterator[StatusCause]:
    if spec.get("minAvailable") is not None and spec.get("maxUnavailable") is not None:
        shown = {
            "MinAvailable": spec["minAvailable"],
            "Selector": spec.get("selector"),
            "MaxUnavailable": spec["maxUnavailable"],
            "UnhealthyPodEvictionPolicy": spec.get("unhealthyPodEvictionPolicy"),
        }
        text = "minAvailable and maxUnavailable cannot be both set"
        yield StatusCause.invalid("spec", shown, text)
    for key in ("minAvailable", "maxUnavailable"):
        yield from _limit_causes(spec.get(key), f"spec.{key}")
    policy = spec.get("unhealthyPodEvictionPolicy")
    yield from one_of(policy, _POLICIES, "spec.unhealthyPodEvictionPolicy")


def _limit_causes(value: object, field: str) -> Iterator[StatusCause]:
    if isinstance(value, int) and value < 0:
        yield StatusCause.invalid(field, value, AT_LEAST_ZERO)
    elif isinstance(value, str):
        if not _PERCENT.fullmatch(value):
            yield StatusCause.invalid(field, value, _PERCENT_TEXT)
        elif int(value[:-1]) > 100:
            yield StatusCause.invalid(field, value, "must not be greater than 100%")


class LeaseStrategy(Strategy):
    conditional = True
    made_by_update = True

    def default(self, body: Body) -> None:
        body.setdefault("spec", {})

    def validate(self, body: Body) -> Sequence[StatusCause]:
        """Refuse times that run backwards."""
        causes = []
        seconds = at(body, "spec.leaseDurationSeconds")
        if seconds is not None and seconds <= 0:
            causes.append(
                StatusCause.invalid("spec.leaseDurationSeconds", seconds, "must be greater than 0")
            )
        return [*causes, *at_least_zero(body, "spec.leaseTransitions")]
