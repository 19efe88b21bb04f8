"""The process: how it logs, which limits it has, how it ends, and that it lives where there is no
API server.
"""

from __future__ import annotations

import asyncio
import contextlib
import http.client
import json
import logging
import os
import resource
import signal
import socket
import ssl
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from moorage.apps.run import operator_process
from tests.rig.operators import until

NOWHERE = "http://127.0.0.1:9"
"""Nobody listens at the discard port."""


@pytest.mark.parametrize(
    ("verbosity", "debug", "decisions"),
    [(0, False, False), (1, False, False), (2, False, True), (4, True, True)],
)
def test_verbosity(verbosity: int, debug: bool, decisions: bool) -> None:
    """Decisions from 2 on, everything from 4 on."""
    root, chosen = logging.getLogger(), logging.getLogger("moorage.decisions")
    before = root.level, chosen.level
    try:
        operator_process.set_verbosity(verbosity)
        assert root.isEnabledFor(logging.DEBUG) is debug
        assert chosen.isEnabledFor(logging.INFO) is decisions
    finally:
        root.setLevel(before[0])
        chosen.setLevel(before[1])


def test_a_task_that_ignores_its_end_does_not_hold_up_the_process() -> None:
    """It is named and left; those that end are waited for."""

    async def scenario() -> list[str]:
        async def stubborn() -> None:
            while True:
                with contextlib.suppress(asyncio.CancelledError):
                    await asyncio.sleep(0.2)
                    return

        async def decent() -> None:
            await asyncio.sleep(60)

        left, done = asyncio.create_task(stubborn(), name="stubborn"), asyncio.create_task(decent())
        await asyncio.sleep(0)
        names = await operator_process.end_tasks(0.05)
        assert done.cancelled()
        await left
        return names

    assert asyncio.run(scenario()) == ["stubborn"]


@contextlib.contextmanager
def operator(*flags: str) -> Iterator[subprocess.Popen[str]]:
    """The program, with no API server to speak to."""
    command = [
        sys.executable,
        "-I",
        "-m",
        "moorage",
        "run",
        f"--master={NOWHERE}",
        "--bind-address=127.0.0.1",
        "--logging-format=json",
        *flags,
    ]
    with subprocess.Popen(command, stderr=subprocess.PIPE, text=True) as process:
        try:
            yield process
        finally:
            process.kill()


def logged(process: subprocess.Popen[str], message: str) -> dict[str, object]:
    """Read the log up to the line with this message."""
    assert process.stderr is not None
    for line in process.stderr:
        entry = json.loads(line)
        if message in entry["msg"]:
            return dict(entry)
    raise AssertionError(f"the process ended without saying {message!r}")


def answer(port: object, path: str) -> tuple[int, str]:
    """Status and body of a GET."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
    with contextlib.closing(
        http.client.HTTPSConnection("127.0.0.1", int(str(port)), timeout=5, context=context)
    ) as connection:
        connection.request("GET", path)
        response = connection.getresponse()
        return response.status, response.read().decode()


def test_without_an_api_server_it_lives_is_not_ready_and_ends_when_told() -> None:
    """An outage is nothing that a restart would heal."""
    with operator("--secure-port=0") as process:
        port = logged(process, "health and metrics are served")["port"]
        assert answer(port, "/livez") == (200, "ok")
        status, body = answer(port, "/readyz")
        assert status == 500
        for resource in ("pods", "nodes", "namespaces"):
            assert f"[-]{resource} failed: {resource} are not listed yet" in body
        assert "[-]profiles failed: " in body
        assert [answer(port, path)[0] for path in ("/metrics", "/configz", "/debug/queue")] == [
            401
        ] * 3
        process.send_signal(signal.SIGTERM)
        logged(process, "SIGTERM: ending")
        assert process.wait(20) == 0


def serves(port: int) -> bool:
    """Whether it answers, and well."""
    try:
        return answer(port, "/livez") == (200, "ok")
    except OSError:
        return False


@pytest.mark.parametrize("kind", ["blocked", "full", "closed"])
def test_a_standard_error_that_takes_nothing_holds_nobody_up(kind: str) -> None:
    """Be it a pipe that nobody reads, a full disk or not there at all: it serves, and ends in time
    and with 0 when told.
    """
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    reading, writing = os.pipe()
    os.set_blocking(writing, False)
    with contextlib.suppress(BlockingIOError):
        while True:
            os.write(writing, b"x" * 4096)
    os.set_blocking(writing, True)
    command = [
        sys.executable,
        "-I",
        "-m",
        "moorage",
        "run",
        f"--master={NOWHERE}",
        "--bind-address=127.0.0.1",
        f"--secure-port={port}",
    ]
    if kind == "closed":
        command = ["sh", "-c", 'exec "$@" 0<&- 1>&- 2>&-', "sh", *command]
    with (
        Path("/dev/full").open("w") as full,
        subprocess.Popen(command, stderr=writing if kind == "blocked" else full) as process,
    ):
        try:
            until(lambda: serves(port), "/livez", 60)
            process.send_signal(signal.SIGTERM)
            assert process.wait(20) == 0
        finally:
            process.kill()
            os.close(reading)
            os.close(writing)


def test_an_address_that_is_taken() -> None:
    """Ends the start with a line that says so."""
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        with operator(f"--secure-port={taken.getsockname()[1]}") as process:
            assert "address already in use" in str(logged(process, "cannot start")["msg"])
            assert process.wait(20) == 1


def test_a_certificate_that_cannot_be_used(tmp_path: Path) -> None:
    """Ends the start with a line that names the files."""
    file = tmp_path / "tls.crt"
    file.write_text("nothing")
    with operator(
        f"--tls-cert-file={file}", f"--tls-private-key-file={file}", "--secure-port=0"
    ) as process:
        assert f"serving.certFile {file}" in str(
            logged(process, "do not make a certificate")["msg"]
        )
        assert process.wait(20) == 2


def test_the_limit_of_files_is_raised() -> None:
    """To what the system lets us have."""
    before = resource.getrlimit(resource.RLIMIT_NOFILE)
    try:
        resource.setrlimit(resource.RLIMIT_NOFILE, (256, before[1]))
        operator_process.raise_file_limit()
        assert resource.getrlimit(resource.RLIMIT_NOFILE) == (before[1], before[1])
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, before)


def test_an_api_server_that_cannot_be_reached_is_told_of_once() -> None:
    """Not by each informer, each second: what it is, and counts after a minute."""
    with operator("--secure-port=0") as process:
        logged(process, "health and metrics are served")
        time.sleep(5)
        process.send_signal(signal.SIGTERM)
        assert process.wait(20) == 0
        assert process.stderr is not None
        lines = process.stderr.read().splitlines()
        assert len(lines) < 12, lines
