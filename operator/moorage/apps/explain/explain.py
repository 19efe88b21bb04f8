"""The command: a pod of a world, explained and printed."""

from __future__ import annotations

import dataclasses
import datetime
import math
import sys
from pathlib import Path
from typing import Final

from rich.console import Console, RenderableType

from moorage.api.resolution import Resolver
from moorage.apps.commands.input_files import STDIN
from moorage.apps.exit_status import ExitStatus, WrongUse
from moorage.apps.explain import asking
from moorage.apps.explain.asking import NotAsked
from moorage.apps.explain.explanation_documents import KIND, Document
from moorage.apps.explain.first_lines import first_line, headline
from moorage.apps.explain.group_documents import GROUP_KIND
from moorage.apps.explain.group_texts import candidate_group_parts, group_parts
from moorage.apps.explain.one_group import explain_found, find_group
from moorage.apps.explain.one_pod import explain, explain_with, find_pod
from moorage.apps.explain.pending_texts import pending_parts
from moorage.apps.explain.placed_texts import bound_parts, candidate_parts
from moorage.apps.plugin_resolver import resolver_of
from moorage.apps.printing.documents import document, is_for_people
from moorage.apps.printing.progress_line import working
from moorage.apps.printing.terminal import open_console, write
from moorage.apps.reach.operator_choice import NOBODY, OperatorChoice
from moorage.apps.worlds import deciding, from_files
from moorage.apps.worlds.cluster_choice import ClusterChoice
from moorage.apps.worlds.near_names import near_pod
from moorage.apps.worlds.opening import show_world
from moorage.apps.worlds.world import World
from moorage.core.explaining.pending_pods import Limits
from moorage.core.explaining.refusals import NEAREST_NODES
from moorage.core.framework.revisions import Revision
from moorage.core.objects.pods import Pod
from moorage.ports.texts import printable

_WELL: Final = ("Bound", "WouldBePlaced", "Placed")
"""Verdicts that are a yes."""
_EVERY_NODE: Final = 10**6
SEARCH_SECONDS: Final = 20.0
"""For changes that would help, unless all are asked for: then there is no end to it."""


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class ExplainOptions:
    """What was typed. ``name`` is ``namespace/name`` of a pod, or of a pod group (``group``);
    ``at`` a moment of a recording, which is among ``files``; ``form`` one of
    ``command_line.FORMATS``, "" for people.
    """

    name: str
    cluster: ClusterChoice
    operator: OperatorChoice = dataclasses.field(default_factory=OperatorChoice)
    profile: Path | None = None
    files: tuple[Path, ...] = ()
    at: str | None = None
    form: str = ""
    config: Path | None = None
    all_nodes: bool = False
    all_changes: bool = False
    absolute: bool = False
    group: bool = False

    @property
    def asked(self) -> tuple[str, str]:
        """The kind and name, as /explain takes them."""
        return ("podgroup" if self.group else "pod"), self.name


def run(options: ExplainOptions) -> int:
    """Explain and print; the exit status. Raises CommandError."""
    found = _explained(options)
    if not is_for_people(options.form):
        told = {"answer": first_line(found), **found}
        kind = GROUP_KIND if options.group else KIND
        print(document(kind, told, options.form), end="")
    else:
        console = open_console(sys.stdout)
        write(console, *_parts(found, options, console))
    return ExitStatus.YES if found["verdict"] in _WELL else ExitStatus.NO


def _explained(options: ExplainOptions) -> Document:
    own_state = options.profile is not None or options.files or options.config is not None
    if own_state and options.operator.server not in ("", NOBODY):
        text = "leave out --profile, --config and -f, which need a state of our own"
        raise WrongUse(f"--server: {text}")
    # an operator shows the nearest nodes alone, and does not search for long
    more = (options.all_nodes or options.all_changes) and not options.operator.server
    if not own_state and not more:
        try:
            with working("Asking the operator"):
                return asking.ask(options.operator, options.cluster, options.asked)
        except NotAsked as reason:
            if str(reason):
                text = f"the operator is not asked, so nothing of its queue is known: {reason}"
                found = _from_a_world(options)  # first, as it may end with a line of its own
                print(f"moorage: {printable(text)}", file=sys.stderr)
                return found
    return _from_a_world(options)


def _from_a_world(options: ExplainOptions) -> Document:
    resolver = resolver_of(options.config)
    world = show_world(options.files, resolver, at=options.at, choice=options.cluster)
    limits = Limits(
        nearest=_EVERY_NODE if options.all_nodes else NEAREST_NODES,
        seconds=math.inf if options.all_changes else SEARCH_SECONDS,
    )
    told = {"source": world.origin, "at": world.at.isoformat(), "wait": None}
    if options.group:
        return {**_group(world, options, resolver, limits), **told}
    pod = find_pod(world.context.cache, options.name)
    if pod is None:
        near = near_pod(world.context.cache, options.name)
        raise WrongUse(f"there is no pod {options.name}{near}; from {world.origin}")
    if options.profile is None:
        with working(f"Explaining {printable(options.name)}"):
            return {**explain(world, pod, resolver, limits), **told}
    candidate = _candidate(options.profile, pod, resolver)
    found = explain_with(world, pod, candidate, resolver)
    return {**found, "candidateFile": str(options.profile), **told}


def _group(world: World, options: ExplainOptions, resolver: Resolver, limits: Limits) -> Document:
    """Raises WrongUse where there is none."""
    if options.profile is not None:
        raise WrongUse("--profile: a pod group is explained under its own profile; leave it out")
    found = find_group(world.context.cache, options.name)
    if found is None:
        raise WrongUse(f"there is no pod group {options.name}; from {world.origin}")
    with working(f"Explaining {printable(options.name)}"):
        return explain_found(world, found, resolver, limits)


# ---- a candidate ---------------------------------------------------------------------------------


def _candidate(file: Path, pod: Pod, resolver: Resolver) -> Revision:
    """The file's profile for the pod's schedulerName, or its only one. Raises WrongUse."""
    bodies = [one.body for one in from_files.read([file])]
    of_kind = {
        kind: [body for body in bodies if body.get("kind") == kind]
        for kind in (deciding.PROFILE, deciding.CONFIG)
    }
    found = deciding.resolved(of_kind[deciding.PROFILE], of_kind[deciding.CONFIG], resolver)
    if faults := [
        f"{'stdin' if file == STDIN else file}: SchedulerProfile {name}: {deciding.refusal(one)}"
        for name, one in found.items()
        if one.errors
    ]:
        raise WrongUse("\n".join(faults))
    by_scheduler = {one.scheduler_name: one.revision for one in found.values()}
    chosen = by_scheduler.get(pod.spec.scheduler_name)
    if chosen is None and len(by_scheduler) == 1:
        (chosen,) = by_scheduler.values()
    if chosen is None:
        text = f"{file}: no SchedulerProfile for schedulerName {pod.spec.scheduler_name!r}"
        raise WrongUse(f"{text}; it has {', '.join(by_scheduler) or 'none'}")
    return chosen


# ---- printing ------------------------------------------------------------------------------------


def _parts(found: Document, options: ExplainOptions, console: Console) -> list[RenderableType]:
    now = datetime.datetime.fromisoformat(found["at"])
    match found["verdict"]:
        case "NoProfile" | "BeingDeleted" | "Suspended" | "ProfileWaiting" | "NotResolved":
            return [headline(found)]
        case _ if "candidate" in found and "group" in found:
            return [*candidate_group_parts(found, all_nodes=options.all_nodes)]
        case _ if "candidate" in found:
            return [*candidate_parts(found)]
        case _ if "podGroup" in found or found.get("group") is not None:
            whole = options.all_nodes, options.all_changes
            return [*group_parts(found, now, all_nodes=whole[0], all_changes=whole[1])]
        case _ if "scores" in found:
            return [*bound_parts(found, console.width, options.absolute)]
    return [
        *pending_parts(found, now, all_nodes=options.all_nodes, all_changes=options.all_changes)
    ]
