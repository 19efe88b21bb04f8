"""The image, where something that builds images is at hand."""

from __future__ import annotations

import re
import subprocess
from pathlib import Path

from tests.tools.release.checkout import Checkout

TAGS = re.compile(r"(?:\bmoorage:|newTag: )v?(\d+\.\d+\.\d+)\b")
"""Where a text names the image with its version, which is the first group."""
PLATFORMS = "linux/amd64,linux/arm64"
_BUILDERS = {"docker": ("docker", "info"), "buildah": ("buildah", "info")}


def builder() -> tuple[str, str]:
    """A program that works, or "" and why there is none."""
    reasons = []
    for name, command in _BUILDERS.items():
        try:
            done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=60)
        except FileNotFoundError:
            reasons.append(f"there is no {name}")
            continue
        if done.returncode == 0:
            return name, ""
        reasons.append(f"{name}: {_last(done.stderr)}")
    return "", "; ".join(reasons)


def command(builder: str, checkout: Checkout, into: Path) -> list[str]:
    """The command that builds for all platforms into an OCI archive."""
    tag = f"moorage:{checkout.version}"
    arguments = [
        f"--platform={PLATFORMS}",
        f"--build-arg=SOURCE_DATE_EPOCH={checkout.epoch}",
        f"--build-arg=VERSION={checkout.version}",
        f"--build-arg=REVISION={checkout.revision}",
    ]
    if builder == "docker":
        output = f"type=oci,dest={into},name={tag},rewrite-timestamp=true"
        return ["docker", "buildx", "build", *arguments, f"--output={output}", str(checkout.root)]
    when = f"--timestamp={checkout.epoch}"
    return ["buildah", "build", *arguments, when, f"--manifest={tag}", str(checkout.root)]


def build(checkout: Checkout, into: Path) -> str:
    """Build the image into an archive; "" or why there is none."""
    name, reason = builder()
    if not name:
        return reason
    commands = [command(name, checkout, into)]
    if name == "buildah":
        tag = f"moorage:{checkout.version}"
        commands.append(["buildah", "manifest", "push", "--all", tag, f"oci-archive:{into}"])
    for one in commands:
        done = subprocess.run(one, capture_output=True, text=True, check=False)
        if done.returncode:
            into.unlink(missing_ok=True)
            return f"{' '.join(one[:3])}: {_last(done.stderr)}"
    return ""


def _last(text: str) -> str:
    return (text.strip().splitlines() or ["it does not say why"])[-1]
