"""The conversion: what kube-scheduler was configured with, found in files, turned into
SchedulerProfiles and PluginConfigs.

A file may hold several documents: KubeSchedulerConfigurations, Policies, and objects that have them
inside, as ConfigMaps do, in a field or as a text. Other documents are passed over. Nothing is
printed for use when anything can't be converted.
"""

from __future__ import annotations

import contextlib
import dataclasses
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from moorage.api import bodies, yaml_documents
from moorage.api.resolution import Resolver
from moorage.api.yaml_documents import DocumentError
from moorage.apps.convert import feature_gates
from moorage.apps.convert.feature_gates import FeatureGateError
from moorage.apps.convert.kube_configuration import API_GROUP, API_VERSION, KIND
from moorage.apps.convert.legacy.reader import (
    PROVIDERS,
    VERSIONS,
    LegacyReader,
    is_policy,
    provider_configuration,
)
from moorage.apps.convert.loading import ConfigurationRefused, read
from moorage.apps.convert.remarks import ConversionRemark
from moorage.apps.convert.removed_plugins import without_removed
from moorage.apps.convert.translation import translate
from moorage.core.framework.arguments import Violation
from moorage.core.framework.registry import build_registry
from moorage.core.plugins.intree import INTREE, PRESETS

_VERSIONS = (API_VERSION, *VERSIONS)


@dataclasses.dataclass(frozen=True, slots=True)
class SourceDocument:
    """A document that can be converted, and what to call it."""

    source: str
    body: Mapping[str, Any]
    repeated: tuple[str, ...] = ()
    """Keys that come twice in the file's document."""

    def with_repeated(self, repeated: tuple[str, ...]) -> SourceDocument:
        """The same; a text within a text has its own."""
        return dataclasses.replace(self, repeated=self.repeated or repeated)


@dataclasses.dataclass(frozen=True, slots=True)
class ConversionReport:
    """YAML to print, lines for people, and the exit status: 0 converted, 1 something can't be, 2
    there was nothing to convert.
    """

    output: str
    lines: tuple[str, ...]
    status: int


def convert(
    sources: Sequence[tuple[str, str]],
    *,
    key: str | None = None,
    provider: str | None = None,
    gates: str = "",
    share_all: bool = False,
) -> ConversionReport:
    """Convert texts, given with their names. ``key``: the only one to look at in ConfigMaps;
    ``provider``: an algorithm provider; ``gates``: the flag ``--feature-gates``.
    """
    if provider not in (None, *PROVIDERS):
        text = f"unknown algorithm provider {provider!r}: there were {' and '.join(PROVIDERS)}"
        return ConversionReport("", (text,), 2)
    try:
        given = feature_gates.read_gates(gates)
    except FeatureGateError as error:
        return ConversionReport("", (f"--feature-gates: {error}",), 2)
    converting = _Converting(share_all)
    for source, text in sources:
        found = _found(source, text) if key is None else _of_key(source, text, key)
        converting.take_all(source, found)
    if provider is not None:
        converting.translate(f"--algorithm-provider {provider}", *provider_configuration(provider))
    converting.warn("--feature-gates", feature_gates.remarks(given))
    return converting.report(", ".join(name for name, _ in sources) or "nothing")


class _Converting:
    """Collects objects, warnings and errors over all documents."""

    def __init__(self, share_all: bool) -> None:
        self._objects: list[dict[str, Any]] = []
        self._warnings: list[str] = []
        self._errors: list[str] = []
        self._share_all = share_all
        self._legacy = LegacyReader()
        self._resolver = Resolver(build_registry(INTREE), PRESETS)

    def take_all(self, source: str, documents: Iterable[SourceDocument]) -> None:
        """Convert what is found in a text, as far as that can be read."""
        try:
            for found in documents:
                self._take(found)
        except DocumentError as error:
            self._errors.append(f"{source}: error: {error}")

    def _take(self, found: SourceDocument) -> None:
        """Convert a document, whatever it is."""
        version = str(found.body.get("apiVersion", ""))
        if (old := self._legacy.read(found.source, found.body, found.repeated)) is not None:
            self.warn(found.source, old.warnings)
            self._refuse(found.source, old.violations)
            if old.body is not None:
                self.translate(found.source, old.body, old.remarks)
        elif found.repeated:
            self._errors.append(f"{found.source}: error: not readable as YAML: {found.repeated[0]}")
        elif version.startswith(f"{API_GROUP}/") and version != API_VERSION:
            text = f"only these versions can be converted: {', '.join(_VERSIONS)}"
            self._refuse(found.source, [Violation("apiVersion", found.body["apiVersion"], text)])
        else:
            self.translate(found.source, *without_removed(found.body, {}))

    def report(self, names: str) -> ConversionReport:
        """What came of it, after the last document."""
        missing = [f"{source}: error: {text}" for source, text in self._legacy.missing()]
        if errors := (*self._errors, *missing):
            return ConversionReport("", (*self._warnings, *errors), 1)
        if not self._objects:
            return ConversionReport("", (f"there is no {KIND} and no Policy in {names}",), 2)
        output = "---\n".join(yaml_documents.dump(made) for made in self._objects)
        return ConversionReport(output, (*self._warnings, *_equal_names(self._objects)), 0)

    def translate(
        self, source: str, body: Mapping[str, Any], remarks: Iterable[ConversionRemark]
    ) -> None:
        """Convert a KubeSchedulerConfiguration v1; ``remarks`` were made on the way to it."""
        try:
            loaded = read(body, self._resolver.registry)
        except ConfigurationRefused as refused:
            self._refuse(source, refused.violations)
            return
        made = translate(loaded, self._resolver, self._objects, share_all=self._share_all)
        self._objects += made.objects
        self.warn(source, (*remarks, *made.remarks))

    def warn(self, source: str, remarks: Iterable[ConversionRemark]) -> None:
        """Say this with the result."""
        self._warnings += [f"{source}: warning: {remark}" for remark in remarks]

    def _refuse(self, source: str, violations: Iterable[Violation]) -> None:
        for one in violations:
            self._errors.append(f"{source}: error: {one.path}: {one.value!r}: {one.message}")


def _found(source: str, text: str) -> Iterator[SourceDocument]:
    """The documents in a text that are for us, wherever in it they are. Raises DocumentError."""
    for number, (document, repeated) in enumerate(yaml_documents.load_leniently(text), start=1):
        yield from (
            found.with_repeated(repeated)
            for found in _within(f"{source}: document {number}", document)
        )


def _within(source: str, value: Any) -> Iterator[SourceDocument]:
    """A document of ours, or those that others hold: Lists, ConfigMaps, what providers of clusters
    wrap a configuration into.
    """
    if isinstance(value, dict) and _is_ours(value):
        yield SourceDocument(source, value)
    elif isinstance(value, dict):
        for name, one in value.items():
            place = f"data[{name}]" if source.endswith(", data") else name
            yield from _within(f"{source.removesuffix(', data')}, {place}", one)
    elif isinstance(value, list):
        for i, one in enumerate(value, start=1):
            yield from _within(f"{source.removesuffix(', items')}, item {i}", one)
    elif isinstance(value, str) and any(kind in value for kind in (KIND, "Policy")):
        with contextlib.suppress(DocumentError):  # a text that only speaks of it
            yield from _found(source, value)


def _of_key(source: str, text: str, key: str) -> Iterator[SourceDocument]:
    """What this key of a ConfigMap holds, which must be readable. Raises DocumentError."""
    for number, document in enumerate(yaml_documents.load_all(text), start=1):
        for place, one in _config_maps(f"{source}: document {number}", document):
            data = one.get("data")
            if isinstance(data, dict) and isinstance(data.get(key), str):
                where = f"{place}, data[{key}]"
                try:
                    yield from _found(where, data[key])
                except DocumentError as error:
                    raise DocumentError(f"{where}: {error}") from error


def _config_maps(place: str, document: Any) -> Iterator[tuple[str, dict[str, Any]]]:
    if not isinstance(document, dict):
        return
    if document.get("kind") == "ConfigMap":
        yield place, document
    elif document.get("kind") in ("List", "ConfigMapList"):
        for i, item in enumerate(document.get("items") or (), start=1):
            yield from _config_maps(f"{place}, item {i}", item)


def _is_ours(document: Mapping[str, Any]) -> bool:
    return (
        document.get("kind") == KIND
        or str(document.get("apiVersion", "")).startswith(f"{API_GROUP}/")
        or is_policy(document)
    )


def _equal_names(objects: Iterable[Mapping[str, Any]]) -> Iterator[str]:
    """A warning for each profile whose name for pods another has already."""
    owners: dict[str, str] = {}
    for made in objects:
        if made["kind"] == "SchedulerProfile":
            name = bodies.scheduler_name(made)
            owner = owners.setdefault(name, made["metadata"]["name"])
            if owner != made["metadata"]["name"]:
                yield (
                    f"warning: SchedulerProfile {made['metadata']['name']}: {owner} has the "
                    f"schedulerName {name} too: only one is served"
                )
