"""The plugin for kubectl as krew installs it: an archive with the wheels, and its manifest."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import yaml

from tests.tools.release.archives import Entry, tgz
from tests.tools.release.checkout import Checkout

_PROGRAM = "kubectl-moorage"
_NOWHERE = "https://moorage.invalid"
"""Where the archive is unless it is said: krew takes it from --archive then."""


def archive_name(version: str) -> str:
    """The archive's file name."""
    return f"{_PROGRAM}-{version}.tar.gz"


def archive(checkout: Checkout, wheels: Iterable[Path]) -> bytes:
    """The wheels, what they need with its hashes, and a program that installs both once."""
    program = Path(__file__).with_name(f"{_PROGRAM}.sh").read_text()
    entries = {wheel.name: Entry(wheel.read_bytes()) for wheel in wheels}
    entries["LICENSE"] = Entry((checkout.root / "LICENSE").read_bytes())
    entries["run.txt"] = Entry((checkout.root / "requirements" / "run.txt").read_bytes())
    content = program.replace("@VERSION@", checkout.version).encode()
    return tgz({**entries, _PROGRAM: Entry(content, executable=True)}, checkout.epoch)


def manifest(version: str, packed: bytes, url: str | None) -> str:
    """What krew reads. ``url``: the folder that the release's files are uploaded to."""
    platform: dict[str, Any] = {
        "selector": {"matchLabels": {"os": "linux"}},
        "uri": f"{(url or _NOWHERE).rstrip('/')}/{archive_name(version)}",
        "sha256": hashlib.sha256(packed).hexdigest(),
        "bin": _PROGRAM,
        "files": [{"from": "*", "to": "."}],
    }
    spec = {
        "version": f"v{version}",
        "shortDescription": "See why pods wait, and what would help",
        "description": "The commands of Moorage, a scheduler whose profiles are custom resources.",
        "caveats": "It needs Python 3.11 or newer, and installs its packages at the first call.",
        "platforms": [platform],
    }
    body = {
        "apiVersion": "krew.googlecontainertools.github.com/v1alpha2",
        "kind": "Plugin",
        "metadata": {"name": "moorage"},
        "spec": spec,
    }
    return yaml.safe_dump(body, sort_keys=False)
