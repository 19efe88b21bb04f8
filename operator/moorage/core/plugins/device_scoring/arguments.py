"""Arguments of DeviceScoring."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator
from typing import Annotated, ClassVar

from annotated_types import Interval, Len

from kubefacts.quantities import QuantityError, nanos
from moorage.core.framework.arguments import ARGUMENTS, FieldErrorType, Violation

MAX_ISLAND_ATTRIBUTES = 4
MAX_KINDS = 128
"""Kinds of requests that demand is made of, told or learnt."""
_Name = Annotated[str, Len(1, 317)]


@dataclasses.dataclass(frozen=True, slots=True)
class ExpectedCapacity:
    """How much of a capacity each device has to have."""

    __pydantic_config__: ClassVar = ARGUMENTS

    name: _Name
    amount: str


@dataclasses.dataclass(frozen=True, slots=True)
class ExpectedRequest:
    """Requests that will come: devices of a class, and the cpu and memory of the pod beside them.
    ``weight``: how many of these there are, beside the others' weights.
    """

    __pydantic_config__: ClassVar = ARGUMENTS

    device_class_name: _Name
    count: Annotated[int, Interval(ge=1, le=32)] = 1
    capacity: Annotated[tuple[ExpectedCapacity, ...], Len(0, 8)] = ()
    cpu: str = "0"
    memory: str = "0"
    weight: Annotated[int, Interval(ge=1, le=1_000_000)] = 1

    def validate(self) -> list[Violation]:
        """Quantities, not negative."""
        texts = [("cpu", self.cpu), ("memory", self.memory)]
        texts += [(f"capacity[{i}].amount", one.amount) for i, one in enumerate(self.capacity)]
        return [Violation(path, text, wrong) for path, text in texts if (wrong := _wrong(text))]


@dataclasses.dataclass(frozen=True, slots=True)
class DeviceScoringArgs:
    """Which devices belong together, and what is going to be asked for.

    ``islands``: attributes of devices by their full names, the tightest first; devices with the
    same value are an island. ``demand``: none means that it is learnt from the pods on nodes.
    """

    __pydantic_config__: ClassVar = ARGUMENTS

    islands: Annotated[tuple[_Name, ...], Len(0, MAX_ISLAND_ATTRIBUTES)] = ()
    demand: Annotated[tuple[ExpectedRequest, ...], Len(0, MAX_KINDS)] = ()

    def __hash__(self) -> int:
        """Asked at each decision, so it does not go through the demand."""
        return len(self.islands) + (MAX_ISLAND_ATTRIBUTES + 1) * len(self.demand)

    def validate(self) -> list[Violation]:
        """Full names of attributes, each once; quantities that can be read."""
        return [*self._island_violations()] + [
            wrong.under(f"demand[{i}]")
            for i, one in enumerate(self.demand)
            for wrong in one.validate()
        ]

    def _island_violations(self) -> Iterator[Violation]:
        for i, name in enumerate(self.islands):
            if "/" not in name:
                yield Violation(
                    f"islands[{i}]", name, "must be a full name, as in example.com/nvlinkDomain"
                )
            elif name in self.islands[:i]:
                yield Violation(f"islands[{i}]", name, "is named twice", FieldErrorType.DUPLICATE)


def _wrong(text: str) -> str:
    try:
        return "" if nanos(text) >= 0 else "must not be negative"
    except QuantityError as error:
        return str(error)
