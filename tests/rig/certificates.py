"""The rig's own certificate authority, and the key that signs service account tokens."""

import datetime
import ipaddress
from collections.abc import Sequence
from pathlib import Path
from typing import Final

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import ExtendedKeyUsageOID, NameOID

LIFETIME: Final = datetime.timedelta(days=2)
_USAGES: Final = (
    *(
        "digital_signature",
        "content_commitment",
        "key_encipherment",
        "data_encipherment",
        "key_agreement",
    ),
    *("key_cert_sign", "crl_sign", "encipher_only", "decipher_only"),
)


class Authority:
    """A certificate authority whose files lie in `folder`: `ca.crt`, and a `.crt` and `.key` for
    each certificate.
    """

    def __init__(self, folder: Path) -> None:
        """Make the authority's key, which never leaves memory, and write its certificate."""
        self._folder = folder
        self._key = ec.generate_private_key(ec.SECP256R1())
        self._name = _name("moorage-rig", ())
        builder = self._builder(self._name, self._key.public_key(), authority=True)
        self.file: Final = folder / "ca.crt"
        self.file.write_bytes(_pem(builder.sign(self._key, hashes.SHA256())))

    def server(self, name: str, lifetime: datetime.timedelta = LIFETIME) -> tuple[Path, Path]:
        """Write a certificate for a server on loopback; returns its file and its key's."""
        names = x509.SubjectAlternativeName(
            [x509.DNSName("localhost"), x509.IPAddress(ipaddress.ip_address("127.0.0.1"))]
        )
        return self._issue(
            name, (), lifetime, x509.ExtendedKeyUsage([ExtendedKeyUsageOID.SERVER_AUTH]), names
        )

    def client(
        self, user: str, groups: Sequence[str] = (), lifetime: datetime.timedelta = LIFETIME
    ) -> tuple[Path, Path]:
        """Write a certificate that makes its holder `user`, a member of `groups`; returns its file
        and its key's.
        """
        return self._issue(
            user, groups, lifetime, x509.ExtendedKeyUsage([ExtendedKeyUsageOID.CLIENT_AUTH])
        )

    def _issue(
        self,
        name: str,
        groups: Sequence[str],
        lifetime: datetime.timedelta,
        *extensions: x509.ExtensionType,
    ) -> tuple[Path, Path]:
        key = ec.generate_private_key(ec.SECP256R1())
        builder = self._builder(_name(name, groups), key.public_key(), lifetime)
        for extension in extensions:
            builder = builder.add_extension(extension, critical=False)
        stem = name.replace(":", "-")
        certificate, key_file = self._folder / f"{stem}.crt", self._folder / f"{stem}.key"
        certificate.write_bytes(_pem(builder.sign(self._key, hashes.SHA256())))
        write_key(key, key_file)
        return certificate, key_file

    def _builder(
        self,
        subject: x509.Name,
        key: ec.EllipticCurvePublicKey,
        lifetime: datetime.timedelta = LIFETIME,
        *,
        authority: bool = False,
    ) -> x509.CertificateBuilder:
        now = datetime.datetime.now(datetime.UTC)
        builder = x509.CertificateBuilder(
            issuer_name=self._name,
            subject_name=subject,
            public_key=key,
            serial_number=x509.random_serial_number(),
            # So long ago that one can have expired since.
            not_valid_before=now - datetime.timedelta(hours=1),
            not_valid_after=now + lifetime,
        )
        usages = {"key_cert_sign", "crl_sign"} if authority else {"digital_signature"}
        # Clients that check strictly (Python's from 3.13 on) want all of these.
        builder = builder.add_extension(
            x509.BasicConstraints(ca=authority, path_length=None), critical=True
        )
        builder = builder.add_extension(
            x509.KeyUsage(**{usage: usage in usages for usage in _USAGES}), critical=True
        )
        builder = builder.add_extension(
            x509.SubjectKeyIdentifier.from_public_key(key), critical=False
        )
        return builder.add_extension(
            x509.AuthorityKeyIdentifier.from_issuer_public_key(self._key.public_key()),
            critical=False,
        )


def write_key(key: ec.EllipticCurvePrivateKey, file: Path) -> None:
    """Write a private key readable by its owner only, in SEC 1 PEM: kube-apiserver refuses PKCS 8
    token keys.
    """
    file.touch(mode=0o600)
    file.write_bytes(
        key.private_bytes(
            serialization.Encoding.PEM,
            serialization.PrivateFormat.TraditionalOpenSSL,
            serialization.NoEncryption(),
        )
    )


def write_token_key(file: Path) -> None:
    """Write a new key with which kube-apiserver signs service account tokens."""
    write_key(ec.generate_private_key(ec.SECP256R1()), file)


def _name(user: str, groups: Sequence[str]) -> x509.Name:
    """Kubernetes reads the common name as the user and each organisation as a group."""
    names = [x509.NameAttribute(NameOID.ORGANIZATION_NAME, group) for group in groups]
    return x509.Name([*names, x509.NameAttribute(NameOID.COMMON_NAME, user)])


def _pem(certificate: x509.Certificate) -> bytes:
    return certificate.public_bytes(serialization.Encoding.PEM)
