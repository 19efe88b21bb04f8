"""One pod group of a world, explained: by whom it is decided about, and who its members are."""

from __future__ import annotations

import itertools
from typing import Final

from moorage.api.resolution import Resolver
from moorage.apps.explain.explanation_documents import Document
from moorage.apps.explain.group_documents import group_document
from moorage.apps.explain.one_pod import askable, default_revision, why_unasked
from moorage.apps.worlds.world import World
from moorage.core.columns.cache import Cache
from moorage.core.columns.store import Lister
from moorage.core.explaining.pending_groups import explain_group
from moorage.core.explaining.pending_pods import Limits
from moorage.core.groups.group_spec import GROUP_KINDS
from moorage.core.objects.pod_groups import (
    API,
    COSCHEDULING_API,
    KUEUE_API,
    VOLCANO_API,
    GroupKey,
    group_of,
)
from moorage.core.objects.pods import Pod

APIS: Final = (API, COSCHEDULING_API, VOLCANO_API, KUEUE_API)
"""Where two have groups of one name, the first is meant."""


def find_group(cache: Cache, name: str) -> tuple[GroupKey, list[Pod]] | None:
    """The group of this ``namespace/name`` and its members, those that wait first; None where
    neither a PodGroup nor a pod names it.
    """
    namespace, _, own_name = name.partition("/")
    waiting = (
        pod
        for uid, pod in cache.waiting.items()
        if pod.metadata.namespace == namespace and cache.pod_info(uid) is None
    )
    placed = (one.pod for one in cache.pods_in(namespace) if isinstance(one.pod, Pod))
    members: dict[GroupKey, list[Pod]] = {}
    for pod in itertools.chain(waiting, placed):
        if (key := group_of(pod)) is not None and key.name == own_name:
            members.setdefault(key, []).append(pod)
    for api in APIS:
        key = GroupKey(api, namespace, own_name)
        if key in members or _is_declared(key, cache.store):
            return key, members.get(key, [])
    return None


def _is_declared(key: GroupKey, store: Lister) -> bool:
    kind = GROUP_KINDS.get(key.api)
    return kind is not None and str(key) in store.objects(kind)


def explain_found(
    world: World,
    found: tuple[GroupKey, list[Pod]],
    resolver: Resolver,
    limits: Limits,
    *,
    beside_loop: bool = False,
) -> Document:
    """What there is to say of a group and these members; what is not asked as in
    ``one_pod.explain``.
    """
    key, members = found
    if not members:
        return _unasked(key, "", "NoMembers", "no pod names it")
    pod, name = members[0], members[0].spec.scheduler_name
    if (why := why_unasked(world, pod)) is not None:
        return _unasked(key, name, *why)
    revision, unasked_names = askable(
        world.profiles.get(name) or default_revision(resolver), packages=not beside_loop
    )
    told = group_document(explain_group(world.context, pod, revision, limits, world.unserved))
    untried = told["group"]["changesNotTried"]
    return {
        **told,
        "searchedSeconds": limits.seconds if untried else None,
        "notAsked": unasked_names,
        "foreign": name not in world.profiles,
    }


def _unasked(key: GroupKey, scheduler_name: str, verdict: str, message: str) -> Document:
    return {
        "verdict": verdict,
        "message": message,
        "podGroup": str(key),
        "created": None,
        "schedulerName": scheduler_name,
        "revision": "",
        "group": None,
    }
