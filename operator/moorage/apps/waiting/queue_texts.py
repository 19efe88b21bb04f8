"""What people read of a Queue document: pods of one owner that wait alike are one row."""

from __future__ import annotations

import dataclasses
import datetime
import itertools
from collections.abc import Iterable, Iterator, Sequence
from typing import Final

from rich.console import RenderableType

from moorage.apps.printing.amounts import age, counted
from moorage.apps.printing.terminal import Style, new_table, sentence
from moorage.apps.waiting.queue_documents import Document, local_time

ROWS: Final = 40
"""More are folded."""
REASONS: Final = 2
_STYLES: Final = {"backoff": Style.WAITS, "unschedulable": Style.WAITS, "gated": Style.DIM}


@dataclasses.dataclass(slots=True)
class Row:
    """Pods that are alike, in their order."""

    pods: list[Document]
    key: tuple[object, ...]

    @property
    def position(self) -> str:
        first, last = self.pods[0]["position"], self.pods[-1]["position"]
        if first is None:
            return "-"
        return str(first) if first == last else f"{first}-{last}"

    @property
    def name(self) -> str:
        """The pod, or its owner with how many pods these are."""
        pod = self.pods[0]
        if len(self.pods) == 1:
            return str(pod["pod"])
        namespace = pod["pod"].partition("/")[0]
        owner = pod["owner"].partition("/")[2]
        return f"{namespace}/{owner} ({len(self.pods)} pods)"


def queue_parts(queue: Document, *, wide: bool = False) -> Iterator[RenderableType]:
    """The answer, the rows, and what was left out."""
    yield sentence(queue["answer"])
    rows = [Row([pod], ()) for pod in queue["pods"]] if wide else folded(queue["pods"])
    shown = rows if wide else rows[:ROWS]
    if shown:
        yield _table(shown, datetime.datetime.fromisoformat(queue["at"]), wide=wide)
    if more := sum(len(row.pods) for row in rows[len(shown) :]):
        yield sentence(f"and {more:,} more pods (-o wide)", Style.DIM)
    yield from (sentence(f"Left out: {text}", Style.DIM) for text in queue["leftOut"])


def folded(pods: Iterable[Document]) -> list[Row]:
    """Rows: in the order of the queue only neighbours are joined, of the others all that are
    alike.
    """
    rows: list[Row] = []
    unordered: dict[tuple[object, ...], Row] = {}
    for pod in pods:
        key = _key(pod)
        last = rows[-1] if rows else None
        if pod["position"] is not None and last is not None and last.key == key:
            last.pods.append(pod)
        elif pod["position"] is None and key in unordered:
            unordered[key].pods.append(pod)
        else:
            rows.append(Row([pod], key))
            unordered[key] = rows[-1]
    return rows


def _key(pod: Document) -> tuple[object, ...]:
    """What pods of one row have in common. Counts of nodes differ from attempt to attempt."""
    owner = (pod["pod"].partition("/")[0], pod["owner"]) if pod["owner"] else pod["pod"]
    reasons = frozenset(one["reason"] for one in pod["reasons"])
    return owner, pod["profile"], pod["queue"], pod["priority"], pod["gate"], reasons


def _table(rows: Sequence[Row], now: datetime.datetime, *, wide: bool) -> RenderableType:
    head = ("#", "POD", "PROFILE", "PRIORITY", "WAITS", "WHY, AND UNTIL WHEN")
    table = new_table(*head, numbers=("#", "PRIORITY", "WAITS"), wide=head[-1])
    for row in rows:
        pod = row.pods[0]
        since = min((one["since"] for one in row.pods if one["since"]), default=None)
        table.add_row(
            row.position,
            sentence(row.name, Style.NAME),
            sentence(pod["profile"]),
            str(pod["priority"]),
            "-" if since is None else _waited(since, now),
            sentence(why(row.pods, wide=wide), _STYLES.get(pod["queue"], "")),
        )
    return table


def _waited(since: str, now: datetime.datetime) -> str:
    return age(max(0.0, (now - datetime.datetime.fromisoformat(since)).total_seconds()))


def why(pods: Sequence[Document], *, wide: bool = False) -> str:
    """What these pods wait for, and until when at most."""
    pod = pods[0]
    until = max((one["until"] for one in pods if one["until"]), default=None)
    at = "" if until is None else local_time(until)
    match pod["queue"]:
        case "inFlight":
            text = "being placed"
        case "active":
            text = "next" if pod["position"] else "not tried yet"
        case "backoff":
            text = f"backoff until {at} ({counted(pod['attempts'], 'attempt')})"
        case "unschedulable":
            latest = f"; until something changes, {at} at the latest" if at else ""
            text = f"{_reasons(pod)}{latest}"
        case "gated":
            text = pod["groupMessage"] or f"gate {pod['gate']}"
        case _:
            text = f"no profile serves {pod['profile']} now"
    nominated = f"; nominated to {pod['nominatedNode']}" if pod["nominatedNode"] else ""
    wakes = f"; wakes on {', '.join(pod['wakesOn'])}" if wide and pod["wakesOn"] else ""
    return f"{text}{nominated}{wakes}"


def _reasons(pod: Document) -> str:
    found = pod["reasons"]
    if not found:
        return "no node"
    texts = [
        one["reason"] if one["nodes"] is None else f"{one['nodes']} {one['reason']}"
        for one in itertools.islice(found, REASONS)
    ]
    more = len(found) - len(texts)
    return ", ".join(texts) + (f" and {more} more" if more else "")
