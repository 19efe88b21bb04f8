"""Converting: what kube-scheduler was configured with, found in files, turned into SchedulerProfiles and PluginConfigs.

A file may hold several documents: KubeSchedulerConfigurations, Policies, and ConfigMaps with them in their data. Other documents are
passed over. Nothing is printed for use when anything can't be converted.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from moorage.api import bodies, documents
from moorage.api.decoding import DecodeError
from moorage.api.documents import DocumentError
from moorage.api.resolution import Resolver
from moorage.api.upstream import older, policies
from moorage.api.upstream.configuration import API_GROUP, API_VERSION, KIND
from moorage.api.upstream.policy_tables import PROVIDERS
from moorage.api.upstream.reading import Refused, read
from moorage.api.upstream.remarks import Remark
from moorage.api.upstream.translating import translate
from moorage.core.framework.arguments import Violation
from moorage.core.framework.registry import build_registry
from moorage.core.plugins.intree import INTREE, PRESETS

_VERSIONS = (API_VERSION, *older.OLDER)


@dataclasses.dataclass(frozen=True, slots=True)
class Found:
    """A document that can be converted, and what to call it."""

    source: str
    body: Mapping[str, Any]


@dataclasses.dataclass(frozen=True, slots=True)
class Report:
    """YAML to print, lines for people, and the exit status: 0 converted, 1 something can't be, 2 there was nothing to convert."""

    output: str
    lines: tuple[str, ...]
    status: int


def convert(sources: Sequence[tuple[str, str]], *, key: str | None = None, provider: str | None = None, share_all: bool = False) -> Report:
    """Convert texts, given with their names. ``key``: the only one to look at in ConfigMaps; ``provider``: an algorithm provider."""
    converting = _Converting(share_all)
    for source, text in sources:
        try:
            for found in _found(source, text, key):
                converting.take(found)
        except DocumentError as error:
            converting.errors.append(f"{source}: error: {error}")
    if provider is not None:
        if provider not in PROVIDERS:
            return Report("", (f"unknown algorithm provider {provider!r}: there were {' and '.join(PROVIDERS)}",), 2)
        converting.translate(f"--algorithm-provider {provider}", *policies.provider(provider))
    if converting.errors:
        return Report("", (*converting.warnings, *converting.errors), 1)
    if not converting.objects:
        names = ", ".join(name for name, _ in sources) or "nothing"
        return Report("", (f"there is no {KIND} and no Policy in {names}",), 2)
    output = "---\n".join(documents.dump(made) for made in converting.objects)
    return Report(output, (*converting.warnings, *_equal_names(converting.objects)), 0)


class _Converting:
    """Collects objects, warnings and errors over all documents."""

    def __init__(self, share_all: bool) -> None:
        self.objects: list[dict[str, Any]] = []
        self.warnings: list[str] = []
        self.errors: list[str] = []
        self._share_all = share_all
        self._resolver = Resolver(build_registry(INTREE), PRESETS)

    def take(self, found: Found) -> None:
        """Convert a document, whatever it is."""
        if policies.is_policy(found.body):
            try:
                self.translate(found.source, *policies.as_v1(found.body))
            except DecodeError as error:
                self._refuse(found.source, error.violations)
        elif found.body.get("apiVersion") in older.OLDER:
            self.translate(found.source, *older.as_v1(found.body))
        elif str(found.body.get("apiVersion", "")).startswith(f"{API_GROUP}/") and found.body["apiVersion"] != API_VERSION:
            text = f"only these versions can be converted: {', '.join(_VERSIONS)}"
            self._refuse(found.source, [Violation("apiVersion", found.body["apiVersion"], text)])
        else:
            self.translate(found.source, found.body, ())

    def translate(self, source: str, body: Mapping[str, Any], remarks: Iterable[Remark]) -> None:
        """Convert a KubeSchedulerConfiguration v1; ``remarks`` were made on the way to it."""
        try:
            loaded = read(body, self._resolver.registry)
        except Refused as refused:
            self._refuse(source, refused.violations)
            return
        made = translate(loaded, self._resolver, self.objects, share_all=self._share_all)
        self.objects += made.objects
        self.warnings += [f"{source}: warning: {remark}" for remark in (*remarks, *made.remarks)]

    def _refuse(self, source: str, violations: Iterable[Violation]) -> None:
        for one in violations:
            self.errors.append(f"{source}: error: {one.path}: {one.value!r}: {one.message}")


def _found(source: str, text: str, key: str | None) -> Iterator[Found]:
    """The documents in a text that are for us; those of Lists and ConfigMaps too. Raises DocumentError."""
    for number, document in enumerate(documents.load_all(text), start=1):
        if isinstance(document, dict):
            yield from _in_document(f"{source}: document {number}", document, key)


def _in_document(source: str, document: dict[str, Any], key: str | None) -> Iterator[Found]:
    kind, data, items = document.get("kind"), document.get("data"), document.get("items")
    if kind in ("List", "ConfigMapList") and isinstance(items, list):
        for i, item in enumerate(items):
            if isinstance(item, dict):
                yield from _in_document(f"{source}, item {i + 1}", item, key)
    elif kind == "ConfigMap" and isinstance(data, dict):
        for name, text in data.items():
            if isinstance(text, str) and key in (None, name):
                yield from _in_data(f"{source}, data[{name}]", text, required=key is not None)
    elif kind == KIND or str(document.get("apiVersion", "")).startswith(f"{API_GROUP}/") or policies.is_policy(document):
        yield Found(source, document)


def _in_data(source: str, text: str, *, required: bool) -> Iterator[Found]:
    """What a ConfigMap's value holds; without being asked for, it may hold anything."""
    try:
        yield from _found(source, text, None)
    except DocumentError as error:
        if required:
            raise DocumentError(f"{source}: {error}") from error


def _equal_names(objects: Iterable[Mapping[str, Any]]) -> Iterator[str]:
    """A warning for each profile whose name for pods another has already."""
    owners: dict[str, str] = {}
    for made in objects:
        if made["kind"] == "SchedulerProfile":
            name = bodies.scheduler_name(made)
            owner = owners.setdefault(name, made["metadata"]["name"])
            if owner != made["metadata"]["name"]:
                yield f"warning: SchedulerProfile {made['metadata']['name']}: {owner} has the schedulerName {name} too: only one is served"
