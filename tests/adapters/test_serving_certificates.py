"""What our server shows: files that come, change, break and expire, and a certificate of its
own.
"""

from __future__ import annotations

import datetime
import logging
import ssl
from pathlib import Path

import pytest
from cryptography import x509
from cryptography.hazmat.primitives import serialization

from moorage.adapters.serving_certificates import (
    LIFETIME,
    CertificateError,
    CertificateFiles,
    SelfSignedCertificate,
    ServingCertificates,
)
from moorage.adapters.system_clock import SystemClock
from tests.fakes.clocks import EPOCH, ManualClock
from tests.rig.certificates import Authority

CLOCK = SystemClock()


class Pair:
    """Two files that a certificate of an authority is written to, as whoever renews it does."""

    def __init__(self, folder: Path) -> None:
        (folder / "authority").mkdir()
        self.authority = Authority(folder / "authority")
        self.files = CertificateFiles(str(folder / "tls.crt"), str(folder / "tls.key"))

    def write(
        self,
        lifetime: datetime.timedelta = datetime.timedelta(days=2),
        *,
        certificate: bool = True,
        key: bool = True,
    ) -> None:
        """A new pair, or one half of it."""
        new_certificate, new_key = self.authority.server("it", lifetime)
        if certificate:
            Path(self.files.certificate).write_bytes(new_certificate.read_bytes())
        if key:
            Path(self.files.key).write_bytes(new_key.read_bytes())


@pytest.fixture
def pair(tmp_path: Path) -> Pair:
    """A good pair."""
    made = Pair(tmp_path)
    made.write()
    return made


def serial(certificates: ServingCertificates) -> int:
    """Of the certificate in use."""
    return x509.load_pem_x509_certificate(certificates._pem).serial_number


def test_a_changed_pair_is_taken(pair: Pair) -> None:
    """A context of its own: connections that are there keep theirs."""
    certificates = ServingCertificates(pair.files, CLOCK)
    first, context = serial(certificates), certificates.context
    assert not certificates.refresh("")
    assert certificates.context is context
    pair.write()
    shown = certificates.certificate
    assert certificates.refresh("")
    assert serial(certificates) != first
    assert certificates.context is not context
    assert certificates.certificate != shown
    assert not certificates.refresh("")


@pytest.mark.parametrize("half", ["certificate", "key"])
def test_half_a_change_waits_for_the_other_half(
    pair: Pair, half: str, caplog: pytest.LogCaptureFixture
) -> None:
    """Told as one cause, and never shown."""
    certificates = ServingCertificates(pair.files, CLOCK)
    first = serial(certificates)
    pair.write(certificate=half != "certificate", key=half != "key")
    for _ in range(3):
        assert not certificates.refresh("")
    assert serial(certificates) == first
    assert len({record.cause for record in caplog.records}) == 1  # type: ignore[attr-defined]
    assert "what was there before stays in use" in caplog.text
    pair.write()
    assert certificates.refresh("")


@pytest.mark.parametrize(
    "text",
    [
        b"",
        b"no certificate",
        b"-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n",
        None,
    ],
)
def test_what_cannot_be_used(pair: Pair, text: bytes | None) -> None:
    """At the start it is an error that names the files; later the last good one stays."""
    certificates = ServingCertificates(pair.files, CLOCK)
    context = certificates.context
    file = Path(pair.files.certificate)
    if text is None:
        file.unlink()
    else:
        file.write_bytes(text)
    assert not certificates.refresh("")
    assert certificates.context is context
    with pytest.raises(
        CertificateError, match=r"serving\.certFile .*tls\.crt with serving\.keyFile .*tls\.key"
    ):
        ServingCertificates(pair.files, CLOCK)


def test_a_key_with_a_password_asks_nobody(pair: Pair) -> None:
    """It is refused, instead of waiting at a terminal."""
    key = serialization.load_pem_private_key(Path(pair.files.key).read_bytes(), None)
    form = (
        serialization.Encoding.PEM,
        serialization.PrivateFormat.PKCS8,
        serialization.BestAvailableEncryption(b"secret"),
    )
    Path(pair.files.key).write_bytes(key.private_bytes(*form))
    with pytest.raises(CertificateError):
        ServingCertificates(pair.files, CLOCK)


@pytest.mark.parametrize(
    ("lifetime", "told"),
    [
        (datetime.timedelta(days=2), ""),
        (datetime.timedelta(hours=3), "expires, at "),
        (datetime.timedelta(minutes=-5), "has expired, at "),
    ],
    ids=["good", "ends soon", "has ended"],
)
def test_a_certificate_that_ends_is_told_and_shown(
    pair: Pair, lifetime: datetime.timedelta, told: str, caplog: pytest.LogCaptureFixture
) -> None:
    """Not serving would help nobody: probes do not look at it."""
    pair.write(lifetime)
    ServingCertificates(pair.files, CLOCK)
    assert told in caplog.text
    assert bool(caplog.text) is bool(told)


def test_its_own_is_made_anew_before_it_ends() -> None:
    """And says the host's names."""
    clock = ManualClock()
    certificates = ServingCertificates(
        SelfSignedCertificate(("localhost", "127.0.0.1", "::1", "moorage-0", "not a näme"), clock),
        clock,
    )
    shown = x509.load_pem_x509_certificate(certificates._pem)
    names = shown.extensions.get_extension_for_class(x509.SubjectAlternativeName).value
    assert names.get_values_for_type(x509.DNSName) == ["localhost", "moorage-0"]
    assert [str(address) for address in names.get_values_for_type(x509.IPAddress)] == [
        "127.0.0.1",
        "::1",
    ]
    assert shown.not_valid_before_utc < EPOCH < shown.not_valid_after_utc == EPOCH + LIFETIME
    clock.jump(datetime.timedelta(days=334).total_seconds())
    assert not certificates.refresh("")
    clock.jump(datetime.timedelta(days=2).total_seconds())
    assert certificates.refresh("")
    assert serial(certificates) != shown.serial_number
    assert x509.load_pem_x509_certificate(
        certificates._pem
    ).not_valid_after_utc > clock.now() + datetime.timedelta(days=364)


def test_authorities_and_certificate_do_not_hold_up_each_other(
    pair: Pair, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    """Clients are asked for certificates where there is an authority; a broken one leaves the one
    before.
    """
    certificates = ServingCertificates(pair.files, CLOCK)
    assert certificates.context.verify_mode is ssl.CERT_NONE
    authority = pair.authority.file.read_text()
    assert certificates.refresh(authority)
    assert certificates.context.verify_mode is ssl.CERT_OPTIONAL
    first = serial(certificates)
    pair.write()
    with caplog.at_level(logging.WARNING):
        assert certificates.refresh("no certificate")
    assert "the authorities of client certificates" in caplog.text
    assert serial(certificates) != first
    assert certificates.context.get_ca_certs()
    pair.write(key=False)
    assert certificates.refresh("")
    assert certificates.context.verify_mode is ssl.CERT_NONE


def test_old_versions_of_tls_are_not_spoken(pair: Pair) -> None:
    """1.2 is the oldest; nobody may have a handshake again and again."""
    context = ServingCertificates(pair.files, CLOCK).context
    assert context.minimum_version is ssl.TLSVersion.TLSv1_2
    assert context.options & ssl.OP_NO_RENEGOTIATION
