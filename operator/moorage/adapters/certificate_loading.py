"""Certificate loading: OpenSSL reads keys from files only, so one that is in memory is given to it
in a file that is in memory too, and never on a disk.
"""

from __future__ import annotations

import os
import ssl


def load_certificate(context: ssl.SSLContext, pem: bytes) -> None:
    """Give the context this certificate with its key. Raises OSError or ValueError where they do
    not make one.
    """
    file = os.memfd_create("certificate", os.MFD_CLOEXEC)
    try:
        os.write(file, pem)
        # else OpenSSL would ask the terminal for one
        context.load_cert_chain(f"/proc/self/fd/{file}", password=b"")
    finally:
        os.close(file)
