"""The two servers."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from tests.conformance.playing import Server
from tests.rig import ControlPlane, DevRig, Rig


@contextmanager
def kube_apiserver(assets: Path) -> Iterator[Server]:
    """A real one."""
    with Rig(assets) as rig:
        yield _server(rig, assets)


@contextmanager
def towtank(assets: Path) -> Iterator[Server]:
    """The embedded cluster, without its controllers and kubelets: the other side has none."""
    with DevRig(assets / "kubectl") as rig:
        yield _server(rig, assets)


def _server(plane: ControlPlane, assets: Path) -> Server:
    certificate, key = plane.credentials
    return Server(
        url=plane.server,
        authority=plane.authority_file,
        certificate=certificate,
        key=key,
        kubectl=assets / "kubectl",
        kubeconfig=plane.kubeconfig,
        home=plane.folder,
    )
