"""Whom TLS to the API server believes, and who it says we are: files, which are read again when
they change.
"""

from __future__ import annotations

import copy
import logging
import ssl
from pathlib import Path

from kubernetes.aio import client
from kubernetes.aio.client import rest

from moorage.adapters.kube_session.source import Reload
from moorage.ports.repeated_logs import once_per_cause

log = logging.getLogger(__name__)


class ClientTrust:
    """The files of a configuration, and the context that is made of them: another one when they
    change, for new connections.
    """

    def __init__(self, configuration: client.Configuration, context: ssl.SSLContext) -> None:
        self.context = _as_pinned(configuration, context)
        self._configuration = configuration
        self._seen = self._read()

    def reread(self) -> bool:
        """Take what has changed; whether there is another context. What cannot be used is told, and
        tried again the next time.
        """
        found = self._read()
        if found == self._seen:
            return False
        try:
            context = self._made()
        except (OSError, ValueError) as error:
            text = "the certificates for the API server could not be read again: %s"
            log.warning(text, error, extra=once_per_cause(f"trust {error}"))
            return False
        self.context, self._seen = context, found
        log.info("new connections to the API server use the newest certificates")
        return True

    def _made(self) -> ssl.SSLContext:
        # where the key is encrypted the library would ask for its password at the terminal
        if self._configuration.cert_file:
            probe = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
            probe.load_cert_chain(
                self._configuration.cert_file, self._configuration.key_file, password=""
            )
        context: ssl.SSLContext = rest.RESTClientObject(self._configuration).ssl_context
        return _as_pinned(self._configuration, context)

    def _read(self) -> list[bytes]:
        files = (
            self._configuration.ssl_ca_cert,
            self._configuration.cert_file,
            self._configuration.key_file,
        )
        return [Path(file).read_bytes() if file and Path(file).is_file() else b"" for file in files]


def pinned(
    configuration: client.Configuration, reload: Reload, server: str, certificate: str
) -> tuple[client.Configuration, Reload]:
    """The same credentials for another server, which is known by this certificate (PEM) alone; no
    proxy is on the way.
    """
    found = copy.copy(configuration)
    found.host, found.proxy, found.tls_server_name = server, None, None
    found.ssl_ca_cert, found.ca_cert_data, found.verify_ssl = None, certificate, True
    found.assert_hostname = False

    async def reload_both(refused: bool) -> None:
        await reload(refused)  # the token is in a mapping that both share
        found.cert_file, found.key_file = configuration.cert_file, configuration.key_file

    return found, reload_both


def _as_pinned(configuration: client.Configuration, context: ssl.SSLContext) -> ssl.SSLContext:
    """The context; for a pinned certificate names do not count, and it need not be an
    authority's.
    """
    if configuration.assert_hostname is False:
        context.check_hostname = False
        context.verify_flags |= ssl.VERIFY_X509_PARTIAL_CHAIN
        context.verify_flags &= ~ssl.VERIFY_X509_STRICT
    return context


def distrusted(error: BaseException | None) -> bool:
    """Whether a connection failed as the other side's certificate is not believed."""
    while error is not None and not isinstance(error, ssl.SSLCertVerificationError):
        error = error.__cause__
    return error is not None
