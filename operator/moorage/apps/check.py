"""The check: what the operator would say to SchedulerProfiles and PluginConfigs, told from files,
without a cluster.

Everything that is given is checked together, as if it were applied together: references lead to the
PluginConfigs among the files. Objects of other kinds are none of ours and are counted only.
"""

from __future__ import annotations

import dataclasses
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from kubefacts import names
from moorage.api import bodies
from moorage.api.operator_config import OperatorConfiguration
from moorage.api.resolution import Resolver
from moorage.api.resolved_profile import Resolution
from moorage.api.v1alpha1.common import API_VERSION, GROUP
from moorage.api.yaml_documents import DocumentError
from moorage.apps.commands.input_files import STDIN
from moorage.apps.object_files import Document, documents_of, files_in
from moorage.apps.printing.amounts import counted
from moorage.apps.run import plugin_packages
from moorage.apps.run.watchdog import CallMarks
from moorage.core.framework.registry import build_registry
from moorage.core.plugins.intree import INTREE, PRESETS
from moorage.engine.binding.actors.intree import ACTORS

PROFILE = "SchedulerProfile"
CONFIG = "PluginConfig"


@dataclasses.dataclass(frozen=True, slots=True)
class CheckReport:
    """What to print, and the exit status: 0 all is well, 1 something is wrong, 2 nothing could be
    checked.
    """

    lines: tuple[str, ...]
    status: int
    document: Mapping[str, Any] = dataclasses.field(default_factory=dict, compare=False)
    """The same for programs."""


class Finding(NamedTuple):
    """Something about a document: an error, or what is right and does nothing."""

    document: Document
    text: str
    warns: bool = False

    @property
    def line(self) -> str:
        """For people."""
        return self.document.fault(f"warning: {self.text}" if self.warns else self.text)


def check(paths: Sequence[Path], config: OperatorConfiguration | None = None) -> CheckReport:
    """Check files, and folders of files, as an operator of this configuration would. Raises
    PackageErrors.
    """
    resolver = resolver_for(config or OperatorConfiguration())
    if absent := [path for path in paths if path != STDIN and not path.exists()]:
        return CheckReport(tuple(f"{path}: no such file" for path in absent), 2)
    found, faults = _read(paths)
    ours = [document for document in found if _is_ours(document)]
    findings = list(_findings(ours, resolver))
    if not ours and not faults:
        text = f"there is no {PROFILE} and no {CONFIG} in {', '.join(map(str, paths))}"
        return CheckReport((text,), 2)
    more = len(found) - len(ours)
    others = f", {more} of other kinds passed over" if more else ""
    errors = len(faults) + sum(not one.warns for one in findings)
    summary = f"{counted(len(ours), 'object')} checked{others}: "
    summary += counted(errors, "error") if errors else "no errors"
    if warnings := sum(one.warns for one in findings):
        summary += f", {counted(warnings, 'warning')}"
    lines = (*faults, *(one.line for one in findings), summary)
    return CheckReport(lines, 1 if errors else 0, _document(summary, ours, faults, findings))


def _read(paths: Iterable[Path]) -> tuple[list[Document], list[str]]:
    """All objects, and why files cannot be read."""
    faults: list[str] = []
    found: list[Document] = []
    for file in files_in(paths):
        try:
            found += documents_of(file)
        except (DocumentError, OSError, UnicodeDecodeError) as error:
            faults.append(f"{file}: {error}")
    return found, faults


def _is_ours(document: Document) -> bool:
    """Whether it is of our API group, in whatever version."""
    return document.api_version.partition("/")[0] == GROUP


def resolver_for(config: OperatorConfiguration) -> Resolver:
    """With the plugins of the packages too."""
    joined = plugin_packages.load(
        config.plugins.packages,
        build_registry(INTREE),
        ACTORS,
        CallMarks(),
        lambda plugin, point: None,
    )
    return Resolver(joined.registry, PRESETS, config)


def _findings(ours: Sequence[Document], resolver: Resolver) -> Iterator[Finding]:
    """All that is wrong with our objects, in the files' order, and what has no effect."""
    configs = {document.name: document.body for document in ours if document.kind == CONFIG}
    counted = Counter((document.kind, document.name) for document in ours)
    owners: dict[str, str] = {}
    for document in ours:
        if (outside := _outside(document)) is not None:
            yield Finding(document, outside)
            continue
        for rule in names.dns_subdomain(document.name):
            yield Finding(document, f"metadata.name: {document.name!r}: {rule}")
        if counted[document.kind, document.name] > 1:
            text = "metadata.name: there is more than one object of this kind and name"
            yield Finding(document, text)
        if document.kind == CONFIG:
            faults = [str(error) for error in resolver.config_errors(document.body)]
            yield from (Finding(document, text) for text in faults)
            continue
        resolution = resolver(document.body, configs)
        faults = [*map(str, resolution.errors), *_served_already(document, owners)]
        yield from (Finding(document, text) for text in faults)
        if not resolution.errors:
            yield from (Finding(document, text, warns=True) for text in _idle(resolution))


def _idle(resolution: Resolution) -> Iterator[str]:
    """Arguments of plugins that are not enabled, and weights of such as do not score: the operator
    takes them, as kube-scheduler does.
    """
    points = resolution.profile["spec"].get("plugins") or {}
    for i, entry in enumerate((points.get("multiPoint") or {}).get("enabled") or ()):
        name, weight = entry["name"], entry.get("weight")
        if weight and name not in resolution.revision.weights:
            path = f"spec.plugins.multiPoint.enabled[{i}].weight"
            yield f"{path}: {weight}: {name} does not score here: this has no effect"
    for i, entry in enumerate(resolution.profile["spec"].get("pluginConfig") or ()):
        name = entry["name"]
        if name not in resolution.revision.deciders:
            yield f"spec.pluginConfig[{i}].name: {name} is not enabled: this has no effect"


def _document(
    answer: str, ours: Sequence[Document], faults: Sequence[str], findings: Sequence[Finding]
) -> dict[str, Any]:
    """``unreadable``: what is wrong with files, one text each."""

    def texts(of: Document, *, warns: bool) -> list[str]:
        return [one.text for one in findings if one.document is of and one.warns == warns]

    return {
        "answer": answer,
        "unreadable": list(faults),
        "objects": [
            {
                "file": str(one.file),
                "kind": one.kind,
                "name": one.name,
                "errors": texts(one, warns=False),
                "warnings": texts(one, warns=True),
            }
            for one in ours
        ],
    }


def _served_already(document: Document, owners: dict[str, str]) -> Iterator[str]:
    """``owners``: which profile has which name for pods; adds this one."""
    owner = owners.setdefault(bodies.scheduler_name(document.body), document.name)
    if owner != document.name:
        yield (
            f"spec.schedulerName: {owner} has this name for pods already, or gets it by its own "
            f"name"
        )


def _outside(document: Document) -> str | None:
    """What is wrong before the spec is looked at."""
    if document.api_version != API_VERSION:
        return f"apiVersion: {document.body.get('apiVersion')!r}: only {API_VERSION} is served"
    if document.kind not in (PROFILE, CONFIG):
        return f"kind: {document.kind!r}: {API_VERSION} has the kinds {PROFILE} and {CONFIG}"
    if not document.name:
        return "metadata.name: Required value"
    return None if "spec" in document.body else "spec: Required value"
