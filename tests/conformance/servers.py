"""The two servers."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from tests.conformance.playing import Server
from tests.rig import Rig


@contextmanager
def kube_apiserver(assets: Path) -> Iterator[Server]:
    """A real one."""
    with Rig(assets) as rig:
        yield Server(
            url=rig.server,
            authority=rig.authority_file,
            certificate=rig.folder / "admin.crt",
            key=rig.folder / "admin.key",
            kubectl=assets / "kubectl",
            kubeconfig=rig.kubeconfig,
            home=rig.folder,
        )


@contextmanager
def devcluster(assets: Path) -> Iterator[Server]:
    """The embedded cluster."""
    raise NotImplementedError
    yield
