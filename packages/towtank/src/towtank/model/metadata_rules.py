"""Names, labels and the rest of metadata: what Kubernetes lets things be called.

Functions that take one text return what is wrong with it; those that take a part of metadata return causes.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final

from towtank.model.api_errors import StatusCause

_LABEL_FORM: Final = "[a-z0-9]([-a-z0-9]*[a-z0-9])?"
_LABEL: Final = re.compile(_LABEL_FORM)
_LABEL_TEXT: Final = (
    "a lowercase RFC 1123 label must consist of lower case alphanumeric characters or '-', and must start and end with an alphanumeric "
    f"character (e.g. 'my-name',  or '123-abc', regex used for validation is '{_LABEL_FORM}')"
)
_SUBDOMAIN_FORM: Final = rf"{_LABEL_FORM}(\.{_LABEL_FORM})*"
_SUBDOMAIN: Final = re.compile(_SUBDOMAIN_FORM)
_SUBDOMAIN_TEXT: Final = (
    "a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '-' or '.', and must start and end with an "
    f"alphanumeric character (e.g. 'example.com', regex used for validation is '{_SUBDOMAIN_FORM}')"
)
_NAME_FORM: Final = "([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]"
_NAME: Final = re.compile(_NAME_FORM)
_CHARACTERS: Final = "must consist of alphanumeric characters, '-', '_' or '.', and must start and end with an alphanumeric character"
_NAME_TEXT: Final = f"{_CHARACTERS} (e.g. 'MyName',  or 'my.name',  or '123-abc', regex used for validation is '{_NAME_FORM}')"
_QUALIFIED_TEXT: Final = f"a valid label key {_NAME_TEXT} with an optional DNS subdomain prefix and '/' (e.g. 'example.com/MyName')"
_VALUE_TEXT: Final = (
    f"a valid label must be an empty string or {_CHARACTERS.removeprefix('must ')} (e.g. 'MyValue',  or 'my_value',  or '12345', "
    f"regex used for validation is '({_NAME_FORM})?')"
)
_LABEL_LIMIT: Final = 63
_SUBDOMAIN_LIMIT: Final = 253
_ANNOTATIONS_LIMIT: Final = 256 * 1024
_STANDARD_FINALIZERS: Final = frozenset({"orphan", "foregroundDeletion", "kubernetes", "customresourcecleanup.apiextensions.k8s.io"})


def label(name: str) -> list[str]:
    """A DNS label: the name of a namespace, a service, a container."""
    if "." in name:
        return ["must not contain dots"]
    if len(name) > _LABEL_LIMIT:
        return [f"must be no more than {_LABEL_LIMIT} characters"]
    return [] if _LABEL.fullmatch(name) else [_LABEL_TEXT]


def subdomain(name: str) -> list[str]:
    """A DNS subdomain: the name of most objects."""
    if len(name) > _SUBDOMAIN_LIMIT:
        return [f"must be no more than {_SUBDOMAIN_LIMIT} characters"]
    return [] if _SUBDOMAIN.fullmatch(name) else [_SUBDOMAIN_TEXT]


def path_segment(name: str) -> list[str]:
    """What may stand in a path: the name of a role."""
    if name in {".", ".."}:
        return [f"may not be '{name}'"]
    return [f"may not contain '{character}'" for character in "/%" if character in name]


def qualified(name: str) -> list[str]:
    """A label's key, a taint's, a resource's: a name with an optional domain before it."""
    prefix, slash, rest = name.rpartition("/")
    if "/" in prefix:
        return [_QUALIFIED_TEXT]
    wrong = []
    if slash and not prefix:
        wrong.append("prefix part must be non-empty")
    elif slash:
        wrong += [f"prefix part {text}" for text in subdomain(prefix)]
    if not rest:
        wrong.append("name part must be non-empty")
    elif len(rest) > _LABEL_LIMIT:
        wrong.append(f"name part must be no more than {_LABEL_LIMIT} bytes")
    if not _NAME.fullmatch(rest):
        wrong.append(f"name part {_NAME_TEXT}")
    return wrong


def label_value(value: str) -> list[str]:
    wrong = [f"must be no more than {_LABEL_LIMIT} bytes"] if len(value) > _LABEL_LIMIT else []
    return wrong if not value or _NAME.fullmatch(value) else [*wrong, _VALUE_TEXT]


def label_causes(labels: Mapping[str, str], field: str) -> Iterator[StatusCause]:
    """Of a map of labels at ``field``."""
    for key, value in labels.items():
        yield from (StatusCause.invalid(field, key, text) for text in qualified(key))
        yield from (StatusCause.invalid(field, value, text) for text in label_value(value))


def annotation_causes(annotations: Mapping[str, str], field: str) -> Iterator[StatusCause]:
    """Of a map of annotations at ``field``; keys are compared without regard to case."""
    for key in annotations:
        yield from (StatusCause.invalid(field, key, text) for text in qualified(key.lower()))
    if sum(len(key) + len(value) for key, value in annotations.items()) > _ANNOTATIONS_LIMIT:
        yield StatusCause("FieldValueTooLong", field, f"Too long: may not be more than {_ANNOTATIONS_LIMIT} bytes")


def finalizer_causes(finalizers: Sequence[str], *, free: bool = False) -> Iterator[StatusCause]:
    """Of metadata.finalizers; ``free`` ones need no domain."""
    for finalizer in finalizers:
        yield from (StatusCause.invalid("metadata.finalizers", finalizer, text) for text in qualified(finalizer))
    for index, finalizer in enumerate(finalizers):
        if not free and _has_no_domain(finalizer):
            text = "name is neither a standard finalizer name nor is it fully qualified"
            yield StatusCause.invalid(f"metadata.finalizers[{index}]", finalizer, text)


def finalizer_warnings(new: Mapping[str, Any], old: Mapping[str, Any]) -> Iterator[str]:
    """What is said of finalizers that a change of metadata brings and that could be somebody else's."""
    for finalizer in new.get("finalizers") or ():
        if finalizer not in (old.get("finalizers") or ()) and _has_no_domain(finalizer):
            path = " including a path (/)" if "." in finalizer else ""
            why = "to avoid accidental conflicts with other finalizer writers"
            yield f'metadata.finalizers: "{finalizer}": prefer a domain-qualified finalizer name{path} {why}'


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
    for owner in owners:
        for key, text in (("apiVersion", "version must not be empty"), *((key, "must not be empty") for key in ("kind", "name", "uid"))):
            if not owner.get(key):
                yield StatusCause.invalid(f"metadata.ownerReferences.{key}", "", text)
    controllers = [f"{owner.get('kind')}/{owner.get('name')}" for owner in owners if owner.get("controller")]
    if len(controllers) > 1:
        found = f'Found "true" in references for {controllers[0]} and {controllers[1]}'
        text = f"Only one reference can have Controller set to true. {found}"
        yield StatusCause.invalid("metadata.ownerReferences", list(owners), text)
