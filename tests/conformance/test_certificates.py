"""Certificates hold before clients that check strictly, as Python does by itself from 3.13 on."""

from __future__ import annotations

import ssl
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path

import pytest

from tests.rig.certificates import Authority
from towtank.serving.certificates import ADMINISTRATOR, ClusterCertificates

Files = tuple[Path, tuple[Path, Path], tuple[Path, Path]]
"""An authority's file; those of a server's certificate and key, and of a client's."""


def _of_towtank(folder: Path) -> Files:
    made = ClusterCertificates(datetime.now(UTC))
    written = {"ca": made.authority}
    for name, pair in (("server", made.server), ("client", made.administrator)):
        written |= {f"{name}.crt": pair.certificate, f"{name}.key": pair.key}
    for name, data in written.items():
        (folder / name).write_bytes(data)
    server, client = (
        (folder / f"{name}.crt", folder / f"{name}.key") for name in ("server", "client")
    )
    return folder / "ca", server, client


def _of_rig(folder: Path) -> Files:
    authority = Authority(folder)
    return authority.file, authority.server("kube-apiserver"), authority.client(ADMINISTRATOR)


@pytest.mark.parametrize("made", [_of_towtank, _of_rig])
def test_both_sides_check_strictly(made: Callable[[Path], Files], tmp_path: Path) -> None:
    """A handshake in memory."""
    authority, server, client = made(tmp_path)
    sides = []
    for purpose, (certificate, key) in (
        (ssl.Purpose.CLIENT_AUTH, server),
        (ssl.Purpose.SERVER_AUTH, client),
    ):
        context = ssl.create_default_context(purpose, cafile=str(authority))
        context.verify_mode = ssl.CERT_REQUIRED
        context.verify_flags |= ssl.VERIFY_X509_STRICT | ssl.VERIFY_X509_PARTIAL_CHAIN
        context.load_cert_chain(certificate, key)
        sides.append(context)
    here, there = ssl.MemoryBIO(), ssl.MemoryBIO()
    one = sides[0].wrap_bio(here, there, server_side=True)
    other = sides[1].wrap_bio(there, here, server_hostname="127.0.0.1")
    waiting = [other, one]
    for _ in range(8):
        for side in tuple(waiting):
            try:
                side.do_handshake()
            except ssl.SSLWantReadError:
                continue
            waiting.remove(side)
    assert not waiting
    assert f"'commonName', '{ADMINISTRATOR}'" in str(one.getpeercert())
