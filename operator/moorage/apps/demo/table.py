"""The board's tables: state in, something that rich can render out. Pure."""

from __future__ import annotations

import dataclasses
import datetime
from collections.abc import Iterator, Mapping, Sequence

from rich.console import Group, RenderableType
from rich.padding import Padding
from rich.table import Table
from rich.text import Text

from moorage.apps.demo import happenings
from moorage.apps.demo.cluster_state import ClusterState, NodeUse, ProfileRow, ReplicaRow
from moorage.apps.printing.terminal import Style, new_table

BAR_CHARACTERS = 10
_FULL, _EMPTY = "█░"
_FULL_ASCII, _EMPTY_ASCII = "#."


@dataclasses.dataclass(frozen=True, slots=True)
class Look:
    """What a terminal is like: whether it has letters alone, and little width."""

    ascii_only: bool = False
    narrow: bool = False

    def columns(self, table: Sequence[str], spared: Sequence[str]) -> list[str]:
        """Those of a table; some are spared where there is little width."""
        return [one for one in table if not (self.narrow and one in spared)]


USUAL = Look()


def replicas(rows: Sequence[ReplicaRow]) -> Text:
    """Who leads, who stands by, and who is dead."""
    said = [
        Text(f"{one.name} leads", "bold green")
        if one.leads
        else Text(f"{one.name} stands by")
        if one.pid is not None
        else Text(f"{one.name} is dead, comes back", Style.REFUSED)
        for one in sorted(rows, key=lambda one: (not one.leads, one.pid is None, one.name))
    ]
    if rows and not any(one.leads for one in rows):
        said.insert(0, Text("nobody leads", "bold red"))
    return Text(", ").join(said)


def profiles(state: ClusterState, well: int, look: Look = USUAL) -> RenderableType:
    """The profiles, below each its problem, whole; of those that are well so many."""
    bad = [one for one in state.profiles if not one.ready]
    good = [one for one in state.profiles if one.ready]
    numbers = ("PLACED", "WAIT", "GATED")
    columns = look.columns(("PROFILE", "READY", "REVISION", *numbers), ("REVISION",))
    shown = [(_profile(one, state), one.problem) for one in (*bad, *good[:well])]
    widths = {
        column: max(len(column), *(row[column].cell_len for row, _ in shown), 0)
        for column in columns
    }
    parts: list[RenderableType] = []
    for row, problem in [({one: Text(one, "dim") for one in columns}, ""), *shown]:
        line = new_table(*columns, numbers=numbers)  # alone, as its problem has all of the width
        line.show_header = False
        for column in line.columns:
            column.width = widths[str(column.header)]
        line.add_row(*(row[column] for column in columns))
        parts.append(line)
        if problem:
            parts.append(Padding(Text(problem, Style.REFUSED), (0, 0, 0, 2)))
    more = Text(f"and {len(good) - well} more that are well", Style.DIM)
    return Group(*parts, *_strangers(state), *([more] if len(good) > well else []))


def _profile(profile: ProfileRow, state: ClusterState) -> Mapping[str, Text]:
    waiting = profile.waiting + profile.unschedulable
    placed = sum(map(bool, state.places.get(profile.name, {}).values()))
    return {
        "PROFILE": Text(profile.name, Style.NAME),
        "READY": Text("yes", Style.WELL) if profile.ready else Text("no", "bold red"),
        "REVISION": Text(short(profile.revision)),
        "PLACED": Text(str(placed)),
        "WAIT": Text(str(waiting), Style.WAITS if waiting else ""),
        "GATED": Text(str(profile.gated), Style.DIM),
    }


def _strangers(state: ClusterState) -> Iterator[Text]:
    if state.strangers:
        text = "pods whose schedulerName is no profile's, which nobody places"
        yield Text(f"{text}: {state.strangers}", Style.REFUSED)


def nodes(rows: Sequence[NodeUse], most: int, look: Look = USUAL) -> Table:
    """So many of the nodes, and the others in one row."""
    columns = look.columns(("NODE", "ZONE", "CPU", "MEMORY", "PODS"), ("ZONE", "MEMORY"))
    table = new_table(*columns, numbers=("PODS",), wide="NODE")
    shown, others = pick(rows, most)
    for row in [*shown, *([_together(others)] if others else [])]:
        name = Text(row.name).append(f" ({row.closed})" if row.closed else "", Style.WAITS)
        cells = {
            "NODE": name,
            "ZONE": Text(row.zone),
            "CPU": bar(row.cpu, ascii_only=look.ascii_only),
            "MEMORY": bar(row.memory, ascii_only=look.ascii_only),
            "PODS": Text(str(row.pods)),
        }
        table.add_row(*(cells[column] for column in columns))
    return table


def _together(nodes: Sequence[NodeUse]) -> NodeUse:
    """How full they are on average, and all their pods."""
    cpu, memory = (
        sum(shares) / len(nodes)
        for shares in zip(*((node.cpu, node.memory) for node in nodes), strict=True)
    )
    return NodeUse(f"and {len(nodes)} more", "", cpu, memory, sum(node.pods for node in nodes))


def pick(nodes: Sequence[NodeUse], most: int) -> tuple[list[NodeUse], list[NodeUse]]:
    """The nodes that have a row of their own, by zone, or the fullest first where there are too
    many; and the others.
    """
    if len(nodes) <= most:
        return sorted(nodes, key=lambda node: (node.zone, node.name)), []
    fullest = sorted(nodes, key=lambda node: (-max(node.cpu, node.memory), node.zone, node.name))
    return fullest[: most - 1], fullest[most - 1 :]


def bar(share: float, *, ascii_only: bool = False) -> Text:
    """How full something is."""
    full, empty = (_FULL_ASCII, _EMPTY_ASCII) if ascii_only else (_FULL, _EMPTY)
    number = min(BAR_CHARACTERS, round(share * BAR_CHARACTERS))
    style = "red" if share > 0.9 else "yellow" if share > 0.7 else "green"
    return (
        Text(full * number, style=style)
        .append(empty * (BAR_CHARACTERS - number), style="dim")
        .append(f" {share:5.0%}", style="default")
    )


def happened(state: ClusterState, now: datetime.datetime, most: int, look: Look = USUAL) -> Table:
    """What happened last, in so many rows; reasons break their lines."""
    columns = look.columns(("WHEN", "POD", "NODE", "PROFILE"), ("PROFILE",))
    table = new_table(*columns, wide="NODE")
    for row in happenings.newest(state, most):
        style = "" if row.placed else Style.WAITS if row.profile else Style.DIM
        cells = (age(now - row.at), row.name, Text(row.text, style), row.profile)
        table.add_row(*cells[: len(columns)])
    return table


def age(passed: datetime.timedelta) -> str:
    """As people say it."""
    seconds = max(0, int(passed.total_seconds()))
    return f"{seconds} s" if seconds < 120 else f"{seconds // 60} min"


def short(revision: str) -> str:
    """Enough of a revision's name to tell it from others."""
    return revision[:8] or "-"
