"""Playing a conversation with a server: each step's answer, as it came."""

from __future__ import annotations

import contextlib
import http.client
import json
import shlex
import ssl
import subprocess
import time
from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any, Final

import msgspec
import yaml

from tests.conformance.conversations import HERE, Conversation, Step, filled

_PATIENCE: Final = 20.0
"""Seconds for what a server does a little later, and for events."""
_SILENCE: Final = 5.0


class Server(msgspec.Struct, frozen=True):
    """Where a server listens, and how to get in."""

    url: str
    authority: Path
    certificate: Path
    key: Path
    kubectl: Path
    kubeconfig: Path
    home: Path
    """A folder for what kubectl remembers."""


class Record(msgspec.Struct, frozen=True):
    """What a step was answered. `code` is HTTP's, or kubectl's exit code."""

    code: int
    content_type: str = ""
    warnings: tuple[str, ...] = ()
    body: Any = None
    """JSON or YAML decoded; else text. Of kubectl: its stdout and stderr as lines. Of watches: the
    events.
    """


class Player:
    """Plays conversations one after another."""

    def __init__(self, server: Server) -> None:
        self._server: Final = server
        self._context: Final = ssl.create_default_context(cafile=str(server.authority))
        self._context.load_cert_chain(server.certificate, server.key)
        self._connection = self._connect()

    def close(self) -> None:
        """Leave."""
        self._connection.close()

    def play(self, conversation: Conversation) -> dict[str, Record]:
        """The steps' answers by the steps' names. An answer that is needed and absent makes a
        step's record say so.
        """
        namespace = conversation.name
        answers: dict[str, Any] = {
            "ns": namespace,
            "core": f"/api/v1/namespaces/{namespace}",
            "apps": f"/apis/apps/v1/namespaces/{namespace}",
            "crds": str(HERE.parents[1] / "crds"),
        }
        self._http(
            "POST",
            "/api/v1/namespaces",
            json.dumps({"metadata": {"name": namespace}}).encode(),
            {"Content-Type": "application/json"},
        )
        records = {}
        with contextlib.ExitStack() as open_watches:
            for step in conversation.steps:
                try:
                    record = self._patiently(
                        msgspec.convert(filled(msgspec.to_builtins(step), answers), Step),
                        answers,
                        open_watches,
                    )
                except LookupError as error:
                    record = Record(-1, body=f"not asked: {error}")
                except (OSError, http.client.HTTPException) as error:
                    self.close()
                    self._connection = self._connect()
                    record = Record(-1, body=f"{type(error).__name__}: {error}")
                records[step.name] = record
                answers.setdefault(step.name, record.body)
        return records

    def _patiently(
        self, step: Step, answers: dict[str, Any], watches: contextlib.ExitStack
    ) -> Record:
        deadline = time.monotonic() + _PATIENCE
        while True:
            record = self._once(step, answers, watches)
            if (
                not step.until
                or step.until in f"{record.code} {json.dumps(record.body)}"
                or time.monotonic() > deadline
            ):
                return record
            time.sleep(0.1)

    def _once(self, step: Step, answers: dict[str, Any], watches: contextlib.ExitStack) -> Record:
        if step.kubectl:
            return self._kubectl(step, answers["ns"])
        if step.events:
            watch = answers[f"watch of {step.events}"]
            return (
                Record(200, body=_events(watch, step.count))
                if watch
                else Record(-1, body="no watch")
            )
        if step.watch:
            return self._watch(step, answers, watches)
        method, _, path = step.ask.partition(" ")
        return self._http(method, path, _sent(step), _headers(step))

    def _http(
        self, method: str, path: str, data: bytes | None, headers: Mapping[str, str]
    ) -> Record:
        try:
            self._connection.request(method, path, data, {"User-Agent": "conformance", **headers})
            response = self._connection.getresponse()
        except (http.client.RemoteDisconnected, ConnectionResetError, BrokenPipeError):
            # Servers close connections after some refusals; that is theirs to decide.
            self.close()
            self._connection = self._connect()
            self._connection.request(method, path, data, {"User-Agent": "conformance", **headers})
            response = self._connection.getresponse()
        return _record(response, response.read())

    def _watch(self, step: Step, answers: dict[str, Any], watches: contextlib.ExitStack) -> Record:
        connection = watches.enter_context(contextlib.closing(self._connect(_SILENCE)))
        connection.request("GET", step.watch, headers={"User-Agent": "conformance", **step.headers})
        response = connection.getresponse()
        answers[f"watch of {step.name}"] = response if response.status == http.client.OK else None
        if response.status == http.client.OK:
            return Record(response.status, response.headers["Content-Type"] or "")
        return _record(response, response.read())

    def _kubectl(self, step: Step, namespace: str) -> Record:
        server = self._server
        words = shlex.split(step.kubectl) if isinstance(step.kubectl, str) else step.kubectl
        command = [
            str(server.kubectl),
            f"--kubeconfig={server.kubeconfig}",
            f"--cache-dir={server.home / 'cache'}",
            f"--namespace={namespace}",
            *words,
        ]
        given = step.stdin if isinstance(step.stdin, str) else json.dumps(step.stdin)
        environment = {
            "HOME": str(server.home),
            "PATH": "/usr/bin:/bin",
            "KUBE_EDITOR": step.editor,
            "TMPDIR": str(server.home),
        }
        done = subprocess.run(
            command,
            check=False,
            input=given,
            capture_output=True,
            text=True,
            env=environment,
            timeout=60,
        )
        return Record(
            done.returncode,
            body={"stdout": done.stdout.splitlines(), "stderr": done.stderr.splitlines()},
        )

    def _connect(self, timeout: float = 30) -> http.client.HTTPSConnection:
        return http.client.HTTPSConnection(
            self._server.url.removeprefix("https://"), timeout=timeout, context=self._context
        )


def both(
    conversation: Conversation, one: Player, other: Player
) -> tuple[dict[str, Record], dict[str, Record]]:
    """Two servers' answers, asked side by side."""
    with ThreadPoolExecutor(2) as pool:
        first, second = (pool.submit(player.play, conversation) for player in (one, other))
        return first.result(), second.result()


def _sent(step: Step) -> bytes | None:
    if step.text is not None:
        return (step.text * step.repeat).encode()
    return None if step.body is None else json.dumps(step.body).encode()


def _headers(step: Step) -> dict[str, str]:
    return (
        {} if step.body is None and step.text is None else {"Content-Type": step.type}
    ) | step.headers


def _record(response: http.client.HTTPResponse, data: bytes) -> Record:
    kind = response.headers["Content-Type"] or ""
    body: Any = data.decode(errors="replace")
    if kind.startswith("application/json"):
        with contextlib.suppress(json.JSONDecodeError):
            body = json.loads(data)
    elif "yaml" in kind:
        body = yaml.safe_load(body)
    elif "protobuf" in kind:
        body = "(binary)"
    return Record(response.status, kind, tuple(response.headers.get_all("Warning", [])), body)


def _events(watch: http.client.HTTPResponse, count: int) -> list[Any]:
    """The next `count` events, or all until the end. Silence ends the list too: it will be too
    short.
    """
    found: list[Any] = []
    with contextlib.suppress(TimeoutError):
        while not count or len(found) < count:
            line = watch.readline()
            if not line:
                break
            found.append(json.loads(line))
    return found
