"""The Dockerfile's steps, run in an empty environment; what they make, as nobody on a read-only
file system.

What is not seen here: the base image itself, other architectures, and how an image is packed.
"""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest
import yaml

import moorage
from tests.image.roots import Root, inherited, is_possible
from tests.release.dockerfile import Instruction, pairs, stages
from tests.rig import DevRig
from tests.rig.objects import apply, read
from tests.rig.operators import NAMESPACE, ROOT, until
from tests.rig.processes import free_ports

BUILDER, FINAL = stages((ROOT / "Dockerfile").read_text())
BASE_MEGABYTES = 50
"""What python:3.11-slim has, compressed, rounded up: 45 for amd64, less for arm64."""
WHOLE_MEGABYTES = 150

pytestmark = pytest.mark.skipif(
    not is_possible(), reason="NOT TESTED: mounting a file system of one's own needs root"
)


def run(command: list[str], seconds: float = 600) -> str:
    """What a command prints, complaints and all; it must succeed."""
    done = subprocess.run(
        command,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        stdin=subprocess.DEVNULL,
        text=True,
        check=False,
        timeout=seconds,
    )
    assert done.returncode == 0, done.stdout[-4000:]
    return done.stdout


class Builder:
    """Does what the instructions of a stage say, in a folder that stands for /."""

    def __init__(self, folder: Path) -> None:
        self.root = Root(folder)
        self._place = "/"
        self._variables = {"PATH": "/usr/local/bin:/usr/bin:/bin", "HOME": "/root"}
        for name in ("root", "tmp"):
            (folder / name).mkdir(parents=True)

    def follow(self, one: Instruction) -> None:
        """Do one of them."""
        match one.word:
            case "FROM":
                return
            case "ARG":
                name, _, value = one.rest.partition("=")
                self._variables[name] = value
            case "WORKDIR":
                self._place = one.rest
                (self.root.folder / one.rest.lstrip("/")).mkdir(parents=True, exist_ok=True)
            case "COPY":
                *sources, into = one.rest.split()
                for source in sources:
                    self._copy(ROOT / source, into)
            case "RUN":
                words = ["sh", "-c", f"cd {self._place} && {one.rest}"]
                run(self.root.command(words, {**self._variables, **inherited()}))
            case _:
                pytest.fail(f"Dockerfile:{one.line}: this test does not know {one.word}")

    def _copy(self, source: Path, into: str) -> None:
        target = self.root.folder / self._place.lstrip("/") / into
        if source.is_dir():
            ignored = shutil.ignore_patterns("__pycache__")
            shutil.copytree(source, target, dirs_exist_ok=True, ignore=ignored)
        else:
            target = target / source.name if into.endswith("/") else target
            target.parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(source, target)


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder that the final stage copies, as the builder left it."""
    builder = Builder(tmp_path_factory.mktemp("builder") / "root")
    for one in BUILDER:
        builder.follow(one)
    (copied,) = (one.rest.split() for one in FINAL if one.word == "COPY")
    assert copied == ["--from=builder", "/opt/moorage", "/opt/moorage"]
    return builder.root.folder / "opt" / "moorage"


class Image:
    """The final stage: the base and what was built, read-only, for the user that it names."""

    def __init__(self, built: Path, folder: Path) -> None:
        (self._user,) = (one.rest for one in FINAL if one.word == "USER")
        (self.entry,) = (one.listed for one in FINAL if one.word == "ENTRYPOINT")
        (self.words,) = (one.listed for one in FINAL if one.word == "CMD")
        (variables,) = (pairs(one.rest) for one in FINAL if one.word == "ENV")
        path = "/usr/local/bin:/usr/bin:/bin"
        self._variables = {name: value.replace("$PATH", path) for name, value in variables.items()}
        folder.mkdir()
        self._root = Root(folder, {"opt/moorage": built}, self._user)

    def command(self, *words: str) -> list[str]:
        """A command that runs these words in it."""
        return self._root.command(words, self._variables)


@pytest.fixture
def image(built: Path, tmp_path: Path) -> Image:
    """As a container has it."""
    return Image(built, tmp_path / "root")


def test_the_command(image: Image) -> None:
    """What the image runs is there, and says its version."""
    assert run(image.command(*image.entry, "version")) == f"moorage {moorage.__version__}\n"
    assert "schedulerprofiles.moorage.dev" in run(image.command(*image.entry, "crds"))


def test_nobody_may_write(image: Image) -> None:
    """The process is nobody's, and the file system is not written to."""
    script = "import os; print(os.getuid(), os.getgid(), os.getgroups()); open('/x', 'w')"
    done = subprocess.run(
        image.command("python", "-c", script), capture_output=True, text=True, check=False
    )
    assert done.stdout == "65532 65532 []\n"
    assert "Read-only file system: '/x'" in done.stderr


def test_what_is_not_in_it(image: Image, built: Path) -> None:
    """No pip, no build backend, no tests; every module has its bytecode."""
    (site,) = built.glob("lib/python*/site-packages")
    names = {path.name for path in site.iterdir()}
    assert {"moorage", "kubefacts", "towtank"} <= names
    assert not names & {"pip", "setuptools", "hatchling"}
    assert not list(site.rglob("tests"))
    sources = list((site / "moorage").rglob("*.py"))
    compiled = list((site / "moorage").rglob("*.pyc"))
    assert len(compiled) == len(sources) > 100


def test_size(built: Path) -> None:
    """Compressed as registries keep layers, with the base at most 150 MB."""
    packing = f"tar -C {built} -c . | gzip -6 | wc -c"
    own = int(run(["bash", "-c", packing])) / 1e6
    assert own <= WHOLE_MEGABYTES - BASE_MEGABYTES, f"/opt/moorage is {own:.0f} MB, compressed"


@pytest.fixture
def rig() -> Iterator[DevRig]:
    """An API server that the operator can reach."""
    with DevRig(None) as rig:
        yield rig


def give(kubeconfig: Path, folder: Path) -> None:
    """Copy a kubeconfig and the files that it names to a folder within the root: what would stand
    in the kubeconfig itself would be written to a temporary file, and there is none.
    """
    document = yaml.safe_load(kubeconfig.read_text())
    (cluster,), (user,) = document["clusters"], document["users"]
    for part in (cluster["cluster"], user["user"]):
        for field in ("certificate-authority", "client-certificate", "client-key"):
            if field in part:
                shutil.copyfile(part[field], folder / field)
                part[field] = f"/{folder.name}/{field}"
    (folder / "kubeconfig").write_text(yaml.safe_dump(document))


def test_the_operator_runs(image: Image, rig: DevRig, tmp_path: Path) -> None:
    """It leads, serves, and gives the lease back when it is told to end."""
    (port,) = free_ports(1)
    given = tmp_path / "root" / "given"
    given.mkdir()
    namespace = {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": NAMESPACE}}
    apply(rig, *read(ROOT / "crds"), namespace)
    rig.establish("schedulerprofiles.moorage.dev", "pluginconfigs.moorage.dev")
    give(rig.kubeconfig, given)
    serving = {"bindAddress": "127.0.0.1", "securePort": port}
    config = {
        "apiVersion": "config.moorage.dev/v1alpha1",
        "kind": "OperatorConfiguration",
        "serving": serving,
    }
    (given / "config.yaml").write_text(json.dumps(config))
    flags = ["--kubeconfig=/given/kubeconfig", "--config=/given/config.yaml"]
    log = tmp_path / "log"
    with log.open("wb") as out:
        command = image.command(*image.entry, *image.words, *flags)
        process = subprocess.Popen(command, stdout=out, stderr=out, stdin=subprocess.DEVNULL)
        try:
            until(lambda: "health and metrics are served" in log.read_text(), "it serves")
            os.kill(process.pid, signal.SIGTERM)
            assert process.wait(60) == 0, log.read_text()[-3000:]
        finally:
            process.kill()
            process.wait()
    assert "Traceback" not in log.read_text()
