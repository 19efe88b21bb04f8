"""One pod of a world, explained: by whom it is decided about, and what is not asked."""

from __future__ import annotations

import dataclasses
import itertools
from collections.abc import Mapping
from typing import Final

from moorage.api.resolution import Resolver
from moorage.apps.exit_status import WrongUse
from moorage.apps.explain.explanation_documents import Document, document_of, unasked
from moorage.apps.explain.group_documents import candidate_member_document, member_document
from moorage.apps.worlds import deciding
from moorage.apps.worlds.world import World
from moorage.core.columns.cache import Cache
from moorage.core.explaining.bound_pods import explain_bound
from moorage.core.explaining.candidate_revisions import explain_candidate
from moorage.core.explaining.gates import Gate
from moorage.core.explaining.pending_groups import explain_group
from moorage.core.explaining.pending_pods import Limits, explain_pending
from moorage.core.framework.revisions import Revision
from moorage.core.objects.pod_groups import group_of
from moorage.core.objects.pods import Pod
from moorage.core.queue.pod_group_state import POD_GROUP_GATE
from moorage.core.structures.likeness import suggest

JUDGED_ALONE: Final = "the other members of its group stay where they are"
"""Of a member that has a node."""


def explain(
    world: World, pod: Pod, resolver: Resolver, limits: Limits, *, beside_loop: bool = False
) -> Document:
    """What there is to say of a pod. One of another scheduler is explained under preset Default, as
    kube-scheduler would have it.

    Extenders are not asked, nor, ``beside_loop`` of the operator, plugins of packages: the document
    names them.
    """
    if (why := why_unasked(world, pod)) is not None:
        return unasked(pod, *why)
    name = pod.spec.scheduler_name
    revision, unasked_names = askable(
        world.profiles.get(name) or default_revision(resolver), packages=not beside_loop
    )
    if world.context.cache.pod_info(pod.metadata.uid) is not None:
        found = {**document_of(explain_bound(world.context, pod, revision)), **_alone(pod)}
    else:
        found = _pending(world, pod, revision, limits)
        found["searchedSeconds"] = limits.seconds if found["changesNotTried"] else None
    return {**found, "notAsked": unasked_names, "foreign": name not in world.profiles}


def _pending(world: World, pod: Pod, revision: Revision, limits: Limits) -> Document:
    """A member of a group is judged with all of its group, unless a plugin gates it already."""
    if group_of(pod) is None:
        return document_of(explain_pending(world.context, pod, revision, limits, world.unserved))
    alone = _without_search(limits)  # what would help it alone does not help its group
    explained = explain_pending(world.context, pod, revision, alone, world.unserved)
    found = document_of(explained)
    if _gated_itself(explained.gate):
        return found
    group = explain_group(world.context, pod, revision, limits, world.unserved)
    return {**found, **member_document(group, pod)}


def _gated_itself(gate: Gate | None) -> bool:
    """Whether a plugin keeps the pod out of the queue, whatever its group is."""
    return gate is not None and gate.plugin != POD_GROUP_GATE


def _alone(pod: Pod) -> Document:
    """Says of a member that has a node why its group is not judged with it."""
    return {} if group_of(pod) is None else {"judgedAlone": JUDGED_ALONE}


def _without_search(limits: Limits) -> Limits:
    return limits._replace(seconds=0.0)


def why_unasked(world: World, pod: Pod) -> tuple[str, str] | None:
    """Verdict and message of a pod about which no node is asked; None where one is."""
    name = pod.spec.scheduler_name
    if (fault := world.left_out.get(name)) is not None:
        whose = f"the SchedulerProfile that decides for {name!r} means nothing here"
        return "NotResolved", f"{whose}: {fault}"
    if name not in world.profiles and (alike := _meant(name, world.profiles)):
        return "NoProfile", f"no SchedulerProfile decides for {name!r}{alike}"
    return None if world.context.cache.pod_info(pod.metadata.uid) else _held(pod, world)


def explain_under(
    world: World, pod: Pod, profile: str, resolver: Resolver, *, beside_loop: bool = False
) -> Document:
    """The same pod under another profile's revision, which is called by its schedulerName. Raises
    WrongUse where nobody decides for that.
    """
    if (candidate := world.profiles.get(profile)) is None:
        known = ", ".join(sorted(world.profiles)) or "none"
        raise WrongUse(f"nobody decides for schedulerName {profile}; there are: {known}")
    found = explain_with(world, pod, candidate, resolver, beside_loop=beside_loop)
    return {**found, "candidateFile": profile}


def explain_with(
    world: World, pod: Pod, candidate: Revision, resolver: Resolver, *, beside_loop: bool = False
) -> Document:
    """The pod under its own revision and under this one: a member that waits with its group, what
    has a node or is gated itself alone.
    """
    own = world.profiles.get(pod.spec.scheduler_name) or default_revision(resolver)
    (now, a), (then, b) = (askable(one, packages=not beside_loop) for one in (own, candidate))
    explained = explain_candidate(world.context, pod, now, then, world.unserved)
    found = {**document_of(explained), "notAsked": sorted({*a, *b})}
    if explained.node:
        return {**found, **_alone(pod)}
    if group_of(pod) is None or _gated_itself(explained.gate):
        return found
    limits = _without_search(Limits())
    before, after = (
        explain_group(world.context, pod, one, limits, world.unserved) for one in (now, then)
    )
    return {**found, **candidate_member_document(before, after, pod)}


def askable(revision: Revision, *, packages: bool) -> tuple[Revision, list[str]]:
    """The revision without what cannot be asked here, and the names of that: extenders are asked by
    the one that decides, and a plugin of a package by one thread at a time, which in an operator is
    the one that decides, too (``packages`` false).
    """
    strange = (
        set()
        if packages
        else {name for name, one in revision.deciders.items() if hasattr(type(one), "guard")}
    )
    names = sorted(strange) + [extender.url for extender in revision.extenders]
    if not names:
        return revision, []
    points = {
        point: tuple(name for name in plugins if name not in strange)
        for point, plugins in revision.points.items()
    }
    weights = {name: one for name, one in revision.weights.items() if name not in strange}
    deciders = {name: one for name, one in revision.deciders.items() if name not in strange}
    return dataclasses.replace(
        revision, points=points, weights=weights, deciders=deciders, extenders=()
    ), names


def _held(pod: Pod, world: World) -> tuple[str, str] | None:
    """Verdict and message of a pod that is not tried, whatever nodes there are."""
    if pod.metadata.deletion_timestamp is not None:
        return "BeingDeleted", "it is being deleted, and will not be placed"
    if (hold := world.holds.get(pod.spec.scheduler_name)) is not None:
        name = pod.spec.scheduler_name
        return hold.verdict, f"the SchedulerProfile that decides for {name!r} {hold.why}"
    return None


def known_pod(cache: Cache, uid: str) -> Pod | None:
    """The pod with this UID, on a node or waiting."""
    if (pod := cache.waiting.get(uid)) is not None:
        return pod
    info = cache.pod_info(uid)
    return info.pod if info is not None and isinstance(info.pod, Pod) else None


def find_pod(cache: Cache, name: str) -> Pod | None:
    """The pod of this ``namespace/name``. All that wait are looked at, and all of the namespace:
    who decides meanwhile asks for a UID.
    """
    namespace, _, wanted = name.partition("/")
    placed = (info.pod for info in cache.pods_in(namespace) if isinstance(info.pod, Pod))
    for pod in itertools.chain(cache.waiting.values(), placed):
        if (pod.metadata.name, pod.metadata.namespace) == (wanted, namespace):
            return pod
    return None


def default_revision(resolver: Resolver) -> Revision:
    """Preset Default."""
    return deciding.default_profile(resolver).revision


def _meant(name: str, profiles: Mapping[str, Revision]) -> str:
    """A profile whose name this one is nearly; "" where it may well be another scheduler's."""
    return "" if name == deciding.DEFAULT_SCHEDULER else suggest(name, profiles)
