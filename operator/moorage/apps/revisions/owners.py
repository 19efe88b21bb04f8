"""Owners: who else writes a profile's spec, by its managed fields, labels and annotations, and what
they will do when somebody else has changed it.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable, Mapping
from typing import Any, Final

from moorage.api.bodies import Body

_MANAGERS: Final = {
    "argocd-controller": "Argo CD",
    "argocd-application-controller": "Argo CD",
    "kustomize-controller": "Flux",
    "helm-controller": "Flux",
    "flux": "Flux",
}
"""Field managers that write again and again what their source says."""
_TRACKING: Final = "argocd.argoproj.io/tracking-id"
_INSTANCE: Final = "argocd.argoproj.io/instance"
_FLUX: Final = (
    ("kustomization", "kustomize.toolkit.fluxcd.io"),
    ("helmrelease", "helm.toolkit.fluxcd.io"),
)


@dataclasses.dataclass(frozen=True, slots=True)
class Owner:
    """Who has written fields that are to change; ``tool``: the GitOps tool that it is, "" for
    somebody who writes once.
    """

    manager: str
    fields: tuple[str, ...]
    tool: str
    advice: str = ""

    @property
    def sentence(self) -> str:
        """What it will do; "" for nothing."""
        if not self.tool:
            return ""
        owns = f"owns {', '.join(self.fields)}" if self.fields else "keeps this profile"
        advice = f": {self.advice}" if self.advice else ""
        return (
            f"{self.manager} {owns} and will undo this at its next sync; change its source, or "
            f"pause it{advice}"
        )


def owners(profile: Body, changed: Iterable[str]) -> list[Owner]:
    """Who has written these fields of the spec, and the tools that keep the object even if no field
    of these is theirs.
    """
    fields, metadata = set(changed), profile["metadata"]
    advice = dict(_keepers(metadata))
    found = []
    for manager, owned in _by_manager(metadata).items():
        mine, tool = sorted(owned & fields), _MANAGERS.get(manager, "")
        if mine or (tool and owned):  # what others have changed since may be theirs by now
            named = tuple(f"spec.{field}" for field in mine)
            found.append(Owner(manager, named, tool, advice.get(tool, "")))
    told = {owner.tool for owner in found}
    return found + [Owner(tool, (), tool, how) for tool, how in advice.items() if tool not in told]


def _by_manager(metadata: Mapping[str, Any]) -> dict[str, set[str]]:
    """Field manager -> fields of the spec that it owns."""
    found: dict[str, set[str]] = {}
    for entry in metadata.get("managedFields") or ():
        spec = (entry.get("fieldsV1") or {}).get("f:spec") or {}
        names = {name.removeprefix("f:") for name in spec if name.startswith("f:")}
        found.setdefault(str(entry.get("manager", "")), set()).update(names)
    return found


def _keepers(metadata: Mapping[str, Any]) -> Iterable[tuple[str, str]]:
    """(tool, how to pause it) by the marks that tools leave."""
    labels = metadata.get("labels") or {}
    tracking = str((metadata.get("annotations") or {}).get(_TRACKING, ""))
    if application := tracking.partition(":")[0] or labels.get(_INSTANCE):
        yield "Argo CD", f"argocd app set {application} --sync-policy none"
    for kind, domain in _FLUX:
        if name := labels.get(f"{domain}/name"):
            namespace = labels.get(f"{domain}/namespace", "flux-system")
            yield "Flux", f"flux suspend {kind} {name} -n {namespace}"
