"""Admission certificates: what is shown to API servers that ask about objects, in a Secret that all
replicas read and the leader renews.

Whoever installs makes an authority, which the API servers are told to believe, and puts it into the
Secret with its key. The leader signs by it. Without the key, as in a Secret of cert-manager's,
nobody renews here.
"""

from __future__ import annotations

import asyncio
import base64
import dataclasses
import datetime
import json
import logging
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final

from cryptography import x509
from cryptography.exceptions import InvalidSignature

from moorage.adapters.certificate_making import (
    BACKDATED,
    CertificateAndKey,
    Period,
    Signer,
    Subject,
    made,
)
from moorage.ports.clock import Clock
from moorage.ports.errors import EdgeError, NotFound, Retryable
from moorage.ports.http_calls import HttpCall, HttpSession
from moorage.ports.leadership import Fence
from moorage.ports.repeated_logs import once_per_cause, once_per_failure

log = logging.getLogger(__name__)

AUTHORITY_LIFETIME: Final = datetime.timedelta(days=3650)
LIFETIME: Final = datetime.timedelta(days=90)
"""Of what is shown; renewed at two thirds of it."""
SPREAD: Final = datetime.timedelta(minutes=10)
"""A new authority is used so long after it was made: until then every API server believes it."""
LOOK_SECONDS: Final = 10.0
"""Between two looks at the Secret."""
CERTIFICATE, KEY = "tls.crt", "tls.key"
AUTHORITY, AUTHORITY_KEY = "ca.crt", "ca.key"
FORMER_AUTHORITY: Final = "previous-ca.crt"
_NAME: Final = "moorage-admission"
_AUTHORITY_NAME: Final = "moorage-admission-ca"

SecretData = Mapping[str, bytes]
"""What a Secret holds, by key; not in base64."""


# ---- what becomes of the data --------------------------------------------------------------------


def with_authority(data: SecretData, hosts: Sequence[str], now: datetime.datetime) -> SecretData:
    """The data with a new authority, which vouches for servers of these DNS names only. What is
    shown stays: the former one vouches for that until the leader has signed anew.
    """
    whom = Subject(_AUTHORITY_NAME, authority=True, vouches_for=hosts)
    authority = made(whom, Period(now, AUTHORITY_LIFETIME))
    former = {FORMER_AUTHORITY: data[AUTHORITY]} if data.get(AUTHORITY) else {}
    return {**data, **former, AUTHORITY: authority.certificate, AUTHORITY_KEY: authority.key}


def authorities(data: SecretData) -> bytes:
    """What API servers are to believe, in PEM: the authority, and the former one."""
    return b"".join(data[key] for key in (AUTHORITY, FORMER_AUTHORITY) if data.get(key))


def renewed(
    data: SecretData, hosts: Sequence[str], now: datetime.datetime
) -> dict[str, bytes] | None:
    """The data with a new certificate for a server at these hosts; None where none is due, or
    nobody here can sign it. Raises ValueError for an authority that cannot be used.
    """
    if not data.get(AUTHORITY_KEY):
        return None
    signer = Signer.of(CertificateAndKey(data.get(AUTHORITY, b""), data[AUTHORITY_KEY]))
    if signer.certificate.not_valid_after_utc <= now:
        raise ValueError(f"it has expired, at {signer.certificate.not_valid_after_utc:%F %T}")
    if not _is_due(data, signer.certificate, hosts, now):
        return None
    signed = made(Subject(_NAME, hosts), Period(now, LIFETIME), signer)
    return {**data, CERTIFICATE: signed.certificate, KEY: signed.key}


def _is_due(
    data: SecretData, authority: x509.Certificate, hosts: Sequence[str], now: datetime.datetime
) -> bool:
    """Whether what is shown cannot be used, has had two thirds of its life, or has only a former
    authority to vouch for it.
    """
    try:
        shown = Signer.of(CertificateAndKey(data.get(CERTIFICATE, b""), data.get(KEY, b"")))
    except ValueError:
        return True
    certificate = shown.certificate
    start, end = certificate.not_valid_before_utc, certificate.not_valid_after_utc
    if _hosts_of(certificate) != {*hosts} or now >= end - (end - start) / 3:
        return True
    if _vouches(authority, certificate):
        return False
    known_for = now - authority.not_valid_before_utc - BACKDATED
    return known_for >= SPREAD or not _former_vouches(data, certificate)


def _former_vouches(data: SecretData, certificate: x509.Certificate) -> bool:
    try:
        former = x509.load_pem_x509_certificate(data.get(FORMER_AUTHORITY, b""))
    except ValueError:
        return False
    return _vouches(former, certificate)


def _vouches(authority: x509.Certificate, certificate: x509.Certificate) -> bool:
    try:
        certificate.verify_directly_issued_by(authority)
    except (InvalidSignature, TypeError, ValueError):
        return False
    return True


def _hosts_of(certificate: x509.Certificate) -> set[str]:
    try:
        names = certificate.extensions.get_extension_for_class(x509.SubjectAlternativeName)
    except x509.ExtensionNotFound:
        return set()
    return {*names.value.get_values_for_type(x509.DNSName)}


# ---- where it is kept ----------------------------------------------------------------------------


@dataclasses.dataclass(frozen=True, slots=True)
class StoredSecret:
    """A Secret at one version: ``body`` is the whole object."""

    body: Mapping[str, Any]

    @property
    def data(self) -> dict[str, bytes]:
        """What it holds. Raises ValueError."""
        found = self.body.get("data") or {}
        return {key: base64.b64decode(value, validate=True) for key, value in found.items()}

    def holding(self, data: SecretData) -> dict[str, Any]:
        """The object with this data instead."""
        encoded = {key: base64.b64encode(value).decode() for key, value in data.items()}
        return {**self.body, "data": encoded}


class SecretStore:
    """One Secret at the API server. ``fence`` says whether it may be written; None: it may."""

    def __init__(
        self, session: HttpSession, namespace: str, name: str, fence: Fence | None = None
    ) -> None:
        self._session = session
        self._fence = fence
        self._path = f"/api/v1/namespaces/{namespace}/secrets/{name}"
        self._name = f"Secret {namespace}/{name}"

    @property
    def open(self) -> bool:
        """Whether it may be written now."""
        return self._fence is None or self._fence.open

    def __str__(self) -> str:
        return self._name

    async def read(self) -> StoredSecret:
        """The Secret. Raises EdgeError, NotFound where there is none."""
        body = await self._session.call(HttpCall("GET", self._path))
        try:
            found = json.loads(body)
            StoredSecret(found).data  # noqa: B018 - whether it can be read
        except (ValueError, TypeError, AttributeError) as error:
            raise Retryable(f"GET {self._path}: not a Secret: {error!r}") from error
        return StoredSecret(found)

    async def create(self, labels: Mapping[str, str], data: SecretData) -> None:
        """Make the Secret. Raises EdgeError, Conflict where there is one."""
        collection, _, name = self._path.rpartition("/")
        made = {
            "apiVersion": "v1",
            "kind": "Secret",
            "metadata": {"name": name, "labels": labels},
            "type": "Opaque",
        }
        content = json.dumps(StoredSecret(made).holding(data)).encode()
        await self._session.call(HttpCall("POST", collection, content, guard=self._check))

    async def replace(self, body: Mapping[str, Any]) -> None:
        """Write this over exactly the version that it was made of. Raises EdgeError, Conflict where
        that is not the newest.
        """
        content = json.dumps(body).encode()
        await self._session.call(HttpCall("PUT", self._path, content, guard=self._check))

    def _check(self) -> None:
        if self._fence is not None:
            self._fence.check(f"writing {self._name}")


class SecretCertificate:
    """The certificate in a Secret, for a server at these hosts. Until there is one it is what
    ``first`` gives, certificate and key in PEM, which no API server believes.
    """

    def __init__(
        self,
        store: SecretStore,
        hosts: Sequence[str],
        clock: Clock,
        first: Callable[[], bytes],
    ) -> None:
        self._store = store
        self._hosts = hosts
        self._clock = clock
        self._first = first
        self._pem = b""
        self.found = asyncio.Event()
        """Set once the Secret was seen: until then nobody wants to be answered."""

    def __str__(self) -> str:
        return str(self._store)

    def read(self) -> bytes:
        """As the Secret had it at the last look; what cannot be found there stays."""
        return self._pem or self._first()

    async def run(self) -> None:
        """Look at the Secret until cancelled; the leader renews what is due."""
        while True:
            await self.look()
            await self._clock.sleep(LOOK_SECONDS)

    async def look(self) -> None:
        """One look; where the Secret is out of reach, that is told. That there is none says no more
        than that nobody has installed admission.
        """
        try:
            await self._look()
        except EdgeError as error:
            if isinstance(error, NotFound) and not self.found.is_set():
                return
            text = "%s, with the certificate of admission, is out of reach: %s"
            log.warning(text, self._store, error, extra=once_per_failure(error))

    async def _look(self) -> None:
        secret = await self._store.read()
        self.found.set()
        data: SecretData = secret.data
        if self._store.open and (due := self._renewed(data)) is not None:
            await self._store.replace(secret.holding(due))
            log.info("the certificate of admission is renewed", extra={"secret": str(self._store)})
            data = due
        if data.get(CERTIFICATE) and data.get(KEY):
            self._pem = data[CERTIFICATE] + b"\n" + data[KEY]

    def _renewed(self, data: SecretData) -> SecretData | None:
        try:
            return renewed(data, self._hosts, self._clock.now())
        except ValueError as error:
            log.warning(
                "%s: its authority cannot sign: %s; `moorage admission-ca` makes another one",
                self._store,
                error,
                extra=once_per_cause(f"authority {error}"),
            )
            return None
