"""What others have in a namespace that is about to be deleted with all that is in it."""

from __future__ import annotations

import dataclasses
from collections.abc import Collection, Iterable, Iterator, Sequence
from typing import Final

from moorage.apps.install.object_keys import (
    INSTANCE,
    PART_OF,
    SHARD_OF,
    Document,
    ObjectKey,
    key_of,
)

_OF_EVERYBODY: Final = {("ConfigMap", "kube-root-ca.crt"), ("ServiceAccount", "default")}
"""By kind and name: what the API server's controllers make in each namespace."""
_PASSING: Final = ("Event", "Lease", "Endpoints", "EndpointSlice")
"""Kinds that nobody misses without what they are about."""


@dataclasses.dataclass(frozen=True, slots=True)
class Residents:
    """The objects of a namespace, by their metadata, and why some could not be looked at."""

    objects: Sequence[Document] = ()
    unseen: Sequence[str] = ()


def guests(
    found: Residents,
    names: Collection[str],
    written: Iterable[Document],
    known: Collection[str] = (),
) -> Iterator[str]:
    """Whatever is there of others than the installations of these ``names``: neither labelled as
    theirs, nor ``written`` by their operator. What an object there owns goes with that one, also
    where it was one of those ``known`` by their uid and is gone already.
    """
    theirs = {key_of(one) for one in written}
    owners = {*known, *uids(found)}
    for one in found.objects:
        key = key_of(one)
        owned = any(it["uid"] in owners for it in one["metadata"].get("ownerReferences") or ())
        passing = key.kind in _PASSING or (key.kind, key.name) in _OF_EVERYBODY
        if not (passing or owned or key in theirs or _is_labelled(one, key, names)):
            yield f"{key} is there, which is not ours"
    yield from found.unseen


def uids(found: Residents) -> Iterator[str]:
    """Of all objects there."""
    return (str(one["metadata"].get("uid", "")) for one in found.objects)


def _is_labelled(document: Document, key: ObjectKey, names: Collection[str]) -> bool:
    labels = document["metadata"].get("labels") or {}
    whose = {labels.get(INSTANCE), labels.get(SHARD_OF)}
    ours = labels.get(PART_OF) == "moorage" and not whose.isdisjoint(names)
    return ours or (key.kind, key.name) in {("Secret", f"{name}-admission-tls") for name in names}
