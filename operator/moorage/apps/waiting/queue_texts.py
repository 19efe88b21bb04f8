"""What people read of a Queue document: pods of one owner that wait alike are one row."""

from __future__ import annotations

import datetime
from collections.abc import Iterator, Sequence
from typing import Final

from rich.console import RenderableType

from moorage.apps.printing.amounts import age
from moorage.apps.printing.terminal import Style, new_table, sentence
from moorage.apps.waiting.queue_documents import Document
from moorage.apps.waiting.queue_rows import Row, folded, why

ROWS: Final = 40
"""More are folded."""
_STYLES: Final = {"backoff": Style.WAITS, "unschedulable": Style.WAITS, "gated": Style.DIM}


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


def _table(rows: Sequence[Row], now: datetime.datetime, *, wide: bool) -> RenderableType:
    head = ("#", "POD", "PROFILE", "PRIORITY", "WAITS", "WHY, AND UNTIL WHEN")
    table = new_table(*head, numbers=("#", "PRIORITY", "WAITS"), wide=head[-1])
    for row in rows:
        pod = row.pods[0]
        since = min((one["since"] for one in row.pods if one["since"]), default=None)
        table.add_row(
            row.position,
            sentence(row.name, Style.NAME),
            sentence(pod["schedulerName"]),
            str(pod["priority"]),
            "-" if since is None else _waited(since, now),
            sentence(why(row.pods, wide=wide), _STYLES.get(pod["queue"], "")),
        )
    return table


def _waited(since: str, now: datetime.datetime) -> str:
    return age(max(0.0, (now - datetime.datetime.fromisoformat(since)).total_seconds()))
