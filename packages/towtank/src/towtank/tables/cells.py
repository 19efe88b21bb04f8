"""What the tables of all kinds are made of: columns written in a line, and cells that many kinds
have.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, NamedTuple, TypeAlias

from kubefacts import labels, selector_texts
from towtank.model import conditions
from towtank.model.kinds import Body, TableColumn
from towtank.tables.ages import Age

Cells: TypeAlias = list[Any]
NONE = "<none>"
UNSET = "<unset>"
_ACCESS_MODES = {
    "ReadWriteOnce": "RWO",
    "ReadOnlyMany": "ROX",
    "ReadWriteMany": "RWX",
    "ReadWriteOncePod": "RWOP",
}


class KindPrinter(NamedTuple):
    """How one kind is shown."""

    columns: Sequence[TableColumn]
    cells: Callable[[Body, Age], Cells]


def columns(line: str) -> tuple[TableColumn, ...]:
    """``Name, Desired:integer, Images*``: type and format stand behind colons where they differ; a
    star is for what -o wide adds.
    """
    return tuple(_column(part.strip()) for part in line.split(","))


def _column(part: str) -> TableColumn:
    title, _, rest = part.removesuffix("*").partition(":")
    kind, _, form = rest.partition(":")
    if title == "Name":
        form = "name"
    return TableColumn(
        title, kind or "string", form, description=title, priority=1 if part.endswith("*") else 0
    )


def name_and_age(body: Body, age: Age) -> Cells:
    """Of kinds that show nothing else."""
    return [name(body), created(body, age)]


def name(body: Body) -> str:
    """The first cell; a bookmark's object has no name."""
    return str(body["metadata"].get("name", ""))


def created(body: Body, age: Age) -> str:
    """The age for a table's cell."""
    return age(body["metadata"].get("creationTimestamp"))


def spec(body: Body) -> Mapping[str, Any]:
    """May be missing in a bookmark's object."""
    return body.get("spec") or {}


def status(body: Body) -> Mapping[str, Any]:
    """May be missing in all objects that nobody has written a status of."""
    return body.get("status") or {}


def condition(body: Body, kind: str) -> str | None:
    """The status of a condition, or None when there is no such condition."""
    return conditions.find(body, kind).get("status")


def deleted(body: Body) -> bool:
    """Whether the deletion has begun."""
    return bool(body["metadata"].get("deletionTimestamp"))


def containers(pod_spec: Mapping[str, Any]) -> tuple[str, str]:
    """The names and images of a pod's containers."""
    found = pod_spec.get("containers") or ()
    return ",".join(each.get("name", "") for each in found), ",".join(
        each.get("image", "") for each in found
    )


def label_text(given: Mapping[str, str] | None) -> str:
    """Labels, or a selector that is just labels."""
    return ",".join(f"{key}={value}" for key, value in sorted((given or {}).items())) or NONE


def selector_text(selector: Mapping[str, Any] | None) -> str:
    """A metav1.LabelSelector as one would type it; "" for one that is missing or empty."""
    return selector_texts.selector_text(labels.from_body(selector))


def access_modes(modes: Iterable[str] | None) -> str:
    """In the order that is usual, not in the object's."""
    given = set(modes or ())
    return ",".join(short for mode, short in _ACCESS_MODES.items() if mode in given)


def some(texts: Sequence[str], whole: int = 3, empty: str = UNSET) -> str:
    """The first few of many."""
    more = f" + {len(texts) - whole} more..." if len(texts) > whole else ""
    return ",".join(texts[:whole]) + more or empty
