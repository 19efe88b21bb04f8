"""Arguments of plugins: how their dataclasses look to whoever reads a document into them, and what
they can check themselves.

Types and bounds stand in the annotations; the reader enforces them. Rules that span fields are the
dataclass's own ``validate``. ``ARGUMENTS`` is for a class's ``__pydantic_config__``: core imports
no pydantic, it only says what the documents look like.
"""

from __future__ import annotations

import enum
from collections.abc import Callable, Iterable, Mapping
from typing import Any, NamedTuple, Protocol, runtime_checkable


def camel(name: str) -> str:
    """The field's name in documents: ``ignored_resources`` -> ``ignoredResources``."""
    first, *rest = name.split("_")
    return first + "".join(part.title() for part in rest)


ARGUMENTS: Mapping[str, Any] = {"alias_generator": camel, "extra": "forbid"}


class FieldErrorType(enum.Enum):
    """What kind of fault a field has. Values are Kubernetes' own names of them."""

    INVALID = "FieldValueInvalid"
    REQUIRED = "FieldValueRequired"
    DUPLICATE = "FieldValueDuplicate"
    UNSUPPORTED = "FieldValueNotSupported"
    FORBIDDEN = "FieldValueForbidden"
    MALFORMED = "FieldValueTypeInvalid"
    """Not what the field can hold, or no field at all: the document can't even be read."""


class Violation(NamedTuple):
    """A rule that arguments break: where (``shape[1].score``, relative to the arguments), with what
    value, and what is wrong.
    """

    path: str
    value: object
    message: str
    error_type: FieldErrorType = FieldErrorType.INVALID

    def under(self, path: str) -> Violation:
        """The same, as seen from the field ``path`` that these arguments stand in."""
        return self._replace(path=f"{path}.{self.path}" if self.path else path)


@runtime_checkable
class Validated(Protocol):
    """Arguments with rules that annotations can't say."""

    def validate(self) -> list[Violation]:
        """All violations, in the order of the fields; empty when there are none."""


class TimedTrial(NamedTuple):
    """Something that will be done once per node: how to do it for a made-up one, and how many
    seconds that may take.
    """

    path: str
    value: object
    run: Callable[[], object]
    limit_seconds: float


@runtime_checkable
class TimedArguments(Protocol):
    """Arguments of which nobody can tell how long they will take: whoever reads them tries that, as
    core has no clock.
    """

    def trials(self) -> Iterable[TimedTrial]:
        """What to try, once ``validate`` has nothing to say."""
