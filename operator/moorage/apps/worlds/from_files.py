"""A world from YAML and JSON files: nodes, pods and whatever else plugins read, as
``kubectl get -o yaml`` writes them, or as people write them for ``kubectl apply``.

What an API server would fill in is filled in: namespace, UID, schedulerName, requests from limits,
priority. Kinds that no plugin reads are said and passed over.
"""

from __future__ import annotations

import datetime
from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, Final

import msgspec

from moorage.api import yaml_documents
from moorage.api.resolution import Resolver
from moorage.api.yaml_documents import DocumentError
from moorage.apps.commands.input_files import STDIN
from moorage.apps.exit_status import NoAnswer, WrongUse
from moorage.apps.object_files import Document, documents_of, files_in
from moorage.apps.worlds import deciding, manifests
from moorage.apps.worlds.deciding import ProfileSet
from moorage.apps.worlds.observed import ObservedCluster
from moorage.apps.worlds.world import World, empty_context
from moorage.core.objects.meta import HasMetadata, key
from moorage.ports.stored_kinds import kinds_in

MAX_FAULTS: Final = 20
"""Lines about documents that mean nothing."""


def from_files(paths: Sequence[Path], resolver: Resolver) -> World:
    """What is in files, and in folders of them; ``-`` is stdin. Raises NoAnswer where one cannot be
    read, WrongUse for documents that mean nothing.
    """
    found = list(read(paths))
    observed = ObservedCluster(empty_context(), kinds_in(resolver.registry))
    warnings = put_all(found, observed)
    decides = _who_decides(observed, resolver)
    return World(
        observed.context,
        decides.revisions(),
        ", ".join("stdin" if path == STDIN else str(path) for path in paths),
        datetime.datetime.now(datetime.UTC),
        (*warnings, *decides.warnings, *observed.set_aside()),
        deciding.holds(observed.profiles.bodies()),
        manifests.priorities(document.body for document in found),
    )


def read(paths: Sequence[Path]) -> Iterator[Document]:
    """The objects in files. Raises NoAnswer and WrongUse."""
    for file in files_in(paths):
        try:
            yield from documents_of(file, _load)
        except OSError as error:
            raise NoAnswer(f"{file} cannot be read: {error.strerror}") from error
        except (DocumentError, UnicodeDecodeError) as error:
            raise WrongUse(f"{file}: {error}") from error


def _load(text: str) -> Sequence[Any]:
    """The documents of a text. One that is JSON is read as such, which is a hundred times
    faster.
    """
    if text.lstrip().startswith("{"):
        try:
            return [msgspec.json.decode(text)]
        except msgspec.DecodeError:
            pass  # YAML begins so too
    return yaml_documents.load_all(text)


def put_all(documents: Sequence[Document], observed: ObservedCluster) -> list[str]:
    """Have the objects in the cluster; what is to be said of them. Raises WrongUse."""
    intake = _Intake(documents, observed)
    faults, passed_over = list[str](), Counter[str]()
    for document in documents:
        try:
            if not intake.put(document):
                passed_over[f"{document.kind or 'no kind'} of {document.api_version}"] += 1
        except (msgspec.MsgspecError, manifests.ManifestError) as error:
            faults.append(document.fault(error))
    _refuse(faults)
    return [f"passed over: {kind}, {_times(count)}" for kind, count in passed_over.items()]


class _Intake:
    """Puts documents where they belong."""

    def __init__(self, documents: Sequence[Document], observed: ObservedCluster) -> None:
        self._kinds = {
            (sink.api, sink.kind_name): (what.kind, sink) for what, sink in observed.watched()
        }
        self._priorities = manifests.priorities(document.body for document in documents)
        self._seen = set[tuple[str, str, str]]()

    def put(self, document: Document) -> bool:
        """Whether it is of a kind that is read. Raises MsgspecError and ManifestError."""
        known = self._kinds.get((document.api_version, document.kind))
        if known is None:
            return document.kind == "PriorityClass"
        struct, sink = known
        body = manifests.completed(document.body, self._priorities)
        obj: HasMetadata = msgspec.json.decode(msgspec.json.encode(body), type=struct)
        named = (document.api_version, document.kind, key(obj))
        if named in self._seen:
            raise manifests.ManifestError("stands here twice")
        self._seen.add(named)
        sink.put(obj)
        return True


def _refuse(faults: Sequence[str]) -> None:
    if faults:
        more = len(faults) - MAX_FAULTS
        raise WrongUse("\n".join((*faults[:MAX_FAULTS], *([f"and {more} more"] * (more > 0)))))


def _times(count: int) -> str:
    return "once" if count == 1 else f"{count} times"


def _who_decides(observed: ObservedCluster, resolver: Resolver) -> ProfileSet:
    """The files' profiles; without any it is preset Default. Raises WrongUse for one that is
    refused.
    """
    found = ProfileSet()
    given, configs = observed.profiles.bodies(), observed.configs.bodies()
    for name, resolution in deciding.resolved(given, configs, resolver).items():
        if resolution.errors:
            raise WrongUse(f"SchedulerProfile {name}: {deciding.refusal(resolution)}")
        found.add(resolution)
    if not found.by_scheduler:
        found.add(deciding.default_profile(resolver))
    return found
