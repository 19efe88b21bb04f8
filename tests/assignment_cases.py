"""The table assignment_cases.yaml as objects: for whoever asks Python, and whoever asks an API
server.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, Final, NamedTuple

from moorage.api import yaml_documents

EVERYTHING: Final[dict[str, Any]] = {"namespaceSelector": {}, "podSelector": {}}
_GIVEN: Final = ("default", "kube-system")
"""Namespaces that every cluster has."""


class Case(NamedTuple):
    """A profile, a namespace, a pod that is created in it, and the schedulerName that it gets."""

    name: str
    profile: dict[str, Any]
    namespace: dict[str, Any]
    pod: dict[str, Any]
    gets: str

    @property
    def is_assigned(self) -> bool:
        """Whether the profile's condition says so."""
        conditions = self.profile["status"]["conditions"]
        return ("Assigned", "True") in {(one["type"], one["status"]) for one in conditions}

    @property
    def is_given(self) -> bool:
        """Whether the namespace is there already."""
        return self.namespace["metadata"]["name"] in _GIVEN


def _cases() -> Iterator[Case]:
    path = Path(__file__).with_suffix(".yaml")
    (rows,) = yaml_documents.load_all(path.read_text(encoding="utf-8"))
    for number, row in enumerate(rows):
        namespace = _namespace(row.get("namespace", {}), f"assignment-{number}")
        name = namespace["metadata"]["name"]
        yield Case(row["name"], _profile(row), namespace, _pod(row, name), row["gets"])


def _profile(row: Mapping[str, Any]) -> dict[str, Any]:
    assign = row.get("assign", EVERYTHING)
    spec = {**({"assign": assign} if assign else {}), **row.get("profile", {})}
    return a_profile("case", spec, row.get("status", "True"))


def a_profile(name: str, spec: Mapping[str, Any], assigned: str = "True") -> dict[str, Any]:
    """A profile with the condition Assigned in this state; "" for without it."""
    about = {"reason": "X", "message": "", "lastTransitionTime": "2026-01-01T00:00:00Z"}
    return {
        "apiVersion": "moorage.dev/v1alpha1",
        "kind": "SchedulerProfile",
        "metadata": {"name": name, "creationTimestamp": "2026-01-01T00:00:00Z"},
        "spec": spec,
        "status": {
            "conditions": [
                {"type": "Active", "status": "True", **about},
                *([{"type": "Assigned", "status": assigned, **about}] if assigned else ()),
            ]
        },
    }


def _namespace(said: str | Mapping[str, str], made: str) -> dict[str, Any]:
    """With the label that the API server gives it."""
    name, labels = (said, {}) if isinstance(said, str) else (made, said)
    labels = {**labels, "kubernetes.io/metadata.name": name}
    return {
        "apiVersion": "v1",
        "kind": "Namespace",
        "metadata": {"name": name, "labels": labels},
    }


def _pod(row: Mapping[str, Any], namespace: str) -> dict[str, Any]:
    said = row.get("pod", {})
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": "pod", "namespace": namespace, **said.get("metadata", {})},
        "spec": {
            "schedulerName": "default-scheduler",
            "containers": [{"name": "c", "image": "i"}],
            **said.get("spec", {}),
        },
    }


CASES: Final = tuple(_cases())
