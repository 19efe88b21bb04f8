"""What people read of a pod that is pending."""

from __future__ import annotations

import datetime
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any

from rich.console import RenderableType
from rich.table import Table
from rich.text import Text

from kubefacts.quantities import milli_value, value
from moorage.apps.explain.explanation_documents import Document
from moorage.apps.printing.amounts import age, counted, rounded_quantity
from moorage.apps.printing.terminal import Style, new_table, sentence
from moorage.core.pods.requests import MAX_AMOUNT

MOST_CHANGES = 5
"""Changes that are shown, unless all are asked for."""
_NAMED = 2
"""Nodes that are named in a reason, unless all are asked for."""
_VERBS: Mapping[tuple[str, str], str] = {
    ("Node", "Add"): "comes",
    ("Node", "Delete"): "goes",
    ("Pod", "Add"): "comes",
    ("Pod", "Delete"): "leaves a node",
}
_QUEUES: Mapping[str, str] = {
    "active": "Its turn comes next, in the active queue",
    "backoff": "Waits in backoff",
    "unschedulable": "Waits in the unschedulable queue",
    "gated": "Is kept out of the queue",
    "inFlight": "Is being tried now",
    "unserved": "Waits for its profile",
}


def pending_parts(
    document: Document, now: datetime.datetime, *, all_nodes: bool, all_changes: bool
) -> Iterator[RenderableType]:
    """The parts of the answer, from top to bottom."""
    yield headline(document, now)
    yield sentence(f"  {_asks(document)}; {about_source(document)}")
    if document["refusals"]:
        yield Text()
        yield reasons(document["refusals"], all_nodes)
    if document["changes"]:
        yield Text()
        yield from changes_parts(document["changes"], all_changes, _effect)
    if document["verdict"] == "Gated" and document["wait"] is not None:
        yield waits(document, now)
    if document["verdict"] == "Pending":
        yield Text()
        if not document["changes"]:
            yield sentence("No change of one kind, nor two together, of those tried would help.")
        if document.get("changesNotTried"):
            yield sentence(untried(document["changesNotTried"], document["searchedSeconds"]))
        yield _preemption(document["preemption"])
        yield waits(document, now)


def about_source(document: Document) -> str:
    """Which revision, and from where the state is."""
    profile = f"profile {document['schedulerName']} {document['revision'][:8]}".rstrip()
    if document.get("foreign"):
        profile = f"{document['schedulerName']} is not ours: as preset Default has it"
    return f"{profile}; from {document['source']}"


def unheard(document: Document) -> str:
    """Ends a headline: those who could say otherwise, and were not asked; "" where all were."""
    strange = ", ".join(document.get("notAsked", ()))
    return f" Not asked: {strange}." if strange else ""


def headline(document: Document, now: datetime.datetime) -> Text:
    """The answer in one line."""
    name = document["pod"]
    match document["verdict"]:
        case "WouldBePlaced":
            return _fits(document)
        case "Gated":
            return sentence(f"{name} is gated by {document['message']}.", Style.WAITS)
        case "Pending":
            return sentence(f"{_no_node(document, now)}{unheard(document)}", Style.REFUSED)
    return sentence(f"{name} cannot be placed: {document['message']}", Style.REFUSED)


def _fits(document: Document) -> Text:
    where, unasked = f"it would go to {document['placement']['node']}", unheard(document)
    far = " as far as was asked" if unasked else ""
    style = Style.WAITS if unasked else Style.WELL
    return sentence(f"{document['pod']} fits{far}: {where}.{unasked}", style)


def _no_node(document: Document, now: datetime.datetime) -> str:
    nodes, attempts = document["nodes"], (document["wait"] or {}).get("attempts")
    none = "The only node does not take" if nodes == 1 else f"None of {nodes} nodes takes"
    text = f"{none} {document['pod']}" if nodes else "There is no node"
    near = (_nearest(group, _NAMED, named=True) for group in document["refusals"])
    if first := next(filter(None, near), ""):
        text += f"; {first}"
    waited = f" Pending for {age(pending_seconds(document, now))}" if document["created"] else ""
    if waited and attempts:
        waited += f", {attempts} attempt{'s' if attempts > 1 else ''}"
    return f"{text}.{waited}{'.' if waited else ''}"


def pending_seconds(document: Document, now: datetime.datetime) -> float:
    """How long the pod is there."""
    created = datetime.datetime.fromisoformat(document["created"])
    return max(0.0, (now - created).total_seconds())


def _asks(document: Document) -> str:
    asked = [f"{name} {_shown(name, amount, 'down')}" for name, amount in document["asks"].items()]
    return f"asks {', '.join(asked)}" if asked else "asks for no resources"


def _shown(resource: str, quantity: str, towards: Any) -> str:
    read = milli_value if resource == "cpu" else value
    amount = read(quantity)
    beyond = "over " if amount >= MAX_AMOUNT else ""  # more than that is not counted
    return f"{beyond}{rounded_quantity(resource, amount, towards)}"


# ---- reasons -------------------------------------------------------------------------------------


def reasons(groups: Sequence[Document], all_nodes: bool) -> Table:
    table = new_table("NODES", "PLUGIN", "REASON", numbers=("NODES",), wide="REASON")
    for group in groups:
        most = len(group["nearest"]) if all_nodes else _NAMED
        reason = sentence(_reason(group, most))
        table.add_row(str(group["nodes"]), sentence(group["plugin"]), reason)
    return table


def _reason(group: Document, most: int) -> str:
    """The plugin's reason, with what all of the nearest nodes have in common, or else what each
    lacks.
    """
    reason = ", ".join(one.removeprefix("node(s) ") for one in group["reasons"])
    said = {", ".join(node["details"]) for node in group["nearest"]}
    if len(said) == 1 and (common := next(iter(said))):
        return f"{reason}: {common}"
    nearest = _nearest(group, most)
    return f"{reason}; {nearest}" if nearest else reason


def _nearest(group: Document, most: int, *, named: bool = False) -> str:
    """``nearest a, b lack 1; c lacks 2``: nodes that lack the same, in one. ``named``: with the
    resource, where the reason does not say it.
    """
    alike: dict[str, list[str]] = {}
    named = named or len(group["reasons"]) > 1
    for node in group["nearest"][:most]:
        if lacks := _lacks(node, named):
            alike.setdefault(lacks, []).append(node["node"])
    said = [
        f"{', '.join(names)} {lacks if len(names) == 1 else lacks.replace('lacks', 'lack', 1)}"
        for lacks, names in alike.items()
    ]
    return f"nearest {'; '.join(said)}" if said else ""


def _lacks(node: Document, named: bool) -> str:
    """``lacks cpu 1 and memory 2Gi``, or what else is in the way."""
    amounts = [
        f"{f'{name} ' if named else ''}{_shown(name, amount, 'up')}"
        for name, amount in node["lacks"].items()
    ]
    parts = [f"lacks {' and '.join(amounts)}"] if amounts else []
    if node["heldFor"]:
        parts.append(f"keeps room for {', '.join(node['heldFor'])}")
    if node["details"]:
        parts.append(f"({', '.join(node['details'])})")
    return " ".join(parts)


# ---- changes -------------------------------------------------------------------------------------


def changes_parts(
    changes: Sequence[Document], all_changes: bool, effect: Callable[[Document], str]
) -> Iterator[RenderableType]:
    """``effect``: what comes of one of them."""
    pairs = len(changes[0]["changes"]) > 1
    how = "each tried by deciding again; no smaller change of its kind does"
    if pairs:
        yield sentence(f"No single change helps; two together do ({how}):")
    else:
        yield Text("WOULD HELP", style="dim").append(f" ({how})")
    table = new_table("KIND", "CHANGE", "EFFECT", wide="EFFECT")
    table.show_header = False
    shown = changes if all_changes else changes[:MOST_CHANGES]
    for suggestion in shown:
        kinds, texts, effects = zip(
            *((one["kind"], one["text"], one["effect"]) for one in suggestion["changes"]),
            strict=True,
        )
        told = filter(None, (*effects, effect(suggestion)))
        table.add_row(
            f"  {' + '.join(kinds)}", sentence(" + ".join(texts)), sentence(", ".join(told))
        )
    yield table
    if len(shown) < len(changes):
        yield Text(f"  and {len(changes) - len(shown)} more (--changes all)", style="dim")


def untried(number: int, seconds: float) -> str:
    """How far the search came."""
    changes = counted(number, "change was", "changes were")
    return f"Stopped after {seconds:g} s; {changes} not tried."


def _effect(suggestion: Document) -> str:
    if any(one["kind"] == "add nodes" for one in suggestion["changes"]):
        return ""
    if suggestion["fits"] == 1:
        return f"fits {suggestion['node']}"
    return f"fits {suggestion['fits']} nodes, would go to {suggestion['node']}"


# ---- preemption, and the wait --------------------------------------------------------------------


def _preemption(found: Document) -> Text:
    if found["helps"]:
        victims = ", ".join(found["victims"]) or "nobody"
        return sentence(
            f"Preemption would help: on {found['node']} it would hit {victims}.", Style.WAITS
        )
    why = found["message"].rpartition("preemption: ")[2]
    return sentence(f"Preemption does not help{f': {why}' if why else '.'}")


def waits(document: Document, now: datetime.datetime) -> Text:
    """Where it waits, and until when."""
    wait = document["wait"]
    events = _joined(_phrases(document.get("wakesOn", ())))
    if wait is None:
        return sentence(f"Would be tried again when {events}." if events else "")
    until = clock(wait.get("until"), now)
    text = _QUEUES.get(wait["queue"], f"Is in queue {wait['queue']}")
    if wait["queue"] == "gated":
        return sentence(f"{text} by {wait['gatingPlugin']}.")
    if wait["queue"] == "unschedulable" and events:
        latest = f", or {until} at the latest" if until else ""
        return sentence(f"{text} until {events}{latest}.")
    return sentence(f"{text}{f' until {until}' if until else ''}.")


def _phrases(events: Sequence[Document]) -> Iterator[str]:
    """``a pod leaves a node or changes``, for each kind of object."""
    verbs: dict[str, dict[str, None]] = {}
    for event in events:
        resource = "Pod" if event["resource"].endswith("Pod") else event["resource"]
        of_resource = verbs.setdefault(resource, {})
        of_resource |= {_VERBS.get((resource, one), "changes"): None for one in event["actions"]}
    for resource, some in verbs.items():
        noun = resource.lower() if resource in ("Pod", "Node") else resource
        yield f"a {noun} {' or '.join(some)}"


def _joined(phrases: Iterable[str]) -> str:
    *first, last = [*phrases] or [""]
    return f"{', '.join(first)}, or {last}" if first else last


def clock(moment: str | None, now: datetime.datetime) -> str:
    """A time of today by the clock, else in full."""
    if not moment:
        return ""
    at = datetime.datetime.fromisoformat(moment)
    same = at.date() == now.date()
    return at.strftime("%H:%M:%S") if same else at.isoformat(timespec="seconds")
