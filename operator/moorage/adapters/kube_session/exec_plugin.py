"""Credential plugins: a program that a kubeconfig names, whose answer is an ExecCredential.

kubernetes.aio runs them too, but logs what goes wrong and goes on without any credential, and waits
for ever. Here every fault is an error with the program's name and what it wrote to stderr. Its
stdout may hold a credential, so only a text that is no JSON is quoted.
"""

from __future__ import annotations

import asyncio
import contextlib
import dataclasses
import datetime
import json
import logging
import os
import signal
from collections.abc import Iterator, Mapping
from typing import Any

log = logging.getLogger(__name__)

SLOW_SECONDS = 5.0
"""After them it is told who is waited for."""
MAX_RUN_SECONDS = 30.0
"""After them the program is ended."""
KILLED_SECONDS = 1.0
"""For its pipes to come to their end."""
MAX_OUTPUT_BYTES = 2**20
"""Of its answer."""
MAX_QUOTED_CHARACTERS = 300
"""Characters of what the program wrote."""


_NO_CREDENTIAL = (
    "its answer has neither status.token nor status.clientCertificateData with status.clientKeyData"
)


class ExecPluginError(Exception):
    """A credential plugin gave no credential; the text names it and says why."""


@dataclasses.dataclass(frozen=True, slots=True)
class Credential:
    """A token, or a certificate with its key; ``expires`` is None where the plugin does not say."""

    token: str
    certificate: str
    key: str
    expires: datetime.datetime | None


async def run_exec_plugin(config: Mapping[str, Any]) -> Credential:
    """Run what a kubeconfig's ``exec`` says. Raises ExecPluginError."""
    command, written = str(config.get("command") or ""), ""
    try:
        words = [command, *map(str, config.get("args") or ())]
        stdout, stderr, code = await _run(words, _environment(config))
        written = f"; it wrote: {_quoted(stderr)}" if stderr.strip() else ""
        if code:
            raise ValueError(f"it ended with exit status {code}")
        return _credential(stdout, str(config["apiVersion"]))
    except (OSError, KeyError, TypeError, ValueError, OverflowError) as error:
        text = _what_failed(error, str(config.get("installHint") or ""), written)
        raise ExecPluginError(f"exec plugin {command}: {text}") from error


def _what_failed(error: Exception, hint: str, written: str) -> str:
    if isinstance(error, TimeoutError):
        return f"no answer within {MAX_RUN_SECONDS:g} s"
    if isinstance(error, OSError):
        return f"it cannot be run: {error.strerror}. {hint}"
    if isinstance(error, KeyError | TypeError):
        return f"the kubeconfig's exec is not complete: {error}"
    return f"{error}{written}"


async def _run(words: list[str], environment: Mapping[str, str]) -> tuple[bytes, bytes, int]:
    """Stdout, stderr and exit status. Raises OSError, TimeoutError; what it started has ended
    then.
    """
    process = await _started(words, environment)
    ends = filter(None, (process.stdout, process.stderr))
    written = [asyncio.create_task(_beginning(end)) for end in ends]
    try:
        with _logged_when_slow(words[0]):
            if (await asyncio.wait(written, timeout=MAX_RUN_SECONDS))[1]:
                raise TimeoutError
            stdout, stderr = (end.result() for end in written)
            if len(stdout) > MAX_OUTPUT_BYTES:
                raise ValueError(f"its answer is longer than {MAX_OUTPUT_BYTES} bytes")
            async with asyncio.timeout(MAX_RUN_SECONDS):
                return stdout, stderr, await process.wait()
    finally:
        await _end(process, written)


async def _started(words: list[str], environment: Mapping[str, str]) -> asyncio.subprocess.Process:
    """The program, in a process group of its own."""
    pipe, nothing = asyncio.subprocess.PIPE, asyncio.subprocess.DEVNULL
    return await asyncio.create_subprocess_exec(
        *words, env=environment, stdin=nothing, stdout=pipe, stderr=pipe, start_new_session=True
    )


@contextlib.contextmanager
def _logged_when_slow(command: str) -> Iterator[None]:
    text = "the exec plugin %s has not answered for %g s; it is waited for up to %g s"
    notice = asyncio.get_running_loop().call_later(
        SLOW_SECONDS, log.warning, text, command, SLOW_SECONDS, MAX_RUN_SECONDS
    )
    try:
        yield
    finally:
        notice.cancel()


async def _end(process: asyncio.subprocess.Process, written: list[asyncio.Task[bytes]]) -> None:
    """End the program, also what it has left behind, which holds our pipes open."""
    with contextlib.suppress(ProcessLookupError):
        os.killpg(process.pid, signal.SIGKILL)
    await process.wait()
    for end in (await asyncio.wait(written, timeout=KILLED_SECONDS))[1]:
        end.cancel()


async def _beginning(stream: asyncio.StreamReader) -> bytes:
    """What comes until its end, but no more than a little over the limit; the rest is read and
    thrown away.
    """
    kept = bytearray()
    while part := await stream.read(2**16):
        if len(kept) <= MAX_OUTPUT_BYTES:
            kept += part
    return bytes(kept)


def _environment(config: Mapping[str, Any]) -> dict[str, str]:
    info = {
        "apiVersion": config["apiVersion"],
        "kind": "ExecCredential",
        "spec": {"interactive": False},
    }
    own = {str(item["name"]): str(item["value"]) for item in config.get("env") or ()}
    return {**os.environ, **own, "KUBERNETES_EXEC_INFO": json.dumps(info)}


def _credential(stdout: bytes, version: str) -> Credential:
    """What an answer holds. Raises ValueError."""
    answer = _parsed(stdout)
    status = answer.get("status")
    if answer.get("kind") != "ExecCredential" or not isinstance(status, dict):
        raise ValueError("its answer is no ExecCredential with a status")
    if (given := answer.get("apiVersion")) != version:
        raise ValueError(f"its answer has apiVersion {given}, the kubeconfig asks for {version}")
    names = ("token", "clientCertificateData", "clientKeyData", "expirationTimestamp")
    token, certificate, key, until = (str(status.get(name) or "") for name in names)
    if not token and not (certificate and key):
        raise ValueError(_NO_CREDENTIAL)
    expires = datetime.datetime.fromisoformat(until) if until else None
    return Credential(token, certificate, key, expires and expires.astimezone(datetime.UTC))


def _parsed(stdout: bytes) -> dict[str, Any]:
    """An answer's JSON, {} where it is no object. Raises ValueError."""
    try:
        answer = json.loads(stdout)
    except (ValueError, RecursionError) as error:
        said = "" if stdout.lstrip()[:1] in (b"{", b"") else f": {_quoted(stdout)}"
        raise ValueError(f"its answer of {len(stdout)} bytes is no JSON: {error}{said}") from error
    return answer if isinstance(answer, dict) else {}


def _quoted(written: bytes) -> str:
    text = written.decode(errors="replace").strip()
    return text if len(text) <= MAX_QUOTED_CHARACTERS else text[:MAX_QUOTED_CHARACTERS] + " ..."
