"""What the families share: looking into bodies, and the rules that many kinds have."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any, Final

from kubefacts import names, quantities
from towtank.model.api_errors import ApiError, StatusCause, forbidden, undecodable
from towtank.model.kinds import Body

IMMUTABLE: Final = "field is immutable"
AT_LEAST_ZERO: Final = "must be greater than or equal to 0"
_PORTS: Final = range(1, 65536)


def at(body: Any, path: str) -> Any:
    """What stands at a path with dots, or None."""
    for key in path.split("."):
        if not isinstance(body, dict):
            return None
        body = body.get(key)
    return body


def indexed(items: Iterable[Any] | None, path: str) -> Iterator[tuple[Any, str]]:
    """The items of a list, each with its path."""
    return ((item, f"{path}[{index}]") for index, item in enumerate(items or ()))


def fill(body: Body, values: Mapping[str, Any]) -> None:
    """Set what is not there."""
    for key, value in values.items():
        if body.get(key) is None:
            body[key] = value


def read_quantities(kind: str, *lists: Body | None) -> None:
    """Write quantities the one way in which they are stored. Raises ApiError for what is none, as
    decoding does.
    """
    for resources in lists:
        for name, text in (resources or {}).items():
            try:
                resources[name] = quantities.canonical(text, finest=-3)  # type: ignore[index]  # it has items
            except quantities.QuantityError as error:
                raise undecodable(kind, "v1", kind, error.problem) from error


def pod_refused(pod: Body, why: str) -> ApiError:
    """The answer where admission does not take a new pod."""
    return forbidden("pods", "", pod["metadata"].get("name") or "", why)


def invalid(field: str, value: object, texts: Sequence[str]) -> Iterator[StatusCause]:
    """A cause for each text."""
    return (StatusCause.invalid(field, value, text) for text in texts)


def named(
    name: str, field: str, rule: Callable[[str], Sequence[str]], unsaid: str = ""
) -> Iterator[StatusCause]:
    """A name that has to be there and to keep to a rule."""
    if not name:
        yield StatusCause.required(field, unsaid)
    else:
        yield from invalid(field, name, rule(name))


def one_of(value: object, supported: Sequence[str], field: str) -> Iterator[StatusCause]:
    """An enumeration's value; nothing there is no fault."""
    if value is not None and value not in supported:
        yield StatusCause.unsupported(field, value, supported)


def at_least_zero(body: Any, *paths: str) -> Iterator[StatusCause]:
    """Numbers that may not be negative."""
    for path in paths:
        value = at(body, path)
        if isinstance(value, int) and value < 0:
            yield StatusCause.invalid(path, value, AT_LEAST_ZERO)


def port(value: object, field: str) -> Iterator[StatusCause]:
    """A port by number."""
    if value not in _PORTS:
        yield StatusCause.invalid(field, value, "must be between 1 and 65535, inclusive")


def condition_causes(conditions: Iterable[Body] | None, path: str) -> Iterator[StatusCause]:
    """metav1.Conditions: each has a type, a status, a time and a reason."""
    for condition, where in indexed(conditions, path):
        yield from named(condition.get("type") or "", f"{where}.type", names.qualified_name)
        status = condition.get("status") or ""
        if not status:
            yield StatusCause.required(f"{where}.status")
        yield from one_of(status or None, ("False", "True", "Unknown"), f"{where}.status")
        for field in ("lastTransitionTime", "reason"):
            if not condition.get(field):
                yield StatusCause.required(f"{where}.{field}")


def unchanged(
    new: Body, old: Body, *paths: str, shown: bool = True, within: str = ""
) -> Iterator[StatusCause]:
    """Fields that stay as they were when the object was made; their new values are told where they
    are ``shown``. The objects stand at ``within``, a path that ends with a dot.
    """
    for path in paths:
        if at(new, path) != at(old, path):
            value = at(new, path) if shown else None
            yield StatusCause.invalid(f"{within}{path}", value, IMMUTABLE)


def unique(values: Iterable[tuple[object, str]]) -> Iterator[StatusCause]:
    """Values that may be there once each, with their fields."""
    seen = set()
    for value, field in values:
        if value in seen:
            yield StatusCause.duplicate(field, value)
        seen.add(value)
