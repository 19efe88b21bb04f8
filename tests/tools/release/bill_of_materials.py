"""The bill of materials: what is in the image beside Python, as CycloneDX.

Names and versions are those of requirements/run.txt. Who needs whom, and licences, are read in the
metadata of the environment that builds the release, which has the same versions.
"""

from __future__ import annotations

import hashlib
import importlib.metadata
import re
import uuid
from collections.abc import Iterable, Mapping
from datetime import UTC, datetime
from pathlib import Path

from cyclonedx.contrib.license.factories import LicenseFactory
from cyclonedx.model import HashAlgorithm, HashType
from cyclonedx.model.bom import Bom, BomMetaData
from cyclonedx.model.component import Component, ComponentType
from cyclonedx.output.json import JsonV1Dot6
from packageurl import PackageURL
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

from tests.tools.release.checkout import Checkout

_PIN = re.compile(r"^([a-zA-Z0-9._-]+)==(\S+)", re.MULTILINE)


def bill_of_materials(checkout: Checkout, wheels: Mapping[str, Path]) -> str:
    """JSON. ``wheels``: our own distributions by name."""
    pins = dict(_PIN.findall((checkout.root / "requirements" / "run.txt").read_text()))
    parts = {name: _component(name, version) for name, version in pins.items()}
    needed = {name: importlib.metadata.requires(name) or [] for name in pins}
    for folder in checkout.projects():
        project = checkout.project(folder)
        name = project["name"]
        parts[name] = _component(name, project["version"], wheels[name])
        needed[name] = project["dependencies"]
    bom = Bom(
        components=[part for name, part in parts.items() if name != "moorage"],
        serial_number=uuid.uuid5(uuid.NAMESPACE_DNS, f"{checkout.version}-{checkout.epoch}"),
        metadata=BomMetaData(
            component=parts["moorage"], timestamp=datetime.fromtimestamp(checkout.epoch, UTC)
        ),
    )
    for name, requirements in needed.items():
        bom.register_dependency(parts[name], [parts[one] for one in _present(requirements, parts)])
    return str(JsonV1Dot6(bom).output_as_string(indent=2)) + "\n"


def _component(name: str, version: str, wheel: Path | None = None) -> Component:
    licence = (importlib.metadata.metadata(name).get_all("License-Expression") or [""])[0]
    hashes = []
    if wheel is not None:
        content = hashlib.sha256(wheel.read_bytes()).hexdigest()
        hashes.append(HashType(alg=HashAlgorithm.SHA_256, content=content))
    url = PackageURL("pypi", None, name, version)
    return Component(
        name=name,
        version=version,
        type=ComponentType.APPLICATION if name == "moorage" else ComponentType.LIBRARY,
        purl=url,
        bom_ref=str(url),
        hashes=hashes,
        licenses=[LicenseFactory().make_from_string(licence)] if licence else [],
    )


def _present(requirements: Iterable[str], parts: Mapping[str, Component]) -> list[str]:
    """Names of what is required here; extras are not."""
    found = []
    for text in requirements:
        one = Requirement(text)
        if one.marker is None or one.marker.evaluate({"extra": ""}):
            found.append(canonicalize_name(one.name))
    return [name for name in found if name in parts]
