"""What our server shows and whom it believes: its certificate, from files or made by itself, and
the authorities of client certificates.

A changed file counts within seconds. What cannot be used is told once, and the last good one stays
in use. Keys are never written.
"""

from __future__ import annotations

import dataclasses
import datetime
import logging
import ssl
from collections.abc import Sequence
from pathlib import Path
from typing import Protocol

from cryptography import x509
from cryptography.hazmat.primitives.serialization import Encoding

from moorage.adapters.certificate_loading import load_certificate
from moorage.adapters.certificate_making import Period, Subject, made
from moorage.ports.clock import Clock
from moorage.ports.repeated_logs import once_per_cause

log = logging.getLogger(__name__)

LIFETIME = datetime.timedelta(days=365)
"""Of a certificate of our own."""
RENEW_BEFORE_EXPIRY = datetime.timedelta(days=30)
WARN_BEFORE_EXPIRY = datetime.timedelta(days=1)
"""A certificate that ends so soon is told."""


class CertificateError(Exception):
    """A certificate or a key cannot be used; the text names the file."""


class CertificateSource(Protocol):
    """Where a certificate comes from."""

    def read(self) -> bytes:
        """The newest one, with those that vouch for it and its key, in PEM. Raises
        CertificateError.
        """


@dataclasses.dataclass(frozen=True, slots=True)
class CertificateFiles:
    """The operator's ``serving.certFile`` and ``serving.keyFile``."""

    certificate: str
    key: str

    def read(self) -> bytes:
        """Both, as they are now."""
        try:
            return Path(self.certificate).read_bytes() + b"\n" + Path(self.key).read_bytes()
        except OSError as error:
            raise CertificateError(f"{self}: {error}") from error

    def __str__(self) -> str:
        return f"serving.certFile {self.certificate} with serving.keyFile {self.key}"


class SelfSignedCertificate:
    """Signed by itself, for these host names and addresses; made anew before it ends."""

    def __init__(self, names: Sequence[str], clock: Clock) -> None:
        self._names = names
        self._clock = clock
        self._pem = b""

    def read(self) -> bytes:
        """The one in use, or the next one."""
        now = self._clock.now()
        if not self._pem or _end(self._pem) - now < RENEW_BEFORE_EXPIRY:
            self._pem = _signed_by_itself(self._names, now)
        return self._pem

    def __str__(self) -> str:
        return "the certificate of its own"


class ServingCertificates:
    """Has the ``context`` for new connections."""

    def __init__(self, source: CertificateSource, clock: Clock) -> None:
        """Raises CertificateError when the first certificate cannot be used."""
        self._source = source
        self._clock = clock
        self._pem = source.read()
        self._authorities = ""
        self.context = self._built(self._pem, "")
        self._warn_of_expiry()

    @property
    def certificate(self) -> str:
        """The one that is shown, in PEM, without those that vouch for it."""
        shown = x509.load_pem_x509_certificate(self._pem)
        return shown.public_bytes(Encoding.PEM).decode()

    def refresh(self, authorities: str) -> bool:
        """Take what has changed; whether there is another ``context`` now. ``authorities``: of
        clients, in PEM, "" for none.
        """
        pem = self._pem
        try:
            pem = self._source.read()
        except CertificateError as error:
            _log_unchanged(error)
        # One after the other: what is wrong with one must not hold up the other.
        renewed = self._take(pem, self._authorities)
        return self._take(self._pem, authorities) or renewed

    def _take(self, pem: bytes, authorities: str) -> bool:
        if (pem, authorities) == (self._pem, self._authorities):
            return False
        try:
            self.context = self._built(pem, authorities)
        except CertificateError as error:
            _log_unchanged(error)
            return False
        self._pem, self._authorities = pem, authorities
        self._warn_of_expiry()
        log.info(
            "new connections see the newest certificates", extra={"until": _end(pem).isoformat()}
        )
        return True

    def _built(self, pem: bytes, authorities: str) -> ssl.SSLContext:
        try:
            _end(pem)
            context = _context(pem)
        except (OSError, ValueError) as error:
            raise CertificateError(
                f"{self._source}: they do not make a certificate with its key: {error}"
            ) from error
        try:
            if authorities:
                context.load_verify_locations(cadata=authorities)
                context.verify_mode = ssl.CERT_OPTIONAL  # who has a token needs no certificate
        except (OSError, ValueError) as error:
            raise CertificateError(
                f"the authorities of client certificates in kube-system: {error}"
            ) from error
        return context

    def _warn_of_expiry(self) -> None:
        left = (end := _end(self._pem)) - self._clock.now()
        if left < WARN_BEFORE_EXPIRY:
            state = "has expired" if left <= datetime.timedelta() else "expires"
            log.warning(
                "%s: %s, at %s: replace it, files are read again by themselves",
                self._source,
                state,
                end.isoformat(),
            )


def _log_unchanged(error: CertificateError) -> None:
    log.warning(
        "%s; what was there before stays in use",
        error,
        extra=once_per_cause(f"certificate {error}"),
    )


def _context(pem: bytes) -> ssl.SSLContext:
    """The server's side of TLS."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.minimum_version = ssl.TLSVersion.TLSv1_2
    context.options |= ssl.OP_NO_RENEGOTIATION
    # an authority need not be a root, as in Kubernetes
    context.verify_flags |= ssl.VERIFY_X509_PARTIAL_CHAIN
    context.set_alpn_protocols(["http/1.1"])
    load_certificate(context, pem)
    return context


def _end(pem: bytes) -> datetime.datetime:
    """Until when the first certificate is good. Raises ValueError when there is none."""
    return x509.load_pem_x509_certificate(pem).not_valid_after_utc


def _signed_by_itself(names: Sequence[str], now: datetime.datetime) -> bytes:
    """A certificate for a server, and its key, in PEM."""
    # so that clients can be given it as their authority
    whom = Subject(f"moorage@{now:%s}", names, authority=True)
    shown = made(whom, Period(now, LIFETIME))
    return shown.certificate + shown.key
