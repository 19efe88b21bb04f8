"""Certificate making: certificates for our own servers, signed by themselves or by an authority of
ours, in PEM.
"""

from __future__ import annotations

import dataclasses
import datetime
import ipaddress
import re
from collections.abc import Iterator, Sequence
from typing import Final, NamedTuple, TypeAlias

from cryptography import x509
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric import ec, rsa
from cryptography.hazmat.primitives.serialization import (
    Encoding,
    NoEncryption,
    PrivateFormat,
    load_pem_private_key,
)
from cryptography.x509.oid import ExtendedKeyUsageOID, NameOID

BACKDATED: Final = datetime.timedelta(minutes=5)
"""A certificate counts from so long before it is made: clients' clocks may be behind."""
_USAGES: Final = (
    "digital_signature",
    "content_commitment",
    "key_encipherment",
    "data_encipherment",
    "key_agreement",
    "key_cert_sign",
    "crl_sign",
    "encipher_only",
    "decipher_only",
)
_HOST: Final = re.compile(r"[A-Za-z0-9._:-]{1,253}")
_Key: TypeAlias = ec.EllipticCurvePrivateKey | rsa.RSAPrivateKey


class CertificateAndKey(NamedTuple):
    """Both in PEM."""

    certificate: bytes
    key: bytes


class Period(NamedTuple):
    """For how long a certificate is good, from now on."""

    now: datetime.datetime
    lifetime: datetime.timedelta


@dataclasses.dataclass(frozen=True, slots=True)
class Subject:
    """Whom a certificate is for: a server at these hosts, names or addresses, or an ``authority``,
    which may vouch for others: where ``vouches_for`` is given only for servers of these DNS names.
    """

    name: str
    hosts: Sequence[str] = ()
    authority: bool = False
    vouches_for: Sequence[str] = ()


@dataclasses.dataclass(frozen=True, slots=True)
class Signer:
    """Who vouches for a certificate."""

    certificate: x509.Certificate
    key: _Key

    @classmethod
    def of(cls, pem: CertificateAndKey) -> Signer:
        """Raises ValueError where these are no certificate with its key."""
        certificate = x509.load_pem_x509_certificate(pem.certificate)
        try:
            key = load_pem_private_key(pem.key, None)
        except TypeError as error:  # it has a password
            raise ValueError(str(error)) from error
        if not isinstance(key, _Key) or key.public_key() != certificate.public_key():
            raise ValueError("the key is not the certificate's")
        return cls(certificate, key)


def made(whom: Subject, period: Period, signer: Signer | None = None) -> CertificateAndKey:
    """A certificate with a new key; without ``signer`` it is signed by itself."""
    key = ec.generate_private_key(ec.SECP256R1())
    builder = _builder(whom, period, signer, key.public_key())
    for extension, critical in _extensions(key.public_key(), whom):
        builder = builder.add_extension(extension, critical)
    if signer is not None:
        issuer = x509.AuthorityKeyIdentifier.from_issuer_public_key(signer.key.public_key())
        builder = builder.add_extension(issuer, critical=False)
    signed = builder.sign(key if signer is None else signer.key, hashes.SHA256())
    return CertificateAndKey(
        signed.public_bytes(Encoding.PEM),
        key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption()),
    )


def _builder(
    whom: Subject, period: Period, signer: Signer | None, key: ec.EllipticCurvePublicKey
) -> x509.CertificateBuilder:
    subject = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, whom.name)])
    end = period.now + period.lifetime
    return x509.CertificateBuilder(
        issuer_name=subject if signer is None else signer.certificate.subject,
        subject_name=subject,
        public_key=key,
        serial_number=x509.random_serial_number(),
        not_valid_before=period.now - BACKDATED,
        not_valid_after=end if signer is None else min(end, signer.certificate.not_valid_after_utc),
    )


def _extensions(
    key: ec.EllipticCurvePublicKey, whom: Subject
) -> Iterator[tuple[x509.ExtensionType, bool]]:
    """Each with whether it is critical."""
    used_for = ("digital_signature", *(("key_cert_sign",) if whom.authority else ()))
    yield x509.BasicConstraints(whom.authority, 0 if whom.authority else None), True
    yield x509.KeyUsage(**{usage: usage in used_for for usage in _USAGES}), True
    yield x509.ExtendedKeyUsage([ExtendedKeyUsageOID.SERVER_AUTH]), False
    yield x509.SubjectKeyIdentifier.from_public_key(key), False
    if found := [*map(_alternative, filter(_HOST.fullmatch, whom.hosts))]:
        yield x509.SubjectAlternativeName(found), False
    if whom.vouches_for:
        yield x509.NameConstraints([*map(x509.DNSName, whom.vouches_for)], None), True


def _alternative(name: str) -> x509.GeneralName:
    try:
        return x509.IPAddress(ipaddress.ip_address(name))
    except ValueError:
        return x509.DNSName(name)
