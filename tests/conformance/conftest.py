"""Both servers, once for all conversations."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest

from tests.conformance.playing import Player
from tests.conformance.servers import kube_apiserver, towtank
from tests.tools import assets as binaries


@pytest.fixture(scope="session")
def assets() -> Path:
    """The folder of kube-apiserver and kubectl; without it the test fails, or is skipped where Go
    is absent.
    """
    where = binaries.folder()
    if lacking := [binary.name for binary in binaries.missing(where)]:
        message = f"{where} lacks {', '.join(lacking)}"
        if shutil.which("go") or os.environ.get("CI") or os.environ.get("KUBEBUILDER_ASSETS"):
            pytest.fail(f"{message}: run `make assets`")
        pytest.skip(
            f"NOT COMPARED WITH A REAL API SERVER: {message}, and there is no Go to build them with"
        )
    return where


@pytest.fixture(scope="session")
def real(assets: Path) -> Iterator[Player]:
    """A client of kube-apiserver."""
    with kube_apiserver(assets) as server, closing(Player(server)) as player:
        yield player


@pytest.fixture(scope="session")
def ours(assets: Path) -> Iterator[Player]:
    """A client of the embedded cluster."""
    with towtank(assets) as server, closing(Player(server)) as player:
        yield player
