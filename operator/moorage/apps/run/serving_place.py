"""Where this replica answers, and what it shows there of itself."""

from __future__ import annotations

import os
import socket
from collections.abc import Mapping
from typing import Final

from moorage.adapters.kube_session.source import redacted
from moorage.adapters.serving_certificates import (
    CertificateFiles,
    SelfSignedCertificate,
    ServingCertificates,
)
from moorage.api.operator_config import OperatorConfiguration
from moorage.apps.run.replica_state import ReplicaState
from moorage.ports.clock import Clock
from moorage.ports.serving import ServedAt

_ALL_ADDRESSES: Final = ("", "0.0.0.0", "::")  # noqa: S104 - compared with, not bound to


def certificates_of(config: OperatorConfiguration, clock: Clock) -> ServingCertificates:
    """What this replica shows. Raises CertificateError."""
    serving, names = config.serving, ("localhost", "127.0.0.1", "::1", host_name())
    source = (
        CertificateFiles(serving.cert_file, serving.key_file)
        if serving.cert_file
        else SelfSignedCertificate(names, clock)
    )
    return ServingCertificates(source, clock)


def served_at(
    config: OperatorConfiguration, state: ReplicaState, certificates: ServingCertificates
) -> ServedAt | None:
    """Where this replica answers; one that listens at all addresses has the machine's name."""
    if not state.port:
        return None
    address = config.serving.bind_address
    host = host_name() if address in _ALL_ADDRESSES else address
    shown = f"[{host}]" if ":" in host else host
    return ServedAt(f"https://{shown}:{state.port}", certificates.certificate)


def configz(config: OperatorConfiguration) -> Mapping[str, object]:
    """The configuration as it is in effect, for /configz; a password in an address is not shown."""
    connection = config.client_connection
    safe = connection.model_copy(update={"master": redacted(connection.master)})
    shown = config.model_copy(update={"client_connection": safe})
    return shown.model_dump(mode="json", by_alias=True, exclude_none=True)


def host_name() -> str:
    """This machine's name; in a pod HOSTNAME is the pod's."""
    return os.environ.get("HOSTNAME") or socket.gethostname()
