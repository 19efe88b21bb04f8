"""The command: a pod of a world, explained and printed."""

from __future__ import annotations

import dataclasses
import datetime
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Final

from rich.console import Console, RenderableType

from moorage.api.resolution import Resolver
from moorage.apps.exit_status import ExitStatus, WrongUse
from moorage.apps.explain import asking
from moorage.apps.explain.asking import OperatorChoice
from moorage.apps.explain.explanation_documents import KIND, Document, document_of, unasked
from moorage.apps.explain.pending_texts import pending_parts
from moorage.apps.explain.placed_texts import bound_parts, candidate_parts
from moorage.apps.object_files import STDIN
from moorage.apps.printing.documents import FORMATS, document
from moorage.apps.printing.terminal import open_console, sentence, write
from moorage.apps.worlds import deciding, from_files
from moorage.apps.worlds.cluster_choice import ClusterChoice
from moorage.apps.worlds.from_cluster import from_cluster
from moorage.apps.worlds.world import World
from moorage.core.columns.cache import Cache
from moorage.core.explaining.bound_pods import explain_bound
from moorage.core.explaining.candidate_revisions import explain_candidate
from moorage.core.explaining.pending_pods import explain_pending
from moorage.core.explaining.refusals import NEAREST_NODES
from moorage.core.framework.revisions import Revision, suggest
from moorage.core.objects.pods import Pod
from moorage.ports.texts import printable

_WELL: Final = ("Bound", "WouldBePlaced")
"""Verdicts that are a yes."""
_EVERY_NODE: Final = 10**6


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class ExplainOptions:
    """What was typed. ``pod`` is ``namespace/name``; ``form`` one of FORMATS, "" for people."""

    pod: str
    cluster: ClusterChoice
    operator: OperatorChoice | None = None
    profile: Path | None = None
    files: tuple[Path, ...] = ()
    form: str = ""
    all_nodes: bool = False
    all_changes: bool = False
    absolute: bool = False


def run(options: ExplainOptions) -> int:
    """Explain and print; the exit status. Raises CommandError."""
    if options.form not in ("", *FORMATS):
        raise WrongUse(f"-o {options.form}: use one of {', '.join(FORMATS)}")
    found = _explained(options)
    if options.form:
        print(document(KIND, found, options.form), end="")
    else:
        console = open_console(sys.stdout)
        write(console, *_parts(found, options, console))
    return ExitStatus.YES if found["verdict"] in _WELL else ExitStatus.NO


def _explained(options: ExplainOptions) -> Document:
    if options.operator is not None:
        if options.profile is not None or options.files:
            raise WrongUse("--server: leave out --profile and -f, which need a state of our own")
        return asking.ask(options.operator, options.pod)
    resolver = deciding.in_tree_resolver()
    world = _world(options, resolver)
    for warning in world.warnings:
        print(f"moorage: {printable(warning)}", file=sys.stderr)
    nearest = _EVERY_NODE if options.all_nodes else NEAREST_NODES
    pod = find_pod(world.context.cache, options.pod)
    if pod is None:
        raise WrongUse(f"there is no pod {options.pod}; from {world.origin}")
    told = {"source": world.origin, "at": world.at.isoformat(), "wait": None}
    if options.profile is None:
        return {**explain(world, pod, resolver, nearest), **told}
    revision = world.profiles.get(pod.spec.scheduler_name) or default_revision(resolver)
    candidate = _candidate(options.profile, pod, resolver)
    explained = explain_candidate(world.context, pod, revision, candidate)
    return {**document_of(explained), "candidateFile": str(options.profile), **told}


def _world(options: ExplainOptions, resolver: Resolver) -> World:
    if options.files:
        return from_files.from_files(options.files, resolver)
    return from_cluster(options.cluster, resolver)


# ---- one pod of a world --------------------------------------------------------------------------


def explain(world: World, pod: Pod, resolver: Resolver, nearest: int = NEAREST_NODES) -> Document:
    """What there is to say of a pod. One of another scheduler is explained under preset Default, as
    kube-scheduler would have it.
    """
    name = pod.spec.scheduler_name
    revision = world.profiles.get(name)
    if revision is None and (alike := _meant(name, world.profiles)):
        return unasked(pod, "NoProfile", f"no SchedulerProfile decides for {name!r}{alike}")
    revision = revision or default_revision(resolver)
    if world.context.cache.pod_info(pod.metadata.uid) is not None:
        return document_of(explain_bound(world.context, pod, revision))
    return document_of(explain_pending(world.context, pod, revision, nearest))


def find_pod(cache: Cache, name: str) -> Pod | None:
    """The pod of this ``namespace/name``, on a node or waiting."""
    on_nodes = (info.pod for info in cache.pod_infos() if isinstance(info.pod, Pod))
    for pod in (*cache.waiting.values(), *on_nodes):
        if name == f"{pod.metadata.namespace}/{pod.metadata.name}":
            return pod
    return None


def default_revision(resolver: Resolver) -> Revision:
    """Preset Default."""
    return deciding.default_profile(resolver).revision


def _meant(name: str, profiles: Mapping[str, Revision]) -> str:
    """A profile whose name this one is nearly; "" where it may well be another scheduler's."""
    return "" if name == deciding.DEFAULT_SCHEDULER else suggest(name, profiles)


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
        case "NoProfile":
            return [sentence(f"{found['pod']} waits: {found['message']}", "red")]
        case _ if "candidate" in found:
            return [*candidate_parts(found)]
        case _ if "scores" in found:
            return [*bound_parts(found, console.width, options.absolute)]
    return [
        *pending_parts(found, now, all_nodes=options.all_nodes, all_changes=options.all_changes)
    ]
