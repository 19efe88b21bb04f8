"""The table: state in, something that rich can render out. Pure."""

from __future__ import annotations

import datetime
from collections.abc import Iterator, Sequence

from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from moorage.apps.demo.cluster_state import (
    ClusterState,
    DecisionRow,
    NodeUse,
    ProfileRow,
    ReplicaRow,
)
from moorage.apps.printing.terminal import new_table

MAX_NODES, MAX_DECISIONS = 12, 6
FEWEST = 3
"""Rows of either, however low the terminal is."""
_OTHER_LINES = 9
"""The replicas, three headings, what is empty, and the cursor's."""
BAR_CHARACTERS = 16
"""Characters."""
MAX_TEXT_CHARACTERS = 45
"""Characters, for the reason of a refusal."""


def render(state: ClusterState, now: datetime.datetime, height: int) -> RenderableType:
    """Replicas, profiles, nodes, and what was decided last, in as many lines as the terminal
    has.
    """
    problems = [f"{one.name}: {one.problem}" for one in state.profiles if one.problem]
    if state.strangers:
        text = "pods whose schedulerName is no profile's, which nobody places"
        problems.append(f"{text}: {state.strangers}")
    room = height - len(state.profiles) - len(problems) - _OTHER_LINES
    decisions = state.decisions[: min(MAX_DECISIONS, max(FEWEST, room // 2))]
    nodes = _nodes(state.nodes, min(MAX_NODES, max(FEWEST, room - len(decisions))))
    parts = (
        _replicas(state.replicas),
        _profiles(state, problems),
        nodes,
        _decisions(decisions, state, now),
    )
    return Group(*(each for part in parts for each in (part, Text())))


def _replicas(replicas: Sequence[ReplicaRow]) -> Text:
    line = Text("replicas  ", style="dim")
    for replica in replicas:
        if replica.pid is None:
            line.append(f"{replica.name} (dead, comes back)  ", style="not dim red")
        else:
            style = "not dim bold green" if replica.leads else "not dim"
            line.append(
                f"{replica.name} (process {replica.pid}{', leads' if replica.leads else ''})  ",
                style=style,
            )
    return line


def _profiles(state: ClusterState, problems: Sequence[str]) -> Group:
    numbers = ("GENERATION", "PODS", "WAITING", "REFUSED")
    table = new_table(
        "PROFILE", "READY", "GENERATION", "REVISION", "PODS", "WAITING", "REFUSED", numbers=numbers
    )
    for profile in state.profiles:
        pods = state.places.get(profile.name, {})
        table.add_row(
            Text(profile.name, style="bold"),
            Text("yes", style="green") if profile.ready else Text("no", style="bold red"),
            str(profile.generation),
            short(profile.revision),
            str(sum(map(bool, pods.values()))),
            *_waiting(profile),
        )
    lines = (Text(each, style="red", no_wrap=True, overflow="ellipsis") for each in problems)
    return Group(table, *lines)


def _waiting(profile: ProfileRow) -> Iterator[Text]:
    for count in (profile.waiting, profile.unschedulable):
        yield Text(str(count), style="yellow" if count else "")


def _nodes(nodes: Sequence[NodeUse], most: int) -> Table:
    table = new_table("NODE", "ZONE", "CPU", "MEMORY", "PODS", numbers=("PODS",))
    shown, others = pick(nodes, most)
    for node in shown:
        name = Text(node.name).append(f" ({node.closed})" if node.closed else "", style="yellow")
        table.add_row(name, node.zone, bar(node.cpu), bar(node.memory), str(node.pods))
    if others:
        cpu, memory = (
            sum(shares) / len(others)
            for shares in zip(*((node.cpu, node.memory) for node in others), strict=True)
        )
        pods = sum(node.pods for node in others)
        more = Text(f"and {len(others)} more", style="dim")
        table.add_row(more, "", bar(cpu), bar(memory), str(pods), style="dim")
    return table


def pick(nodes: Sequence[NodeUse], most: int) -> tuple[list[NodeUse], list[NodeUse]]:
    """The nodes that have a row of their own, by zone, or the fullest first where there are too
    many; and the others.
    """
    if len(nodes) <= most:
        return sorted(nodes, key=lambda node: (node.zone, node.name)), []
    fullest = sorted(nodes, key=lambda node: (-max(node.cpu, node.memory), node.zone, node.name))
    return fullest[: most - 1], fullest[most - 1 :]


def bar(share: float) -> Text:
    """How full something is."""
    full = min(BAR_CHARACTERS, round(share * BAR_CHARACTERS))
    style = "red" if share > 0.9 else "yellow" if share > 0.7 else "green"
    return (
        Text("█" * full, style=style)
        .append("░" * (BAR_CHARACTERS - full), style="dim")
        .append(f" {share:4.0%}", style="default")
    )


def _decisions(
    decisions: Sequence[DecisionRow], state: ClusterState, now: datetime.datetime
) -> Table:
    table = new_table("DECIDED", "POD", "NODE", "PROFILE", "REVISION")
    for decision in decisions:
        node = Text(outcome(decision, state), style="" if decision.node else "yellow")
        table.add_row(
            age(now - decision.at), decision.pod, node, decision.profile, short(decision.revision)
        )
    return table


def outcome(decision: DecisionRow, state: ClusterState) -> str:
    """The node that a pod got; or that there is none, or that it failed, and why when that is
    known.
    """
    if decision.node:
        return decision.node
    failed = state.failed.get(decision.pod, "")
    what, why = (
        ("failed", failed) if failed else ("none will do", state.refused.get(decision.pod, ""))
    )
    return (
        (
            f"{what}: "
            f"{why if len(why) <= MAX_TEXT_CHARACTERS else why[: MAX_TEXT_CHARACTERS - 1] + '…'}"
        )
        if why
        else what
    )


def age(passed: datetime.timedelta) -> str:
    """As people say it."""
    seconds = max(0, int(passed.total_seconds()))
    return f"{seconds} s ago" if seconds < 120 else f"{seconds // 60} min ago"


def short(revision: str) -> str:
    """Enough of a revision's name to tell it from others."""
    return revision[:8] or "-"
