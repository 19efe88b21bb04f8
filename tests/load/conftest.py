"""Fixtures of the load tests: each gets a control plane of its own, with the operator's manifests
applied.
"""

import contextlib
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from tests.real.conftest import assets
from tests.rig import Rig
from tests.rig.clients import Client
from tests.rig.operators import install

__all__ = ["assets", "client", "figures", "installation"]


@pytest.fixture
def installation(assets: Path) -> Iterator[tuple[Rig, Path]]:
    """(a running rig, the kubeconfig of the operator's ServiceAccount on it)."""
    with Rig(
        assets, ["--max-requests-inflight=3000", "--max-mutating-requests-inflight=3000"]
    ) as rig:
        yield rig, install(rig)


@pytest.fixture
def client(installation: tuple[Rig, Path]) -> Iterator[Client]:
    """An administrator's client of that rig."""
    with contextlib.closing(Client(installation[0])) as client:
        yield client


@pytest.fixture
def figures(capsys: pytest.CaptureFixture[str]) -> Callable[..., None]:
    """Prints a test's figures past pytest's capturing."""

    def show(**values: object) -> None:
        with capsys.disabled():
            for name, value in values.items():
                # the figures are what the test is run for
                print(f"\n    {name.replace('_', ' ')}: {value}", end="")  # noqa: T201 - see above

    return show
