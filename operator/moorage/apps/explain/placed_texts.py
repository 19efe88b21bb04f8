"""What people read of a pod that has a node, and of one under a candidate."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from rich.console import RenderableType
from rich.table import Table
from rich.text import Text

from moorage.apps.explain.explanation_documents import Document
from moorage.apps.explain.pending_texts import about_source, unheard
from moorage.apps.printing.terminal import Style, new_table, sentence

_REASONS = 2
"""Reasons of refusals that are named."""


# ---- bound ---------------------------------------------------------------------------------------


def bound_parts(document: Document, width: int, absolute: bool) -> Iterator[RenderableType]:
    """The parts of the answer, from top to bottom; ``width`` in columns."""
    yield bound_headline(document)
    yield sentence(f"  decided again on the present state; {about_source(document)}")
    yield from _alone(document)
    if document["scores"]:
        yield Text()
        yield _scores(document, width, absolute)
    yield Text()
    yield sentence(_refused(document))
    if len(document["best"]) > 1:
        yield sentence("The tie: seed, pod uid and node name; a replay takes the same.")
    if zero := [name for name in document["weights"] if not _scored(document, name)]:
        yield Text(f"Zero for all: {_few(zero)}.", style="dim")


def bound_headline(document: Document) -> Text:
    """The answer in one line."""
    node, best = document["node"], document["best"]
    binding = (document["wait"] or {}).get("queue") == "inFlight"
    name = f"{document['pod']} {'is being bound to' if binding else 'is on'}"
    if document["verdict"] == "Error":
        return sentence(f"{name} {node}; {document['message']}", Style.REFUSED)
    if (refusal := document["refusal"]) is not None:
        why = f"{refusal['plugin']}: {', '.join(refusal['reasons'])}".removeprefix(": ")
        text = f"{name} {node}, which would not take it now: {why}."
        return sentence(text, Style.WAITS)
    unasked = unheard(document)
    if node in best:
        one_of = f"one of {len(best)} nodes with" if len(best) > 1 else "the node with"
        text = f"{name} {node}, {one_of} the highest score now.{unasked}"
        return sentence(text, Style.WAITS if unasked else Style.WELL)
    now = f"now it would go to {document['choice']}" if document["choice"] else "no other takes it"
    if all(one["node"] != node for one in document["scores"]):
        return sentence(f"{name} {node}, which is not there any more; {now}.{unasked}", Style.WAITS)
    return sentence(f"{name} {node}; {now}.{unasked}", Style.WAITS)


def _scored(document: Document, plugin: str) -> bool:
    return any(one["scores"][plugin] for one in document["scores"])


def _scores(document: Document, width: int, absolute: bool) -> Table:
    """The first node in numbers, the others as differences from it."""
    shown = _that_fit(document["scores"], document["weights"], width)
    names = [f"{one['node']}{' *' if one['node'] == document['node'] else ''}" for one in shown]
    table = new_table("", *names, numbers=names)
    if names and names[0].endswith(" *"):
        table.columns[1].header_style = "green"
    for plugin, weight in document["weights"].items():
        if _scored(document, plugin):
            values = [one["scores"][plugin] for one in shown]
            table.add_row(f"{plugin} x{weight}", *_cells(values, absolute))
    table.add_row("TOTAL", *_cells([one["total"] for one in shown], absolute=True), style="bold")
    return table


def _that_fit(scores: Sequence[Document], weights: Document, width: int) -> list[Document]:
    """As many nodes as the terminal has room for, at least two."""
    names = (len(f"{name} x{weight}") for name, weight in weights.items())
    room = width - max(names, default=0)
    shown: list[Document] = []
    for one in scores:
        room -= len(one["node"]) + 4
        if room >= 0 or len(shown) < 2:
            shown.append(one)
    return shown


def _cells(values: Sequence[int], absolute: bool) -> Iterator[str]:
    first, *others = values
    yield str(first)
    for each in others:
        yield str(each) if absolute else f"{each - first:+}" if each != first else "="


def _refused(document: Document) -> str:
    refused = document["nodes"] - document["passed"]
    passed = document["passed"]
    text = f"{passed} node{'' if passed == 1 else 's'} passed"
    if not refused:
        return f"{text}, none was refused."
    groups = sorted(document["refusals"], key=lambda group: -int(group["nodes"]))
    named = [f"{group['nodes']} {_reason(group)}" for group in groups[:_REASONS]]
    rest = sum(group["nodes"] for group in groups[_REASONS:])
    named += [f"{rest} others"] if rest else []
    return f"{text}, {refused} were refused: {', '.join(named)}."


def _reason(group: Document) -> str:
    return ", ".join(one.removeprefix("node(s) ") for one in group["reasons"])


def _few(names: Sequence[str]) -> str:
    more = f", {len(names) - 1} more" if len(names) > 1 else ""
    return f"{names[0]}{more}"


# ---- under a candidate ---------------------------------------------------------------------------


def candidate_parts(document: Document) -> Iterator[RenderableType]:
    """The parts of the answer, from top to bottom."""
    yield candidate_headline(document)
    yield sentence(f"  now {about_source(document)}")
    yield from _alone(document)
    yield from candidate_reasons(document)


def _alone(document: Document) -> Iterator[Text]:
    """Said of a member of a group that is not judged with it."""
    if why := document.get("judgedAlone"):
        yield sentence(f"  judged alone: {why}")


def candidate_reasons(document: Document, about: str = "") -> Iterator[RenderableType]:
    """Who refuses under either profile, and in what these differ; ``about`` whom is said before."""
    if document["refusals"]:
        yield Text()
        if about:
            yield sentence(about)
        yield _both(document["refusals"], _changed(document))
    if document["differs"]:
        yield Text()
        yield sentence(f"Differs: {', '.join(document['differs'])}")


def _changed(document: Document) -> list[Document]:
    return [one for one in document["refusals"] if one["nodesNow"] != one["nodesThen"]]


def candidate_headline(document: Document) -> Text:
    """The answer in one line."""
    candidate, changed = document["candidate"], _changed(document)
    together = "with its group " if "group" in document else ""
    under = f"{together}under {document['candidateFile']} ({candidate['schedulerName']})"
    gone = [one for one in changed if not one["nodesThen"]]
    reasons = sum(1 for one in document["refusals"] if one["nodesNow"])
    what = (
        f" {len(gone)} of {reasons} reasons {'is' if len(gone) == 1 else 'are'} gone."
        if gone
        else ""
    )
    unasked = unheard(document)
    match document["verdict"]:
        case "WouldBePlaced":
            node = document["placement"]["node"]
            text = f"Would be placed on {node} {under}.{what}{unasked}"
            return sentence(text, Style.WAITS if unasked else Style.WELL)
        case "WouldLoseItsPlace":
            return sentence(f"Would lose its place: no node {under}.", Style.REFUSED)
        case "StillPending":
            return sentence(f"Still pending {under}.{what}{unasked}", Style.REFUSED)
        case "Gated":
            return sentence(f"Gated {under} by {document['message']}.", Style.WAITS)
    return sentence(f"Fails {under}: {document['message']}", Style.REFUSED)


def _both(refusals: Sequence[Document], changed: Sequence[Document]) -> Table:
    numbers = ("NODES NOW", "NODES THEN")
    table = new_table(*numbers, "PLUGIN", "REASON", numbers=numbers, wide="REASON")
    for one in changed:
        counts = (str(one[name] or "-") for name in ("nodesNow", "nodesThen"))
        table.add_row(*counts, sentence(one["plugin"]), sentence(_reason(one)))
    if same := [one for one in refusals if one not in changed]:
        count = str(sum(one["nodesNow"] for one in same))
        table.add_row(count, count, f"{len(same)} more", "unchanged", style="dim")
    return table
