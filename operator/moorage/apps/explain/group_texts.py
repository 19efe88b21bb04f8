"""What people read of a pod group, and of a pod that waits with its group."""

from __future__ import annotations

import datetime
from collections.abc import Iterator, Mapping, Sequence
from typing import Final

from rich.console import RenderableType
from rich.table import Table
from rich.text import Text

from moorage.apps.explain import pending_texts, placed_texts
from moorage.apps.explain.explanation_documents import Document
from moorage.apps.printing.amounts import age, counted
from moorage.apps.printing.terminal import Style, new_table, sentence

MOST_MEMBERS: Final = 10
"""Members, and placements, that are shown unless all nodes are asked for."""
_STYLES: Final[Mapping[str, Style]] = {
    "WouldBePlaced": Style.WELL,
    "Placed": Style.WELL,
    "Gated": Style.WAITS,
    "NoMembers": Style.WAITS,
    "NotResolved": Style.WAITS,
}


def group_parts(
    document: Document, now: datetime.datetime, *, all_nodes: bool, all_changes: bool
) -> Iterator[RenderableType]:
    """The parts of the answer, from top to bottom."""
    yield headline(document, now)
    if (group := document["group"]) is None:
        return
    yield sentence(f"  {_about(group)}; {pending_texts.about_source(document)}")
    yield Text()
    yield _members(group["members"], all_nodes)
    if group["topologyKey"] and group["placements"]:
        yield Text()
        yield _placements(group, all_nodes)
    if group["refusals"]:
        yield Text()
        yield sentence(f"{group['refused']}, with those before it on their nodes:")
        yield pending_texts.reasons(group["refusals"], all_nodes)
    if document["verdict"] == "Pending":
        yield from _help(document, all_changes)
    if document["wait"] is not None:
        yield pending_texts.waits(document, now)
    if room := _room(document, now):
        yield sentence(room, Style.WAITS)


def candidate_group_parts(document: Document, *, all_nodes: bool) -> Iterator[RenderableType]:
    """The same of a member under a candidate: what its group would come to there."""
    now, then = document["groupNow"], document["group"]
    yield placed_texts.candidate_headline(document)
    yield sentence(f"  {_about(then)}; now {pending_texts.about_source(document)}")
    for when, group in (("now", now), ("then", then)):
        if group["placements"]:
            yield sentence(f"  {when} {_missing(group)}")
    yield Text()
    yield _members(then["members"], all_nodes)
    refused = " and ".join(dict.fromkeys(filter(None, (now["refused"], then["refused"]))))
    yield from placed_texts.candidate_reasons(
        document, f"{refused}, with those before it on their nodes:"
    )


def headline(document: Document, now: datetime.datetime) -> Text:
    """The answer in one line, of a group or of a pod that waits with it."""
    text = _answer(document, now)
    if document["verdict"] in ("Pending", "WouldBePlaced"):
        text += pending_texts.unheard(document)
    return sentence(text, _STYLES.get(document["verdict"], Style.REFUSED))


def _answer(document: Document, now: datetime.datetime) -> str:
    group, message, pod = document["group"], document["message"], document.get("pod")
    name = pod or f"pod group {document['podGroup']}"
    match document["verdict"]:
        case "WouldBePlaced" if pod:
            return f"{pod} fits with its group: it would go to {document['placement']['node']}."
        case "WouldBePlaced":
            found = [one["node"] for one in group["members"] if one["node"]]
            nodes = counted(len(set(found)), "node")
            return f"{len(found)} of {len(group['members'])} members of {name} fit, on {nodes}."
        case "Placed" if group["present"] == 1:
            return f"The one member of {name} has a node."
        case "Placed":
            return f"All {group['present']} members of {name} have a node."
        case "NoMembers":
            return f"{name} has no members: {message}."
        case "Gated":
            return f"{name} is gated by {message}."
        case "Pending":
            waited = f" Pending for {_waited(document, now)}." if document["created"] else ""
            return f"{f'{pod} waits with its group: ' if pod else ''}{_missing(group)}{waited}"
        case "Error":
            return f"{name} cannot be placed: {message}"
    return f"{name} waits: {message}"


def _missing(group: Document) -> str:
    """How many find a node, how many have to, and why the first does not."""
    placed = sum(one["placed"] for one in group["members"])
    looked_at = group["placements"]
    found = max((one["members"] for one in looked_at if one["tried"]), default=0)
    most = max((one["members"] for one in looked_at), default=0)
    where = f" in one {group['topologyKey']}" if group["topologyKey"] else ""
    where += " at most" if most > found else ""
    text = f"{placed + most} of {group['present']} members of {group['name']} find a node{where}"
    if group["gang"] and not group["begun"]:
        text += f", and {group['minCount']} are needed together"
    reason = next((one["reason"] for one in looked_at if one["reason"]), "")
    return f"{text}. {reason}".rstrip(". ") + "."


def _waited(document: Document, now: datetime.datetime) -> str:
    return age(pending_texts.pending_seconds(document, now))


def _about(group: Document) -> str:
    said = [f"gang of {group['minCount']}" if group["gang"] else "basic group"]
    if group["minCount"] is None:
        said = ["nothing says how many are needed"]
    if group["priority"] is not None:
        said.append(f"priority {group['priority']}")
    if group["topologyKey"]:
        said.append(f"one {group['topologyKey']}")
    there = counted(group["present"], "member is", "members are")
    return f"{', '.join(said)}; {there} here ({group['api']})"


def _members(members: Sequence[Document], every: bool) -> Table:
    """Those that found no node first: it is about them."""
    ordered = sorted(members, key=lambda one: (bool(one["node"]), one["placed"]))
    shown = ordered if every else ordered[:MOST_MEMBERS]
    table = new_table("MEMBER", "NODE", "REASON", wide="REASON")
    for one in shown:
        reason = one["message"] or ("is there" if one["placed"] else "")
        table.add_row(one["pod"], one["node"] or "-", sentence(reason))
    _more(table, len(ordered) - len(shown))
    return table


def _placements(group: Document, every: bool) -> Table:
    """Those that take the most members first."""
    ordered = sorted(group["placements"], key=lambda one: -int(one["members"]))
    shown = ordered if every else ordered[:MOST_MEMBERS]
    table = new_table(
        group["topologyKey"], "MEMBERS", "REASON", numbers=("MEMBERS",), wide="REASON"
    )
    for one in shown:
        table.add_row(one["name"], str(one["members"]), sentence(one["reason"]))
    _more(table, len(ordered) - len(shown))
    return table


def _more(table: Table, number: int) -> None:
    if number:
        table.add_row(Text(f"and {number} more (--nodes all)", style="dim"))


def _help(document: Document, all_changes: bool) -> Iterator[RenderableType]:
    """Changes and preemption."""
    group = document["group"]
    yield Text()
    if group["changes"]:
        yield from pending_texts.changes_parts(group["changes"], all_changes, _effect)
        yield Text()
    else:
        yield sentence("No change of one kind, nor two together, of those tried would help.")
    if group["changesNotTried"]:
        seconds = document["searchedSeconds"]
        yield sentence(pending_texts.untried(group["changesNotTried"], seconds))
    yield _preemption(group["preemption"])


def _room(document: Document, now: datetime.datetime) -> str:
    """Whether room is held for the group, and until when: this only the queue knows."""
    nodes = dict.fromkeys(one["node"] for one in document["group"]["roomHeldOn"])
    until = pending_texts.clock((document["wait"] or {}).get("roomHeldUntil"), now)
    if not nodes and not until:
        return ""
    on = f" on {', '.join(nodes)}" if nodes else ""
    return f"Room is held for the group{on}{f', until {until} at the latest' if until else ''}."


def _effect(suggestion: Document) -> str:
    return f"the group fits, on {counted(suggestion['fits'], 'node')}"


def _preemption(found: Document) -> Text:
    if not found["helps"]:
        why = found["message"].rpartition("preemption: ")[2]
        return sentence(f"Preemption does not help{f': {why}' if why else '.'}")
    victims = ", ".join(found["victims"]) or "nobody"
    nodes = ", ".join(dict.fromkeys(one["node"] for one in found["nodes"]))
    text = f"Preemption would help: it would hit {victims}; members would go to {nodes}."
    return sentence(text, Style.WAITS)
