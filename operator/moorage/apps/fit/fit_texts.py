"""What `moorage fit` prints, for people and for programs."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

from rich.console import RenderableType

from moorage.apps.fit.group_fit_texts import (
    group_document,
    group_parts,
    group_sentence,
    more_nodes_document,
    short_group,
    short_of,
)
from moorage.apps.printing.amounts import counted, exact_quantity
from moorage.apps.printing.terminal import Style, sentence
from moorage.apps.worlds.world import World
from moorage.core.framework.revisions import Revision
from moorage.core.pods.requests import pod_requests
from moorage.core.simulation.fitting import Fit
from moorage.core.simulation.group_fits import GroupFit
from moorage.core.simulation.reasons import WeightedReason

NAMED_NODES = 3
_INSUFFICIENT = "Insufficient "


class FittedTemplate(NamedTuple):
    """A workload, the revision that decides for it, and what comes of it; ``held``: why nobody
    tries such pods now, "" where somebody does.
    """

    name: str
    revision: Revision
    fit: Fit
    held: str = ""
    group: GroupFit | None = None
    """Of members of a pod group."""
    unknown_group: bool = False
    """Whether nothing says how many its members have to be: they wait, whatever room there is."""


class Fitted(NamedTuple):
    """What comes of all workloads, and of the pod groups that some of them make up."""

    workloads: Sequence[FittedTemplate]
    groups: tuple[GroupFit, ...] = ()

    @property
    def fits(self) -> bool:
        """Whether every pod has a place, and would start there."""
        return all(one.starts for one in self.groups) and all(
            one.fit.fits and not one.unknown_group for one in self.workloads
        )


def parts(found: Fitted, world: World, *, wide: bool = False) -> Iterator[RenderableType]:
    """The answer for people, with all nodes when ``wide``."""
    fitted = found.workloads
    alone = len(fitted) == 1
    for group in found.groups:
        yield from group_parts(group)
    if not alone:
        yield sentence(_sum(fitted), _verdict(found.fits))
    for one in fitted:
        head = _headline(one.fit, one.group)
        whole = head if alone else f"{one.name}: {head}"
        yield sentence(whole, _verdict(found.fits) if alone else "")
        for line in _facts(one, None if wide else NAMED_NODES):
            yield sentence(f"  {line}")
    yield sentence(f"  from    {world.origin}", Style.DIM)


def limiting_resource(limits: Sequence[WeightedReason]) -> str:
    """The resource that runs out first, "" where what runs out is none."""
    first = limits[0].text if limits else ""
    return first.removeprefix(_INSUFFICIENT) if first.startswith(_INSUFFICIENT) else ""


def document_of(found: Fitted, world: World) -> dict[str, Any]:
    """The answer for programs."""
    fitted = found.workloads
    return {
        "answer": _answer(found),
        "source": world.origin,
        "at": world.at.isoformat(),
        "requested": sum(one.fit.requested for one in fitted),
        "fits": sum(len(one.fit.nodes) for one in fitted),
        "shortGroups": [short_group(one) for one in found.groups if not one.starts],
        "groups": [group_document(one) for one in found.groups],
        "workloads": [_workload(one) for one in fitted],
    }


def _sum(fitted: Sequence[FittedTemplate]) -> str:
    fits = sum(len(one.fit.nodes) for one in fitted)
    return f"{fits} of {sum(one.fit.requested for one in fitted)} pods fit now."


def _answer(found: Fitted) -> str:
    """Of one group alone that it would start, or not."""
    if len(found.groups) == 1 and all(one.group is not None for one in found.workloads):
        return group_sentence(found.groups[0])
    first = found.workloads[0]
    return _headline(first.fit, first.group) if len(found.workloads) == 1 else _sum(found.workloads)


def _verdict(fits: bool) -> Style:
    return Style.WELL if fits else Style.REFUSED


def _headline(fit: Fit, group: GroupFit | None = None) -> str:
    if fit.not_admitted is not None:
        nodes = fit.requested + sum(one.nodes for one in fit.not_admitted)
        short = fit.requested - len(fit.nodes)
        lacking = f"; {counted(short, 'node')} that should has no room" if short else ""
        return f"{len(fit.nodes)} of {counted(nodes, 'node')} get a pod{lacking}."
    fits = f"{len(fit.nodes)} of {fit.requested} fit"
    if group is not None:
        return f"{fits} in their group."
    if fit.fits:
        least = "" if fit.counted_out else "at least "
        return f"{fits}; there is room for {least}{fit.room} in all."
    first, *others = [one.text.removeprefix(_INSUFFICIENT) for one in fit.limits] or ["-"]
    runs_out = "What runs out first: " if fit.nodes else "What stands against it: "
    following = f" (next: {others[0]})" if others else ""
    return f"{fits} now. {runs_out}{first}{following}."


def _facts(one: FittedTemplate, limit: int | None) -> Iterator[str]:
    fit, revision = one.fit, one.revision
    asks = pod_requests(fit.pod)
    amounts = [("cpu", asks.cpu), ("memory", asks.memory), *asks.others]
    said = ", ".join(f"{name} {exact_quantity(name, amount)}" for name, amount in amounts if amount)
    decides = " ".join(filter(None, (revision.scheduler_name, revision.id)))
    unasked = ", ".join(_not_asked(revision))
    others = f"; not asked: {unasked}" if unasked else ""
    yield f"asks    {said or 'nothing'} each; {decides}; nobody would be preempted{others}"
    if one.held:
        yield f"held    nobody tries such pods now: {one.held}"
    if fit.nodes:
        names = list(dict.fromkeys(fit.nodes))
        more = 0 if limit is None else len(names) - limit
        yield f"placed  {', '.join(names[:limit])}" + (f" and {more} more" if more > 0 else "")
    if fit.not_admitted is not None:
        for word, whys in (("short", fit.limits), ("aside", fit.not_admitted)):
            yield from (f"{word}   {counted(why.nodes, 'node')}: {why.text}" for why in whys)
    elif not fit.fits and one.group is None:
        yield f"short   {short_of(fit.more_nodes, _lacking(fit))}"


def _not_asked(revision: Revision) -> list[str]:
    """Extenders: nobody outside is asked about pods that are not there."""
    return [extender.url for extender in revision.extenders]


def _lacking(fit: Fit) -> str:
    why = fit.limits[0].text if fit.limits else "no reason"
    return f"{counted(fit.requested - len(fit.nodes), 'pod')}: {why}"


def _reasons(found: Sequence[WeightedReason]) -> list[dict[str, Any]]:
    return [{"reason": one.text, "nodes": one.nodes} for one in found]


def _workload(one: FittedTemplate) -> dict[str, Any]:
    fit = one.fit
    return {
        "name": one.name,
        "schedulerName": one.revision.scheduler_name,
        "revision": one.revision.id,
        "held": one.held,
        "notAsked": _not_asked(one.revision),
        "requested": fit.requested,
        "fits": len(fit.nodes),
        "room": fit.room,
        "roomIsExact": fit.counted_out,
        "placements": [{"node": node, "pods": pods} for node, pods in Counter(fit.nodes).items()],
        "limitingResource": limiting_resource(fit.limits),
        "limits": _reasons(fit.limits),
        "refusals": _reasons(fit.refusals),
        "notAdmitted": None if fit.not_admitted is None else _reasons(fit.not_admitted),
        "moreNodes": more_nodes_document(fit.more_nodes),
    }
