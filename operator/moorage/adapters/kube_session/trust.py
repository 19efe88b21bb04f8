"""Whom TLS to the API server believes, and who it says we are: files, which are read again when they change."""

from __future__ import annotations

import logging
import ssl
from pathlib import Path

from kubernetes.aio import client

from moorage.ports.repeats import told_once

log = logging.getLogger(__name__)


class Trust:
    """The files of a configuration, in the context that was made of them: new connections see what has changed.

    Authorities are added; one that was taken away is believed until the process ends.
    """

    def __init__(self, configuration: client.Configuration, context: ssl.SSLContext) -> None:
        self._configuration = configuration
        self._context = context
        self._seen = self._read()

    def reread(self) -> None:
        """Take what has changed. What cannot be used is told, and tried again the next time."""
        found = self._read()
        if found == self._seen:
            return
        try:
            # First where it does no harm: half a change would leave us without a certificate.
            for context in (ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT), self._context):
                self._load(context)
        except OSError as error:
            log.warning("the certificates for the API server could not be read again: %s", error, extra=told_once(f"trust {error}"))
            return
        self._seen = found
        log.info("new connections to the API server use the newest certificates")

    def _load(self, context: ssl.SSLContext) -> None:
        if self._configuration.ssl_ca_cert:
            context.load_verify_locations(self._configuration.ssl_ca_cert)
        if self._configuration.cert_file:
            context.load_cert_chain(self._configuration.cert_file, self._configuration.key_file, password="")

    def _read(self) -> list[bytes]:
        files = self._configuration.ssl_ca_cert, self._configuration.cert_file, self._configuration.key_file
        return [Path(file).read_bytes() if file and Path(file).is_file() else b"" for file in files]


def distrusted(error: BaseException | None) -> bool:
    """Whether a connection failed as the other side's certificate is not believed."""
    while error is not None and not isinstance(error, ssl.SSLCertVerificationError):
        error = error.__cause__
    return error is not None
