"""What would keep an installation from working, each with what to do: what documents and the
objects that are there already say.
"""

from __future__ import annotations

import datetime
import re
from collections.abc import Iterable, Iterator, Mapping
from typing import Any, Final, NamedTuple

from moorage.apps.install.cluster_objects import OTHERS_MANAGE
from moorage.apps.install.inventories import CRD, DEPLOYMENT, NAMESPACE, labels, of
from moorage.apps.install.object_keys import (
    APP,
    Document,
    Kind,
    ObjectKey,
    installation_of,
    key_of,
)
from moorage.apps.reach.installations import is_fresh

SERVED: Final = ((1, 34), (1, 37))
"""The oldest and the newest Kubernetes that is tested."""
HELM: Final = "meta.helm.sh/release-name"
ENFORCED: Final = "pod-security.kubernetes.io/enforce"
"""A label of Namespaces: what the pods in it may do."""
_PRESERVED: Final = "x-kubernetes-preserve-unknown-fields"
_MANAGED: Final = re.compile(
    r"""conflicts?\ with\ (?P<who>"(?:[^"\\]|\\.)*"[^:\n]*):\s
    (?P<paths>.*(?:\n-\ .*)*)""",
    re.VERBOSE,
)
"""As API servers write it: one conflict in a line, several as a list for each manager."""
_KUBECTLS: Final = "kubectl-client-side-apply"
_WHOSE: Final = ("subjects", "service")
"""Fields that say to whom rights are given, and who is asked, of which namespace."""
_BROUGHT_BY: Final = {
    "monitoring.coreos.com": "the Prometheus operator, or leave out the component monitoring",
    "cert-manager.io": "cert-manager, or leave out the component cert-manager",
    "admissionregistration.k8s.io": "Kubernetes 1.36, or take the component assign-webhook",
}


class Obstacle(NamedTuple):
    """``what`` is wrong with which object, and what to ``do``; ``stops``: else it is only told."""

    what: str
    do: str
    stops: bool = True


Path = tuple[str, ...]
"""Of a field: names, with "[]" for the items of a list and "*" for the values of a map."""


def of_version(version: str) -> Iterator[Obstacle]:
    """Of the API server's ("" where it is not known)."""
    found = re.match(r"v?(\d+)\.(\d+)", version)
    (oldest, newest), text = (
        SERVED,
        f"{SERVED[0][0]}.{SERVED[0][1]} to {SERVED[1][0]}.{SERVED[1][1]}",
    )
    if found is None:
        yield Obstacle(
            "the API server does not say its version", f"it should be {text}", stops=False
        )
        return
    there = int(found[1]), int(found[2])
    if there < oldest:
        do = "upgrade the cluster first; what it does not serve is left out"
        yield Obstacle(f"Kubernetes {version} is older than {text}", do, stops=False)
    elif there > newest:
        do = "see whether there is a newer release of Moorage"
        yield Obstacle(f"Kubernetes {version} is newer than {text}", do, stops=False)


def of_object(document: Document, live: Document) -> Iterator[Obstacle]:
    """Of an object that is there, which is to become what the document says."""
    key, metadata = key_of(document), live["metadata"]
    place = f"-n {key.namespace} " if key.namespace else ""
    command = f"kubectl {place}delete {key.kind.lower()} {key.name}"
    if release := (metadata.get("annotations") or {}).get(HELM):
        yield Obstacle(f"{key} is managed by Helm, release {release}", f"helm upgrade {release}")
    elif "deletionTimestamp" in metadata:
        yield Obstacle(f"{key} is being deleted", f"wait until it is gone: {command} waits, too")
    elif key.kind == NAMESPACE:
        yield from _of_namespace(live)
    elif key.kind != CRD and (whose := installation_of(live)) != installation_of(document):
        what = f"belongs to installation {whose}" if whose else "is not Moorage's"
        yield Obstacle(f"{key} {what}", "give this installation another --name")
    elif key.kind == DEPLOYMENT and live["spec"]["selector"] != document["spec"]["selector"]:
        do = f"{command}; until the new one runs, nobody places pods"
        yield Obstacle(f"{key} selects its pods by other labels, which cannot be changed", do)


def _of_namespace(live: Document) -> Iterator[Obstacle]:
    """Of one that is there: what others run in it would be judged by our labels."""
    if labels(live).get(APP) != "moorage":
        key = key_of(live)
        what = f"{key} is not Moorage's, and would have its labels, those of Pod Security included"
        do = "give another --namespace; or where nobody else uses it, kubectl label namespace"
        yield Obstacle(what, f"{do} {key.name} {APP}=moorage")


def neighbours(space: Document, there: Iterable[Document]) -> set[str]:
    """The other installations that have a Deployment in this namespace, of those ``there``."""
    name = space["metadata"]["name"]
    found = (one for one in of(there, DEPLOYMENT) if one["metadata"]["namespace"] == name)
    return {installation_of(one) for one in found} - {"", installation_of(space)}


def of_shared_namespace(
    document: Document, live: Document, there: Iterable[Document]
) -> Iterator[Obstacle]:
    """Of one that is there, with Deployments of other installations: the next pods of theirs would
    be judged by our label, or ours by theirs.
    """
    others = sorted(neighbours(document, there))
    was, wanted = (labels(one).get(ENFORCED, "") for one in (live, document))
    if others and was != wanted:
        what = f"{key_of(document)} has {ENFORCED}={was} for installation {', '.join(others)}"
        do = "give this installation another --namespace"
        yield Obstacle(f"{what}; this one needs {wanted}", do)


def elsewhere(document: Document, live: Document) -> set[str]:
    """The namespaces that the live object of an installation names for its accounts and Services,
    and the document does not: an installation of the same name may be there.
    """
    if installation_of(live) != installation_of(document):
        return set()
    return {*_named_in(live)} - {*_named_in(document)}


def _named_in(value: Any, *, says_whose: bool = False) -> Iterator[str]:
    if isinstance(value, list):
        for inner in value:
            yield from _named_in(inner, says_whose=says_whose)
    elif isinstance(value, Mapping):
        for key, inner in value.items():
            if says_whose and key == "namespace":
                yield str(inner)
            else:
                yield from _named_in(inner, says_whose=says_whose or key in _WHOSE)


def of_same_name(name: str, namespace: str, keys: Iterable[ObjectKey]) -> Obstacle:
    """Of an installation of this name in another namespace, by its objects; without a Deployment
    there, of objects of this one that name that namespace.
    """
    found = [*keys]
    listed = ", ".join(map(str, found))
    if not any((key.kind, key.namespace) == (DEPLOYMENT, namespace) for key in found):
        what = f"namespace {namespace} has no Deployment of {name}, and is named by: {listed}"
        do = f"kubectl edit them, and take what is of namespace {namespace} out"
        return Obstacle(what, f"{do}; or give this installation another --name")
    what = f"installation {name} is in namespace {namespace}: {listed}"
    remove = f"moorage uninstall --namespace {namespace} --name {name}"
    return Obstacle(what, f"give this installation another --name, or first: {remove}")


def of_conflicts(key: ObjectKey, said: str, *, forced: bool) -> Iterator[Obstacle]:
    """Of the fields that others manage, by what the API server has ``said``: nothing where it is no
    such conflict. Where they are taken over by force that is only told.
    """
    if not said.startswith(OTHERS_MANAGE):
        return
    for found in _MANAGED.finditer(said):
        paths = ", ".join(line.removeprefix("- ") for line in found["paths"].splitlines())
        do = "take it over by --force-conflicts, or have the same there as the variant has"
        if _KUBECTLS in found["who"]:
            do = f"kubectl applied it without --server-side: {do}"
        what = f"{key}: {paths} is managed by {found['who']}"
        yield Obstacle(what, "taken over" if forced else do, stops=not forced)


def of_definition(
    document: Document, live: Document, stored: Iterable[Document]
) -> Iterator[Obstacle]:
    """Of a CRD that is there, and its objects: versions that are stored and not served any more,
    fields that the new schema would drop.
    """
    key = key_of(document)
    versions = {one["name"]: one for one in document["spec"]["versions"]}
    for version in (live.get("status") or {}).get("storedVersions") or ():
        if version not in versions:
            do = f"install the release before this one, and have objects of {version} stored anew"
            yield Obstacle(f"{key} has objects stored as {version}, which is unknown here", do)
    before = {one["name"]: one for one in live["spec"]["versions"]}
    lost = {
        path
        for name in versions.keys() & before.keys()
        for path in dropped(_schema(before[name]), _schema(versions[name]))
    }
    for one in stored:
        if fields := sorted(_text(path) for path in lost if has(one, path)):
            what = f"{one['kind']} {one['metadata']['name']} has {', '.join(fields)}"
            do = "the API server would drop it: take it out, or install the release that has it"
            yield Obstacle(f"{what}, which the new {key} does not know", do)


def of_kube_scheduler(lease: Document | None, now: datetime.datetime) -> Iterator[Obstacle]:
    """Of kube-scheduler's Lease, where the name default-scheduler is to be taken."""
    if lease is not None and is_fresh(lease, now):
        what = (
            "kube-scheduler places the pods of default-scheduler: Lease kube-system/kube-scheduler"
        )
        do = "give it the name system-scheduler next: docs/tasks/replace-default-scheduler.md"
        yield Obstacle(f"{what} is renewed", do, stops=False)


def of_leader(
    lease: Document | None, now: datetime.datetime, *, deployed: bool
) -> Iterator[Obstacle]:
    """Of the Lease that is to be ours: others lead by it, where nothing is ``deployed``."""
    if lease is not None and not deployed and is_fresh(lease, now):
        holder = (lease.get("spec") or {}).get("holderIdentity") or "somebody"
        what = f"{holder} leads by {key_of(lease)}, and is no pod of this installation"
        yield Obstacle(what, "end that process, or give this installation another --name")


def of_absent(kind: Kind, documents: Iterable[Document]) -> Obstacle:
    """Of a kind that is not served."""
    named = ", ".join(key_of(one).name for one in documents)
    group = kind.api_version.partition("/")[0]
    do = f"install {_BROUGHT_BY[group]}" if group in _BROUGHT_BY else "leave its component out"
    return Obstacle(f"the API server has no {kind.kind} of {kind.api_version}, as {named} is", do)


def dropped(old: Any, new: Any, path: Path = ()) -> Iterator[Path]:
    """The fields that one schema has and the other does not."""
    if not isinstance(old, Mapping) or not isinstance(new, Mapping) or new.get(_PRESERVED):
        return
    known, others = new.get("properties") or {}, new.get("additionalProperties")
    for name, field in (old.get("properties") or {}).items():
        if name in known:
            yield from dropped(field, known[name], (*path, name))
        elif not others:
            yield (*path, name)
    yield from dropped(old.get("items"), new.get("items"), (*path, "[]"))
    yield from dropped(old.get("additionalProperties"), others, (*path, "*"))


def has(value: Any, path: Path) -> bool:
    """Whether there is something at the path."""
    if not path:
        return value is not None
    head, rest = path[0], path[1:]
    if head == "[]":
        return isinstance(value, list) and any(has(each, rest) for each in value)
    if not isinstance(value, Mapping):
        return False
    if head == "*":
        return any(has(each, rest) for each in value.values())
    return has(value.get(head), rest)


def _text(path: Path) -> str:
    return ".".join(path).replace(".[]", "[]")


def _schema(version: Mapping[str, Any]) -> Any:
    return (version.get("schema") or {}).get("openAPIV3Schema")
