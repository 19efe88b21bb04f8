"""Connections with half a request stay for ever, in any number; with 1,024 files allowed /livez is
refused.
"""

import contextlib
import resource
import socket
import ssl
import time

from tests.faults.stage import Stage, verdict

COUNT = 1200
with Stage(start=False) as stage:
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (1024, hard))  # what the operator inherits
    stage.operator = stage.new_operator()
    stage.operator.wait_logged("leading", 60)
    resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))
    kept: list[socket.socket] = []
    for i in range(COUNT):
        with contextlib.suppress(OSError):
            if i % 3 == 0:  # half a request
                kept.append(stage.connect(5))
                kept[-1].sendall(b"GET /metrics HTTP/1.1\r\nA: ")
            else:  # nothing, or half a hello of TLS
                kept.append(
                    socket.create_connection(("127.0.0.1", stage.operator.secure_port), timeout=5)
                )
                kept[-1].sendall(b"\x16\x03\x01\x02"[: i % 3 * 4 - 4])

    def live() -> bool:
        try:
            return b" 200 " in stage.ask("/livez", seconds=4).split(b"\r\n")[0]
        except OSError:
            return False

    at_once = live()
    time.sleep(40)
    later, still = live(), 0
    for s in kept:
        s.setblocking(False)
        try:
            still += bool(s.recv(1))
        except (BlockingIOError, ssl.SSLWantReadError):
            still += 1
        except OSError:
            pass
    verdict(
        not at_once or still > COUNT // 10,
        f"{COUNT} half requests: /livez answers {at_once}, 40 s later {later};"
        f" still open then: {still}; process lives: {stage.operator.alive}",
    )
