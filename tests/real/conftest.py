"""Fixtures of the tests on a real API server: one control plane for the whole run."""

import os
import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.rig import Kwok, Rig
from tests.tools import assets as binaries


@pytest.fixture(scope="session")
def assets() -> Path:
    """The folder of etcd, kube-apiserver and the rest; without it the test fails, or is skipped where Go is absent."""
    where = binaries.folder()
    if lacking := [binary.name for binary in binaries.missing(where)]:
        message = f"{where} lacks {', '.join(lacking)}"
        if shutil.which("go") or os.environ.get("CI") or os.environ.get("KUBEBUILDER_ASSETS"):
            pytest.fail(f"{message}: run `make assets`")
        pytest.skip(f"NOT TESTED ON A REAL API SERVER: {message}, and there is no Go to build them with")
    return where


@pytest.fixture(scope="session")
def rig(assets: Path) -> Iterator[Rig]:
    """A running control plane, shared: use a namespace and node names of your own."""
    with Rig(assets) as rig:
        yield rig


@pytest.fixture(scope="session")
def kwok(rig: Rig) -> Iterator[Kwok]:
    """Pretended kubelets for the shared control plane's nodes that carry kwok.NODE_ANNOTATION."""
    with Kwok(rig) as kwok:
        yield kwok
