"""Write a release: ``python -m tests.tools.release [--into dist] [--url URL]``, or `make release`.

The image needs docker or buildah and a registry that has its base. Without them it is left out,
which is said. Two runs from one commit write the same bytes.
"""

from __future__ import annotations

import argparse
import hashlib
import os
import subprocess
import sys
from pathlib import Path

from tests.tools.release import image, krew
from tests.tools.release.archives import tgz, tree
from tests.tools.release.bill_of_materials import bill_of_materials
from tests.tools.release.checkout import ROOT, Checkout, ReleaseError, checkout
from tests.tools.release.notes import notes

SUMS = "SHA256SUMS"


def main(arguments: list[str]) -> int:
    """The command line."""
    parser = argparse.ArgumentParser(prog="python -m tests.tools.release", description="Release.")
    parser.add_argument(
        "--into", type=Path, default=ROOT / "dist", help="the folder, emptied first"
    )
    parser.add_argument("--url", help="where the files will be, for krew")
    parser.add_argument("--root", type=Path, default=ROOT, help="the checkout")
    options = parser.parse_args(arguments)
    try:
        release(checkout(options.root.resolve()), options.into.resolve(), options.url)
    except ReleaseError as error:
        print(f"release: {error}", file=sys.stderr)
        return 1
    print((options.into / SUMS).read_text(), end="")
    return 0


def release(source: Checkout, into: Path, url: str | None) -> None:
    """Write everything, checksums last."""
    empty(into)
    version = source.version
    wheels = {
        source.project(one)["name"]: distribution(source, one, into) for one in source.projects()
    }
    packed = krew.archive(source, wheels.values())
    (into / krew.archive_name(version)).write_bytes(packed)
    (into / "moorage.yaml").write_text(krew.manifest(version, packed, url))
    (into / f"moorage-{version}.cdx.json").write_text(bill_of_materials(source, wheels))
    changelog = (source.root / "CHANGELOG.md").read_text()
    (into / "NOTES.md").write_text(notes(changelog, version))
    chart(source, into)
    if reason := image.build(source, into / f"moorage-{version}.oci.tar"):
        print(f"release: there is no image: {reason}", file=sys.stderr)
    (into / SUMS).unlink()
    sums = [f"{_digest(path)}  {path.name}\n" for path in sorted(into.iterdir())]
    (into / SUMS).write_text("".join(sums))


def empty(folder: Path) -> None:
    """Remove an earlier release. Raises ReleaseError when the folder holds something else."""
    folder.mkdir(parents=True, exist_ok=True)
    found = list(folder.iterdir())
    if found and folder / SUMS not in found:
        raise ReleaseError(f"{folder}: there are files of no release in it: name another folder")
    for path in found:
        path.unlink()
    (folder / SUMS).touch()  # what is begun is a release, too


def distribution(source: Checkout, folder: Path, into: Path) -> Path:
    """Build source archive and wheel of a distribution; the wheel's path."""
    command = [sys.executable, "-I", "-m", "hatchling", "build", "-d", str(into)]
    environment = {**os.environ, "SOURCE_DATE_EPOCH": str(source.epoch)}
    done = subprocess.run(
        command, cwd=folder, env=environment, capture_output=True, text=True, check=False
    )
    if done.returncode:
        raise ReleaseError(f"{folder.name}: {done.stdout}{done.stderr}")
    project = source.project(folder)
    return into / f"{project['name']}-{project['version']}-py3-none-any.whl"


def chart(source: Checkout, into: Path) -> None:
    """Pack the Helm chart, as `helm package` names and lays it out."""
    folder = source.root / "manifests" / "chart"
    if not folder.is_dir():
        print("release: there is no chart: manifests/chart is not there", file=sys.stderr)
        return
    packed = tgz(tree(folder, "moorage"), source.epoch)
    (into / f"moorage-{source.version}.tgz").write_bytes(packed)


def _digest(path: Path) -> str:
    return hashlib.sha256(path.read_bytes()).hexdigest()


if __name__ == "__main__":
    raise SystemExit(main(sys.argv[1:]))
