"""What metadata may be: labels, annotations, finalizers, owners. Each function takes a part of it
and returns causes.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final

from kubefacts import names
from towtank.model.api_errors import StatusCause

_ANNOTATIONS_LIMIT: Final = 256 * 1024
_STANDARD_FINALIZERS: Final = frozenset(
    {"orphan", "foregroundDeletion", "kubernetes", "customresourcecleanup.apiextensions.k8s.io"}
)


def causes(metadata: Mapping[str, Any], *, custom: bool) -> Iterator[StatusCause]:
    """Of all metadata but the name; finalizers of ``custom`` objects need no domain."""
    yield from label_causes(metadata.get("labels") or {}, "metadata.labels")
    yield from annotation_causes(metadata.get("annotations") or {}, "metadata.annotations")
    yield from finalizer_causes(metadata.get("finalizers") or (), free=custom)
    yield from owner_causes(metadata.get("ownerReferences") or ())


def label_causes(labels: Mapping[str, str], field: str) -> Iterator[StatusCause]:
    """Of a map of labels at ``field``."""
    for key, value in labels.items():
        yield from (StatusCause.invalid(field, key, text) for text in names.qualified_name(key))
        yield from (StatusCause.invalid(field, value, text) for text in names.label_value(value))


def annotation_causes(annotations: Mapping[str, str], field: str) -> Iterator[StatusCause]:
    """Of a map of annotations at ``field``; keys are compared without regard to case."""
    for key in annotations:
        yield from (
            StatusCause.invalid(field, key, text) for text in names.qualified_name(key.lower())
        )
    if sum(len(key) + len(value) for key, value in annotations.items()) > _ANNOTATIONS_LIMIT:
        yield StatusCause.too_long(field, _ANNOTATIONS_LIMIT)


def finalizer_causes(finalizers: Sequence[str], *, free: bool = False) -> Iterator[StatusCause]:
    """Of metadata.finalizers; ``free`` ones need no domain."""
    for finalizer in finalizers:
        yield from (
            StatusCause.invalid("metadata.finalizers", finalizer, text)
            for text in names.qualified_name(finalizer)
        )
    if {"orphan", "foregroundDeletion"} <= set(finalizers):
        text = "finalizer orphan and foregroundDeletion cannot be both set"
        yield StatusCause.invalid("metadata.finalizers", list(finalizers), text)
    for index, finalizer in enumerate(finalizers):
        if not free and _has_no_domain(finalizer):
            text = "name is neither a standard finalizer name nor is it fully qualified"
            yield StatusCause.invalid(f"metadata.finalizers[{index}]", finalizer, text)


def finalizer_warnings(new: Mapping[str, Any], old: Mapping[str, Any]) -> Iterator[str]:
    """What is said of finalizers that a change of metadata brings and that could be somebody
    else's.
    """
    for finalizer in new.get("finalizers") or ():
        if finalizer not in (old.get("finalizers") or ()) and _has_no_domain(finalizer):
            path = " including a path (/)" if "." in finalizer else ""
            why = "to avoid accidental conflicts with other finalizer writers"
            yield (
                f'metadata.finalizers: "{finalizer}": prefer a domain-qualified finalizer '
                f"name{path} {why}"
            )


def _has_no_domain(finalizer: str) -> bool:
    return "/" not in finalizer and finalizer not in _STANDARD_FINALIZERS


def new_finalizer_causes(new: Mapping[str, Any], old: Mapping[str, Any]) -> Iterator[StatusCause]:
    """Of a change of metadata: an object that is going gets no new ones."""
    added = sorted(set(new.get("finalizers") or ()) - set(old.get("finalizers") or ()))
    if added and "deletionTimestamp" in old:
        listed = ", ".join(f'"{finalizer}"' for finalizer in added)
        text = "no new finalizers can be added if the object is being deleted, found new finalizers"
        yield StatusCause.forbidden("metadata.finalizers", f"{text} []string{{{listed}}}")


def owner_causes(owners: Sequence[Mapping[str, Any]]) -> Iterator[StatusCause]:
    """What is wrong with metadata.ownerReferences."""
    for index, owner in enumerate(owners):
        path = f"metadata.ownerReferences[{index}]"
        for key, text in (
            ("apiVersion", "must not be empty"),
            *((key, "must not be empty") for key in ("kind", "name", "uid")),
        ):
            if not owner.get(key):
                yield StatusCause.required(f"{path}.{key}", text)
    controllers = [
        f"{owner.get('kind')}/{owner.get('name')}" for owner in owners if owner.get("controller")
    ]
    if len(controllers) > 1:
        found = f'Found "true" in references for {controllers[0]} and {controllers[1]}'
        text = f"Only one reference can have Controller set to true. {found}"
        yield StatusCause.invalid("metadata.ownerReferences", list(owners), text)
