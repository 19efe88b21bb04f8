"""The check: what the operator would say to SchedulerProfiles and PluginConfigs, told from files,
without a cluster.

Everything that is given is checked together, as if it were applied together: references lead to the
PluginConfigs among the files. Objects of other kinds are none of ours and are counted only.
"""

from __future__ import annotations

import dataclasses
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path

from moorage.api import bodies
from moorage.api.operator_config import OperatorConfiguration
from moorage.api.resolution import Resolver
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


def check(paths: Sequence[Path], config: OperatorConfiguration | None = None) -> CheckReport:
    """Check files, and folders of files, as an operator of this configuration would. Raises
    PackageErrors.
    """
    resolver = resolver_for(config or OperatorConfiguration())
    if absent := [path for path in paths if path != STDIN and not path.exists()]:
        return CheckReport(tuple(f"{path}: no such file" for path in absent), 2)
    found, faults = _read(paths)
    ours = [document for document in found if _is_ours(document)]
    faults += _faults(ours, resolver)
    if not ours and not faults:
        text = f"there is no {PROFILE} and no {CONFIG} in {', '.join(map(str, paths))}"
        return CheckReport((text,), 2)
    more = len(found) - len(ours)
    others = f", {more} of other kinds passed over" if more else ""
    errors = counted(len(faults), "error") if faults else "no errors"
    summary = f"{counted(len(ours), 'object')} checked{others}: {errors}"
    return CheckReport((*faults, summary), 1 if faults else 0)


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


def _faults(ours: Sequence[Document], resolver: Resolver) -> Iterator[str]:
    """All that is wrong with our objects, in the files' order."""
    configs = {document.name: document.body for document in ours if document.kind == CONFIG}
    counted = Counter((document.kind, document.name) for document in ours)
    names: dict[str, str] = {}
    for document in ours:
        if (outside := _outside(document)) is not None:
            yield document.fault(outside)
            continue
        if counted[document.kind, document.name] > 1:
            text = "metadata.name: there is more than one object of this kind and name"
            yield document.fault(text)
        if document.kind == CONFIG:
            yield from map(document.fault, resolver.config_errors(document.body))
        else:
            yield from map(document.fault, resolver(document.body, configs).errors)
            yield from map(document.fault, _served_already(document, names))


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
    return None if document.name else "metadata.name: Required value"
