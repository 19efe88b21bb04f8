"""A malformed request costs a traceback in the log; a bad Host is answered 500."""

import contextlib
import os
import time

from tests.faults.stage import Stage, verdict

COUNT = 20
with Stage() as stage:
    size = len(stage.log_text())
    for _ in range(COUNT):
        with contextlib.suppress(OSError):
            stage.ask(
                "", b"GET /\x00\x1b[31m\r\n" + os.urandom(500) + b" HTTP/1.1\r\n\r\n", seconds=1
            )
    time.sleep(1)
    new = stage.log_text()[size:]
    hosts = {
        host: stage.ask(
            "", b"GET /metrics HTTP/1.1\r\nHost: " + host + b"\r\nConnection: close\r\n\r\n"
        )
        .split(b"\r\n")[0]
        .decode()
        for host in (b"a b[[[:99999999", b"\xff\xfe", b"[")
    }
    hosts |= {
        b"debug " + host: stage.ask(
            "", b"GET /debug/cache HTTP/1.1\r\nHost: " + host + b"\r\nConnection: close\r\n\r\n"
        )
        .split(b"\r\n")[0]
        .decode()
        for host in (b"a b[[[:99999999", b"\xff\xfe", b"[")
    }
    bad = sorted({line for line in hosts.values() if " 500" in line})
    verdict(
        "Traceback" in new or bool(bad),
        f"{COUNT} malformed requests: {new.count('Traceback')} tracebacks, {len(new)}"
        f" bytes of log; bad Hosts answered {', '.join(bad) or 'without 500'}",
    )
