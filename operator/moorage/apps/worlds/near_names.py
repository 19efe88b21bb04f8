"""What somebody meant who named a pod that is not there."""

from __future__ import annotations

import collections

from moorage.core.columns.cache import Cache
from moorage.core.structures.likeness import suggest


def near_pod(cache: Cache, name: str) -> str:
    """``; did you mean "X"?`` for a ``namespace/name`` that is nearly that of a pod, else nothing:
    the same name in another namespace, else another name in this one, or in one like it.
    """
    namespace, _, wanted = name.partition("/")
    names = collections.defaultdict[str, set[str]](set)
    for info in cache.pod_infos():
        names[info.pod.metadata.namespace].add(info.pod.metadata.name)
    for pod in cache.waiting.values():
        names[pod.metadata.namespace].add(pod.metadata.name)
    elsewhere = [f"{there}/{wanted}" for there in sorted(names) if wanted in names[there]]
    if elsewhere:
        return suggest(name, elsewhere) or f'; did you mean "{elsewhere[0]}"?'
    if namespace not in names:
        return suggest(namespace, (f"{there}/" for there in names))
    return suggest(name, (f"{namespace}/{one}" for one in names[namespace]))
