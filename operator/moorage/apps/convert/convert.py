"""The conversion: what kube-scheduler or another scheduler was configured with, found in files,
turned into SchedulerProfiles and PluginConfigs.

Other documents are passed over. Nothing is printed for use when anything can't be converted.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from moorage.api import bodies, yaml_documents
from moorage.api.resolution import Resolver
from moorage.api.yaml_documents import DocumentError
from moorage.apps.convert import custom_resources, feature_gates, source_documents
from moorage.apps.convert.feature_gates import FeatureGateError
from moorage.apps.convert.kube_configuration import (
    API_GROUP,
    API_VERSION,
    DEFAULT_SCHEDULER,
    KIND,
)
from moorage.apps.convert.legacy.reader import (
    PROVIDERS,
    VERSIONS,
    LegacyReader,
    is_policy,
    provider_configuration,
)
from moorage.apps.convert.loading import ConfigurationRefused, read
from moorage.apps.convert.origins.known_origins import KUBE_SCHEDULER, ORIGINS
from moorage.apps.convert.origins.origin import Origin
from moorage.apps.convert.remarks import ConversionRemark
from moorage.apps.convert.removed_plugins import without_removed
from moorage.apps.convert.source_documents import SourceDocument, WantedDocuments
from moorage.apps.convert.translation import refusals, translate
from moorage.core.framework.arguments import Violation
from moorage.core.framework.registry import build_registry
from moorage.core.plugins.intree import INTREE, PRESETS

_VERSIONS = (API_VERSION, *VERSIONS)


@dataclasses.dataclass(frozen=True, slots=True)
class ConversionReport:
    """YAML to print, lines for people, and the exit status: 0 converted, 1 something can't be, 2
    there was nothing to convert.
    """

    output: str
    lines: tuple[str, ...]
    status: int


@dataclasses.dataclass(frozen=True, slots=True)
class ConversionOptions:
    """The flags of `moorage convert`."""

    from_: str = KUBE_SCHEDULER
    key: str | None = None
    """The only one to look at in ConfigMaps."""
    algorithm_provider: str | None = None
    feature_gates: str = ""
    plugin_configs: bool = False
    """All arguments become PluginConfigs, not only those that profiles have in common."""

    def misuse(self) -> str:
        """What is wrong with them; "" if nothing is."""
        if self.algorithm_provider not in (None, *PROVIDERS):
            known = " and ".join(PROVIDERS)
            return f"unknown algorithm provider {self.algorithm_provider!r}: there were {known}"
        if self.from_ != KUBE_SCHEDULER and (self.algorithm_provider or self.feature_gates):
            return "--algorithm-provider and --feature-gates are flags of kube-scheduler"
        return ""


def convert(
    sources: Sequence[tuple[str, str]], options: ConversionOptions | None = None
) -> ConversionReport:
    """Convert texts, given with their names."""
    options = options or ConversionOptions()
    if misuse := options.misuse():
        return ConversionReport("", (misuse,), 2)
    try:
        gates = feature_gates.read_gates(options.feature_gates)
    except FeatureGateError as error:
        return ConversionReport("", (f"--feature-gates: {error}",), 2)
    converting = _Converting(ORIGINS.get(options.from_), options.plugin_configs)
    for source, text in sources:
        converting.take_all(source, text, options.key)
    if provider := options.algorithm_provider:
        converting.translate(f"--algorithm-provider {provider}", *provider_configuration(provider))
    converting.warn("--feature-gates", feature_gates.remarks(gates))
    return converting.report(", ".join(name for name, _ in sources) or "nothing")


class _Converting:
    """Collects objects, warnings and errors over all documents."""

    def __init__(self, origin: Origin | None, share_all: bool) -> None:
        self._origin = origin
        self._objects: list[dict[str, Any]] = []
        self._warnings: list[str] = []
        self._errors: list[str] = []
        self._share_all = share_all
        self._legacy = LegacyReader()
        self._resolver = Resolver(build_registry(INTREE), PRESETS)

    def take_all(self, source: str, text: str, key: str | None) -> None:
        """Convert what is found in a text, as far as that can be read."""
        try:
            if self._origin is not None:
                for found in _found(source, text, key, self._origin.wanted):
                    self._take_theirs(found, self._origin)
            if self._origin is None or self._origin.manager:
                for found in _found(source, text, key, _OURS):
                    self._take(found)
        except DocumentError as error:
            self._errors.append(f"{source}: error: {error}")

    def _take_theirs(self, found: SourceDocument, origin: Origin) -> None:
        """Convert a document that only users of this scheduler have."""
        if found.repeated:
            self._errors.append(f"{found.source}: error: not readable as YAML: {found.repeated[0]}")
            return
        made = origin.convert(found.body)
        profiles: list[dict[str, Any]] = []
        for spec in made.specs:
            rest = {field: value for field, value in spec.items() if field != "schedulerName"}
            others = [*self._objects, *profiles]
            profiles.append(custom_resources.profile(spec["schedulerName"], rest, others))
        self._objects += profiles
        self.warn(found.source, (*made.remarks, *refusals(profiles, (), self._resolver)))

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
            what = f"{KIND} and no Policy" if self._origin is None else self._origin.what
            return ConversionReport("", (f"there is no {what} in {names}",), 2)
        self._warnings += self._unstoppable()
        output = "---\n".join(yaml_documents.dump(made) for made in self._objects)
        return ConversionReport(output, (*self._warnings, *_equal_names(self._objects)), 0)

    def _unstoppable(self) -> Iterator[str]:
        """A warning for each profile whose name the cluster's own scheduler never gives away."""
        manager = "" if self._origin is None else self._origin.manager
        for made in self._objects if manager else ():
            if bodies.scheduler_name(made) == DEFAULT_SCHEDULER:
                yield (
                    f"warning: SchedulerProfile {made['metadata']['name']}: nobody but {manager} "
                    "can stop its kube-scheduler, which has this name: give the profile another "
                    "schedulerName, and its pods too"
                )

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


def _found(
    source: str, text: str, key: str | None, wanted: WantedDocuments
) -> Iterator[SourceDocument]:
    if key is None:
        return source_documents.found(source, text, wanted)
    return source_documents.found_at(source, text, key, wanted)


def _is_ours(document: Mapping[str, Any]) -> bool:
    return (
        document.get("kind") == KIND
        or str(document.get("apiVersion", "")).startswith(f"{API_GROUP}/")
        or is_policy(document)
    )


_OURS = WantedDocuments(_is_ours, (KIND, "Policy"))


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
