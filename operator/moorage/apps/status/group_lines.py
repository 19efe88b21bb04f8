"""Pod groups that wait, as a Status document has them: how many members, why, and whether room is
held for them.
"""

from __future__ import annotations

import datetime
from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import Any

from rich.console import RenderableType

from moorage.apps.printing.amounts import age
from moorage.apps.printing.terminal import Style, new_table, sentence
from moorage.apps.waiting.queue_documents import Document, local_time, reasons_of
from moorage.apps.waiting.queue_rows import member_counts, reason_text, room_text


def groups_document(
    items: Iterable[Mapping[str, Any]], schedulers: Collection[str]
) -> list[Document]:
    """Those of /debug/groups whose members name one of these schedulers, by how long they wait."""
    ours = [_group(one) for one in items if one["profile"] in schedulers]
    return sorted(ours, key=lambda one: (one["since"], one["group"]))


def _group(item: Mapping[str, Any]) -> Document:
    return {
        "group": item["group"],
        "api": item["api"],
        "schedulerName": item["profile"],
        "waiting": item["waiting"],
        "placed": item["placed"],
        "minCount": item["minCount"],
        "since": item["since"],
        "why": item["gateMessage"] or _why(item["messages"]),
        "roomHeldUntil": item["roomHeldUntil"] or None,
    }


def _why(messages: Sequence[str]) -> str:
    """The first that says more than that the group does not fit, else the first."""
    told = [reasons_of(one) for one in messages]
    about_nodes = (one for one in told if one[0]["nodes"] is not None)
    reasons = next(about_nodes, told[0] if told else None)
    return "not tried yet" if reasons is None else reason_text(reasons).rstrip(".")


def groups_table(groups: Sequence[Document], now: datetime.datetime) -> RenderableType:
    """What people read of them."""
    table = new_table("GROUP", "PROFILE", "MEMBERS", "WAITS", "WHY", numbers=("WAITS",), wide="WHY")
    for one in groups:
        since = datetime.datetime.fromisoformat(one["since"])
        until = one["roomHeldUntil"]
        table.add_row(
            sentence(one["group"], Style.NAME),
            sentence(one["schedulerName"]),
            member_counts(one["waiting"], one["minCount"], one["placed"]),
            age(max(0.0, (now - since).total_seconds())),
            sentence(one["why"] + room_text(until and local_time(until)), Style.WAITS),
        )
    return table
