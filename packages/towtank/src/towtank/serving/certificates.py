"""Certificates of a cluster: an authority whose key nobody keeps, a server's, an administrator's;
and the kubeconfig that has them.
"""

from __future__ import annotations

import base64
import dataclasses
import datetime
import ipaddress
import ssl
from pathlib import Path
from typing import Final

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import ExtendedKeyUsageOID, NameOID

from towtank.model.kinds import Body

ADMINISTRATOR: Final = "admin"
MASTERS: Final = "system:masters"
_LIFETIME: Final = datetime.timedelta(days=365)
_CRITICAL: Final = (x509.BasicConstraints, x509.KeyUsage)
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
_HOSTS: Final = ("127.0.0.1", "::1")
_KEY_FORM: Final = (
    serialization.Encoding.PEM,
    serialization.PrivateFormat.PKCS8,
    serialization.NoEncryption(),
)
_KUBECONFIG: Final = """apiVersion: v1
kind: Config
current-context: towtank
clusters:
- name: towtank
  cluster:
    server: {server}
    certificate-authority-data: {authority}
users:
- name: {user}
  user:
    client-certificate-data: {certificate}
    client-key-data: {key}
contexts:
- name: towtank
  context: {{cluster: towtank, user: {user}, namespace: {namespace}}}
"""


@dataclasses.dataclass(frozen=True, slots=True)
class KeyPair:
    """A certificate and its key, in PEM."""

    certificate: bytes
    key: bytes


class ClusterCertificates:
    """Made anew for each cluster."""

    def __init__(self, now: datetime.datetime) -> None:
        self._now = now
        self._issuer = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "towtank")])
        key = ec.generate_private_key(ec.SECP256R1())
        self.authority: Final = self._signed(self._issuer, key, key).certificate
        names = [
            x509.DNSName("localhost"),
            *(x509.IPAddress(ipaddress.ip_address(host)) for host in _HOSTS),
        ]
        self.server: Final = self._pair(
            "kube-apiserver",
            "",
            key,
            ExtendedKeyUsageOID.SERVER_AUTH,
            x509.SubjectAlternativeName(names),
        )
        self.administrator: Final = self._pair(
            ADMINISTRATOR, MASTERS, key, ExtendedKeyUsageOID.CLIENT_AUTH
        )

    def _pair(
        self,
        user: str,
        group: str,
        issuer: ec.EllipticCurvePrivateKey,
        usage: x509.ObjectIdentifier,
        *more: x509.ExtensionType,
    ) -> KeyPair:
        groups = [x509.NameAttribute(NameOID.ORGANIZATION_NAME, group)] if group else []
        name = x509.Name([*groups, x509.NameAttribute(NameOID.COMMON_NAME, user)])
        return self._signed(
            name,
            ec.generate_private_key(ec.SECP256R1()),
            issuer,
            x509.ExtendedKeyUsage([usage]),
            *more,
        )

    def _signed(
        self,
        name: x509.Name,
        key: ec.EllipticCurvePrivateKey,
        issuer: ec.EllipticCurvePrivateKey,
        *extensions: x509.ExtensionType,
    ) -> KeyPair:
        builder = x509.CertificateBuilder(
            issuer_name=self._issuer,
            subject_name=name,
            public_key=key.public_key(),
            serial_number=x509.random_serial_number(),
            # clients' clocks may be behind
            not_valid_before=self._now - datetime.timedelta(minutes=5),
            not_valid_after=self._now + _LIFETIME,
        )
        for extension in (*_roles(key, issuer), *extensions):
            builder = builder.add_extension(extension, critical=isinstance(extension, _CRITICAL))
        certificate = builder.sign(issuer, hashes.SHA256()).public_bytes(serialization.Encoding.PEM)
        return KeyPair(certificate, key.private_bytes(*_KEY_FORM))

    def context(self, folder: Path) -> ssl.SSLContext:
        """The server's side of TLS; ``folder`` is where OpenSSL reads its key from, once."""
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.verify_mode = ssl.CERT_OPTIONAL  # whoever has a token needs no certificate
        context.load_verify_locations(cadata=self.authority.decode())
        file = folder / "server.pem"
        file.touch(mode=0o600)
        file.write_bytes(self.server.certificate + self.server.key)
        context.load_cert_chain(file)
        file.unlink()
        context.set_alpn_protocols(["http/1.1"])
        # no client resumes a session here: tickets would only be sent ahead of each first answer
        context.num_tickets = 0
        return context

    def configuration(self) -> Body:
        """The ConfigMap in which a kube-apiserver says whose client certificates it believes, for
        servers that do as it does.
        """
        return {
            "apiVersion": "v1",
            "kind": "ConfigMap",
            "metadata": {"name": "extension-apiserver-authentication", "namespace": "kube-system"},
            "data": {"client-ca-file": self.authority.decode()},
        }

    def kubeconfig(self, server: str, namespace: str = "default") -> str:
        """All that a client needs, in one file."""
        data = {
            "authority": self.authority,
            "certificate": self.administrator.certificate,
            "key": self.administrator.key,
        }
        encoded = {name: base64.b64encode(pem).decode() for name, pem in data.items()}
        return _KUBECONFIG.format(server=server, user=ADMINISTRATOR, namespace=namespace, **encoded)


def _roles(
    key: ec.EllipticCurvePrivateKey, issuer: ec.EllipticCurvePrivateKey
) -> tuple[x509.ExtensionType, ...]:
    """What a key is for, and whose it is: clients that check strictly (Python's from 3.13 on) want
    to be told.
    """
    authority = key is issuer
    usages = {"key_cert_sign", "crl_sign"} if authority else {"digital_signature"}
    return (
        x509.BasicConstraints(ca=authority, path_length=None),
        x509.KeyUsage(**{usage: usage in usages for usage in _USAGES}),
        x509.SubjectKeyIdentifier.from_public_key(key.public_key()),
        x509.AuthorityKeyIdentifier.from_issuer_public_key(issuer.public_key()),
    )
