"""What `make release` writes, and that it writes the same each time."""

from __future__ import annotations

import hashlib
import json
import os
import shutil
import subprocess
import sys
import tarfile
from pathlib import Path

import pytest
import yaml

import moorage
from tests.rig.operators import ROOT
from tests.tools.release import archives, image, krew
from tests.tools.release.__main__ import SUMS, main
from tests.tools.release.checkout import Checkout, ReleaseError, checkout
from tests.tools.release.notes import notes

EPOCH = 1_700_000_000


def released(root: Path, into: Path) -> Path:
    """A release of the tree, in a folder."""
    command = [
        sys.executable,
        "-m",
        "tests.tools.release",
        "--into",
        str(into),
        "--root",
        str(root),
    ]
    environment = {**os.environ, "SOURCE_DATE_EPOCH": str(EPOCH), "DOCKER_HOST": "unix:///nowhere"}
    done = subprocess.run(
        command, cwd=ROOT, env=environment, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    assert "there is no image: docker" in done.stderr or "there is no docker" in done.stderr
    return into


@pytest.fixture(scope="module")
def dist(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A release of this checkout."""
    return released(ROOT, tmp_path_factory.mktemp("dist"))


def test_twice_the_same(dist: Path, tmp_path: Path) -> None:
    """From another folder, with other times and modes of files, without Git."""
    tracked = ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"]
    listed = subprocess.run(tracked, cwd=ROOT, capture_output=True, check=True).stdout
    for name in filter(None, listed.decode().split("\0")):
        if (ROOT / name).is_file():
            (tmp_path / "copy" / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(ROOT / name, tmp_path / "copy" / name)
            (tmp_path / "copy" / name).chmod(0o600)
    again = released(tmp_path / "copy", tmp_path / "dist")
    assert (again / SUMS).read_text() == (dist / SUMS).read_text()


def test_what_there_is(dist: Path) -> None:
    """Sources and wheels of all distributions, and what people install from."""
    own, towtank = moorage.__version__, checkout().project(ROOT / "packages/towtank")["version"]
    kubefacts = checkout().project(ROOT / "packages/kubefacts")["version"]
    wanted = {
        *(f"moorage-{own}{ending}" for ending in ("-py3-none-any.whl", ".tar.gz", ".cdx.json")),
        *(f"towtank-{towtank}{ending}" for ending in ("-py3-none-any.whl", ".tar.gz")),
        *(f"kubefacts-{kubefacts}{ending}" for ending in ("-py3-none-any.whl", ".tar.gz")),
        *(f"kubectl-moorage-{own}.tar.gz", "moorage.yaml", "NOTES.md", SUMS),
        *([f"moorage-{own}.tgz"] if (ROOT / "manifests" / "chart").is_dir() else []),
    }
    assert {path.name for path in dist.iterdir()} == wanted


def test_checksums(dist: Path) -> None:
    """One for each other file, as sha256sum reads them."""
    sums = [line.split("  ") for line in (dist / SUMS).read_text().splitlines()]
    assert {name for _, name in sums} == {path.name for path in dist.iterdir()} - {SUMS}
    for digest, name in sums:
        assert hashlib.sha256((dist / name).read_bytes()).hexdigest() == digest


def test_the_bill_of_materials(dist: Path) -> None:
    """It is CycloneDX, and has what run.txt pins; each part knows what it needs."""
    text = (dist / f"moorage-{moorage.__version__}.cdx.json").read_text()
    bom = json.loads(text)
    assert bom["specVersion"] == "1.6"
    parts = {one["name"]: one for one in bom["components"]}
    assert {"kubefacts", "towtank", "aiohttp", "numpy", "yarl"} <= parts.keys()
    assert bom["metadata"]["timestamp"] == "2023-11-14T22:13:20+00:00"
    needs = {one["ref"]: one.get("dependsOn", []) for one in bom["dependencies"]}
    assert parts["kubefacts"]["bom-ref"] in needs[bom["metadata"]["component"]["bom-ref"]]
    assert parts["yarl"]["bom-ref"] in needs[parts["aiohttp"]["bom-ref"]]
    assert {one["name"] for one in parts.values() if "hashes" in one} == {"kubefacts", "towtank"}


def test_krew(dist: Path) -> None:
    """The manifest tells the archive's checksum; in it is the program that the manifest names."""
    version = moorage.__version__
    manifest = yaml.safe_load((dist / "moorage.yaml").read_text())
    (platform,) = manifest["spec"]["platforms"]
    packed = dist / krew.archive_name(version)
    assert platform["sha256"] == hashlib.sha256(packed.read_bytes()).hexdigest()
    assert len(manifest["spec"]["shortDescription"]) <= 50
    with tarfile.open(packed) as archive:
        members = {one.name: one for one in archive.getmembers()}
        program = archive.extractfile(platform["bin"])
        assert program is not None
        text = program.read().decode()
    assert members[platform["bin"]].mode == 0o755
    assert {"LICENSE", "run.txt", f"moorage-{version}-py3-none-any.whl"} <= members.keys()
    assert f"/moorage/{version}" in text
    assert "@VERSION@" not in text
    assert krew.manifest("1.0", b"", "https://a.test/b/").count("https://a.test/b/kubectl-") == 1


def test_kubectl_finds_no_python(tmp_path: Path) -> None:
    """An interpreter that is too old is told, before anything is made."""
    program = Path(krew.__file__).with_name("kubectl-moorage.sh")
    old = tmp_path / "python"
    old.write_text("#!/bin/sh\nexit 1\n")
    old.chmod(0o755)
    environment = {"PYTHON": str(old), "HOME": str(tmp_path), "PATH": "/usr/bin:/bin"}
    done = subprocess.run(
        ["sh", program], env=environment, capture_output=True, text=True, check=False
    )
    assert (done.returncode, done.stderr) == (
        1,
        "kubectl moorage: needs Python 3.11 or newer: set PYTHON to one\n",
    )
    assert [path.name for path in tmp_path.iterdir()] == ["python"]


# ---- parts ---------------------------------------------------------------------------------------

CHANGELOG = "# Changelog\n\nWords.\n\n## Unreleased\n\n- New.\n\n## 0.2.0\n\n- Old.\n- Older.\n"


@pytest.mark.parametrize(
    ("version", "text"), [("0.2.0", "- Old.\n- Older.\n"), ("0.3.0", "- New.\n")]
)
def test_notes(version: str, text: str) -> None:
    """The version's own section, or what is not released yet."""
    assert notes(CHANGELOG, version) == f"# Moorage {version}\n\n{text}"


def test_no_notes() -> None:
    """A release says what is new."""
    with pytest.raises(ReleaseError, match=r"there is no section 1\.0 and no Unreleased"):
        notes("# Changelog\n", "1.0")


def test_archives(tmp_path: Path) -> None:
    """Of the same files the same bytes, in whatever order; modes and times are told."""
    entries = {"b/x": archives.Entry(b"x", executable=True), "a": archives.Entry(b"")}
    packed = archives.tgz(entries, EPOCH)
    assert packed == archives.tgz(dict(reversed(entries.items())), EPOCH)
    assert packed != archives.tgz(entries, EPOCH + 1)
    (tmp_path / "it.tgz").write_bytes(packed)
    with tarfile.open(tmp_path / "it.tgz") as archive:
        members = [(one.name, one.mode, one.mtime, one.uid) for one in archive.getmembers()]
    assert members == [("a", 0o644, EPOCH, 0), ("b/x", 0o755, EPOCH, 0)]


def test_a_folder_of_somebody_else_is_not_emptied(tmp_path: Path) -> None:
    """It is named, and stays as it is."""
    (tmp_path / "mine").touch()
    assert main(["--into", str(tmp_path)]) == 1
    assert [path.name for path in tmp_path.iterdir()] == ["mine"]


def test_a_folder_without_git_needs_a_time(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Otherwise each build would have its own."""
    monkeypatch.delenv("SOURCE_DATE_EPOCH", raising=False)
    with pytest.raises(ReleaseError, match="set SOURCE_DATE_EPOCH"):
        checkout(tmp_path)


@pytest.mark.parametrize("builder", ["docker", "buildah"])
def test_the_command_for_the_image(builder: str) -> None:
    """Both platforms, and the time that all files have."""
    command = image.command(builder, Checkout(ROOT, EPOCH), Path("it.tar"))
    assert command[0] == builder
    assert "--platform=linux/amd64,linux/arm64" in command
    assert f"--build-arg=SOURCE_DATE_EPOCH={EPOCH}" in command


# ---- versions ------------------------------------------------------------------------------------


def test_texts_name_the_version_that_there_is() -> None:
    """It stands in operator/moorage/__init__.py; manifests and pages that name the image follow."""
    version = moorage.__version__
    assert checkout().version == version
    tracked = ["git", "ls-files", "*.md", "*.yaml", "*.toml", "Dockerfile"]
    listed = subprocess.run(tracked, cwd=ROOT, capture_output=True, text=True, check=True).stdout
    named = {
        (name, found[1])
        for name in listed.splitlines()
        for found in image.TAGS.finditer((ROOT / name).read_text())
    }
    assert len(named) > 3
    assert {found for _, found in named} == {version}, sorted(named)
