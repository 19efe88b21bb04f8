"""Arguments of DynamicResources."""

from __future__ import annotations

import dataclasses
from typing import ClassVar

from kubefacts.durations import parse_signed, text_of
from moorage.core.framework.arguments import ARGUMENTS, FieldErrorType, Violation


@dataclasses.dataclass(frozen=True, slots=True)
class DynamicResourcesArgs:
    """How long to search for devices on one node (own time of the search; 0s: as long as it
    takes), and how long to wait for devices to become usable.
    """

    __pydantic_config__: ClassVar = ARGUMENTS

    filter_timeout: str | None = "10s"
    binding_timeout: str | None = "10m0s"

    def __post_init__(self) -> None:
        """Write durations as Kubernetes does; one that can't be read stays for ``validate``."""
        for field, default in (("filter_timeout", "10s"), ("binding_timeout", "10m0s")):
            object.__setattr__(self, field, _normal(getattr(self, field) or default))

    def validate(self) -> list[Violation]:
        """Durations, not negative; the second at least one second."""
        found: list[Violation] = []
        for path, text, least, bound in (
            ("filterTimeout", self.filter_timeout, 0.0, "zero or positive"),
            ("bindingTimeout", self.binding_timeout, 1.0, "at least 1 second"),
        ):
            try:
                if parse_signed(text) < least:
                    found.append(Violation(path, text, f"must be {bound}"))
            except ValueError as error:
                found.append(Violation(path, text, str(error), FieldErrorType.MALFORMED))
        return found

    @property
    def search_seconds(self) -> float:
        """How long a search on one node may take, 0 for as long as it takes."""
        return parse_signed(self.filter_timeout)


def _normal(text: str) -> str:
    try:
        return text_of(parse_signed(text))
    except ValueError:
        return text
