"""Objects on a control plane without kubectl, which takes a quarter of a second of CPU and is not
everywhere.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, Final

import yaml

from tests.rig.base import ControlPlane
from tests.rig.clients import Client

_STRICTLY: Final = "fieldValidation=Strict"


def create(rig: ControlPlane, *objects: Mapping[str, Any]) -> None:
    """Create objects as the administrator. Raises RigError with the API server's words when it
    refuses one.
    """
    with contextlib.closing(Client(rig)) as client:
        for body in objects:
            client.post(f"{_collection(client, body)}?{_STRICTLY}", body)


def apply(rig: ControlPlane, *objects: Mapping[str, Any]) -> None:
    """Create objects, or make them so: what an earlier call said of them and this one does not
    goes.

    Namespaces come first, as with kubectl.
    """
    with contextlib.closing(Client(rig)) as client:
        for body in sorted(objects, key=lambda body: body["kind"] != "Namespace"):
            path = f"{_collection(client, body)}/{body['metadata']['name']}"
            client.request(
                "PATCH",
                f"{path}?fieldManager=test&force=true&{_STRICTLY}",
                body,
                "application/apply-patch+yaml",
            )


def delete(rig: ControlPlane, *objects: Mapping[str, Any]) -> None:
    """Delete objects."""
    with contextlib.closing(Client(rig)) as client:
        for body in objects:
            client.delete(f"{_collection(client, body)}/{body['metadata']['name']}")


def read(path: Path) -> Iterator[dict[str, Any]]:
    """The objects of a YAML file, of a folder, or of the resources of a folder's kustomization,
    which is not looked at otherwise.
    """
    if path.is_file():
        yield from filter(None, yaml.safe_load_all(path.read_text(encoding="utf-8")))
        return
    listed = path / "kustomization.yaml"
    names = (
        yaml.safe_load(listed.read_text(encoding="utf-8"))["resources"]
        if listed.exists()
        else sorted(path.glob("*.yaml"))
    )
    for name in names:
        yield from read(path / name)


def _collection(client: Client, body: Mapping[str, Any]) -> str:
    """Where objects of this kind are, as discovery says."""
    version = body["apiVersion"]
    root = f"/apis/{version}" if "/" in version else f"/api/{version}"
    kinds = client.get(root)["resources"]
    found = next(each for each in kinds if each["kind"] == body["kind"] and "/" not in each["name"])
    place = (
        f"/namespaces/{body['metadata'].get('namespace', 'default')}" if found["namespaced"] else ""
    )
    return f"{root}{place}/{found['name']}"
