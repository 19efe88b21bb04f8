"""`moorage bundle`: what is in the archive, and above all what is not."""

from __future__ import annotations

import asyncio
import io
import json
import tarfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final, cast

import pytest
from aiohttp import web

from moorage.apps.bundle.bundling import BundleOptions, cleaned, run
from moorage.apps.bundle.parts import Part, parts
from moorage.apps.bundle.secret_texts import LEFT_OUT, without_secrets
from moorage.apps.exit_status import NoAnswer, WrongUse
from moorage.apps.reach.installations import Installation
from moorage.apps.reach.operator_choice import OperatorChoice
from moorage.apps.reach.operators import ReachedOperator
from moorage.apps.reach.surroundings import Surroundings
from moorage.apps.worlds.reaching import Connection
from moorage.ports.errors import Forbidden
from moorage.ports.http_calls import HttpCall
from tests.adapters.api_server import StubApiServer, answers, api_server, status
from tests.apps.reach.surroundings import LEADER, a_lease, a_profile, a_replica, script
from tests.apps.worlds.test_from_cluster import kubeconfig

JWT: Final = "eyJhbGciOiJSUzI1NiJ9.eyJzdWIiOiJtYWxsb3J5In0.c2lnbmF0dXJl"
PEM: Final = "-----BEGIN RSA PRIVATE KEY-----\nUExBTlRFRC1wZW0=\n-----END RSA PRIVATE KEY-----"
PLANTED: Final = ("PLANTED", JWT, "UExBTlRFRC1wZW0=")
"""What no archive may hold: whatever is planted below has one of these in it."""
FORMS: Final = (
    'password="PLANTED-1 and 2"',
    "token: 'PLANTED'",
    "password = PLANTED",
    "password:\n  PLANTED",
    "password: |\n  PLANTED\n  PLANTED",
    'token: "PLANTED\nPLANTED"',
    'token: "PLANTED',
    "run --password PLANTED",
    "run --db-token=PLANTED",
    '["--password", "PLANTED"]',
    "API key: PLANTED",
    "Authorization: Digest username=PLANTED, response=PLANTED",
    '{"level":"info","token":"PLANTED","pod":"ml/a"}',
    "I read {'token': 'PLANTED'}",
    r'msg="{\"token\":\"PLANTED \\\"x\\\" PLANTED\",\"pod\":\"ml/a\"}"',
    r'"{\\\"token\\\": \\\"PLANTED\\\"}"',
    '{"name": "DB_PASSWORD", "value": "PLANTED"}',
    '{"value": "PLANTED", "name": "DB_PASSWORD"}',
    "x={'name': 'DB_PASSWORD', 'value': 'PLANTED'}",
    r"x={\"value\":\"PLANTED\",\"name\":\"DB_PASSWORD\"}",
    "https://user:PLANTED@PLANTED@host/?sig=PLANTED",
    f"as {JWT} said",
    PEM,
    PEM.replace("\n", "\\n"),
)
"""Texts that have a secret, as people, programs and programs that quote others write them."""
NESTED: Final = [
    {"forms": [{"message": form} for form in FORMS]},
    dict.fromkeys(FORMS, 1),
    {"quotes": json.dumps({"message": list(FORMS)})},
    {"quotes": json.dumps({"x": json.dumps({"password": "PLANTED"})})},
    {"args": ["--password", "PLANTED", "--weight", "3"]},
    [{"name": "DB_PASSWORD", "value": "PLANTED"}, {"key": "token", "values": ["PLANTED"]}],
]
POD: Final = {
    "metadata": {"name": "moorage-0", "annotations": {"note": "PLANTED-annotation"}},
    "spec": {
        "containers": [
            {
                "image": "registry/PLANTED-image",
                "command": ["run", "PLANTED-command"],
                "env": [{"name": "A", "value": "PLANTED-env"}],
            }
        ]
    },
}
EXTENDER: Final = {
    "urlPrefix": "https://user:PLANTED-password@extender/x?token=PLANTED-query",
    "tlsConfig": {"keyData": "PLANTED-key", "certData": "PLANTED-cert", "insecure": False},
}
PROFILE: Final[dict[str, Any]] = {
    "metadata": {
        "name": "gpu",
        "uid": "u",
        "annotations": {"kubectl.kubernetes.io/last-applied-configuration": "PLANTED-applied"},
        "managedFields": [{"manager": "PLANTED-manager"}],
    },
    "spec": {
        "extenders": [EXTENDER],
        "nested": NESTED,
        "pluginConfig": [{"name": "Own", "args": {"apiKey": "PLANTED-apikey", "weight": 3}}],
    },
    "status": {
        "claimedBy": "moorage-system/moorage",
        "conditions": [{"type": "Accepted", "message": f"keyData: 'PLANTED-key' and {JWT}"}],
        "nested": NESTED,
    },
}
CONFIG: Final = {
    "metadata": {"name": "own"},
    "spec": {"args": {"password": "PLANTED-config", "nested": NESTED}},
}
REVISION: Final = {
    "metadata": {"name": "gpu-1", "annotations": {"a": "PLANTED-revision"}},
    "data": {"uid": "u", "profile": PROFILE, "pluginConfigs": {"own": CONFIG}},
}
LOG: Final = f"""I call https://u:PLANTED-log@host/path
Authorization: Bearer PLANTED-bearer
as ml/eval-0 on node-1 with 'PLANTED-apikey'
{PEM}
""" + "\n".join(FORMS)
OF_OPERATOR: Final[Mapping[str, Any]] = {
    "/configz": {
        "componentconfig": {"clientConnection": {"master": "https://a:PLANTED-m@b"}, "x": NESTED}
    },
    "/debug/queue": [
        {"pod": "ml/eval-0", "annotations": {"x": "PLANTED-queue"}, "message": FORMS[0]},
        *NESTED,
    ],
    "/debug/cache": [{"node": "node-1", "pods": [POD]}, *NESTED],
    "/debug/differences": NESTED,
}
HOME: Final = "/api/v1/namespaces/moorage-system/pods/moorage-0/log"
REVISIONS: Final = "/apis/apps/v1/namespaces/moorage-system/controllerrevisions"
PROFILES: Final = "/apis/moorage.dev/v1alpha1/schedulerprofiles"
CONFIGS: Final = "/apis/moorage.dev/v1alpha1/pluginconfigs"


def planted(server: StubApiServer) -> None:
    """A cluster that has secrets wherever it can."""
    script(server, a_lease(), [a_replica(LEADER, {"x": "PLANTED-lease"})], [PROFILE])
    server.then("GET", CONFIGS, answers({"items": [CONFIG]}))
    server.then("GET", REVISIONS, answers({"items": [REVISION]}))

    async def log(request: Any) -> web.StreamResponse:
        return web.Response(text=LOG)

    server.then("GET", HOME, log)
    for resource, name in (("nodes", "node-1"), ("namespaces", "ml"), ("pods", "eval-0")):
        server.then(
            "GET", f"/api/v1/{resource}", answers({"items": [{"metadata": {"name": name}}]})
        )


def with_token(folder: Path, url: str) -> Any:
    """A kubeconfig whose user has a token."""
    choice = kubeconfig(folder, url)
    document = json.loads(Path(choice.kubeconfig).read_text())
    document["users"] = [{"name": "me", "user": {"token": "PLANTED-token"}}]
    for one in document["contexts"]:
        one["context"]["user"] = "me"
    Path(choice.kubeconfig).write_text(json.dumps(document))
    return choice


def bundled(folder: Path, hash_names: bool = False) -> dict[str, str]:
    """The texts of the archive of a planted cluster, by file."""

    async def scenario() -> None:
        async with api_server() as server:
            planted(server)
            choice = with_token(folder, server.url)
            options = BundleOptions(choice, OperatorChoice("none"), folder / "b.tgz", hash_names)
            assert await asyncio.to_thread(run, options) == 0
            assert {request.method for request in server.requests} == {"GET"}
            assert not [one for one in server.requests if "secrets" in one.path]

    asyncio.run(scenario())
    return read(folder)


def read(folder: Path) -> dict[str, str]:
    """The texts of the archive, by file."""
    with tarfile.open(folder / "b.tgz") as archive:
        files = {name.partition("/")[2]: archive.extractfile(name) for name in archive.getnames()}
        return {name: file.read().decode() for name, file in files.items() if file is not None}


class FakeOperator:
    """A session that answers as an operator does, and refuses what it is not told."""

    async def call(self, call: HttpCall) -> bytes:
        """Of OF_OPERATOR, metrics and a list."""
        if call.path == "/metrics":
            return ('x{url="https://u:PLANTED-metric@h"} 1\n' + "\n".join(FORMS)).encode()
        if call.path in OF_OPERATOR:
            return json.dumps(OF_OPERATOR[call.path]).encode()
        raise Forbidden(
            f"GET {call.path}", 403, "Forbidden", "; ".join(("no token=PLANTED here", *FORMS))
        )


def test_no_secret_is_in_the_archive(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Neither in a file nor in what is printed; what helps is there, and each part is named."""
    files = bundled(tmp_path)
    told = capsys.readouterr().out
    assert [one for one in PLANTED if one in "".join([*files, *files.values(), told])] == []
    assert json.loads(files["profiles.json"])[0]["spec"]["pluginConfig"][0]["args"]["weight"] == 3
    (stored,) = json.loads(files["revisions.json"])
    assert stored["content"]["profile"]["spec"]["extenders"][0]["tlsConfig"]["keyData"] == LEFT_OUT
    assert "as ml/eval-0 on node-1" in files["logs/moorage-0.txt"]
    assert told.startswith(f"Wrote {tmp_path}/b.tgz, ")
    for line in ("in    profiles.json, ", "miss  configz.json: --server none", "miss  recording: "):
        assert line in files["contents.txt"] and line in told
    assert (tmp_path / "b.tgz").stat().st_mode & 0o777 == 0o600


def test_no_secret_of_the_operator_is_in_it() -> None:
    """What it serves goes the same way; what it refuses is a line."""
    fake = cast("Any", FakeOperator())
    connection = Connection(fake, "here", "v1.36.1")
    around = Surroundings([PROFILE], Installation("moorage-system", "moorage"), True)

    async def collected() -> list[Part]:
        return [one async for one in parts(connection, around, ReachedOperator(fake, "m"))]

    texts, missing = cleaned(asyncio.run(collected()), None)
    assert [one for one in PLANTED if one in json.dumps([texts, missing])] == []
    assert {"configz.json", "metrics.txt", "queue.json", "cache.json", "differences.json"} < set(
        texts
    )
    unserved = {"groups.json", "rates.json", "recording"}
    assert {"pluginconfigs.json", "revisions.json", *unserved} == set(missing)


@pytest.mark.parametrize("form", FORMS)
def test_a_text_loses_its_secret_alone(form: str) -> None:
    """What is behind it stays, but on the line of a header."""
    left = without_secrets(f"before {form}\nbehind")
    assert not [one for one in PLANTED if one in left]
    assert left.startswith("before ") and left.endswith("\nbehind") and LEFT_OUT in left


def test_texts_without_secrets_stay() -> None:
    """Words for secrets are none."""
    for text in ("no token was sent", "profile gpu: weight 3", "--weight 3", "0/5 nodes: full"):
        assert without_secrets(text) == text


def test_texts_of_any_form_end_soon() -> None:
    """No pattern goes over a long text again for each place in it."""
    for part in ("a", "token", '"', "\\", 'token="', "-a", "://", "?key", 'token\\\\"'):
        without_secrets(part * (100_000 // len(part)))


def test_names_are_hashed(tmp_path: Path) -> None:
    """The same name to the same hash; logs, where a name may be that nobody has any more, are not
    there.
    """
    part = Part("queue.json", [{"at": "ml/eval-0"}, {"on": "node-1", "of": "ml", "n": 7}])
    texts, _ = cleaned([part], frozenset(("ml", "eval-0", "node-1", "7")))
    first, second = json.loads(texts["queue.json"])
    namespace, name = first["at"].split("/")
    assert second["of"] == namespace and {len(namespace), len(name), len(second["on"])} == {13}
    assert second["n"] == 7
    files = bundled(tmp_path, hash_names=True)
    assert not [one for one in ("eval-0", "node-1") if one in "".join(files.values())]
    assert "moorage-0" not in "".join([*files, *files.values()])  # by its Lease
    told = files["contents.txt"]
    assert ".txt: left out with --hash-names" in told and "\nhash  names of nodes, " in told
    assert "\nstay  other names, as of profiles" in told


def test_names_that_nobody_lists_are_hashed() -> None:
    """A pod that is gone is in the queue, a node that is gone among the differences."""
    documents: dict[str, Any] = {
        "queue.json": [
            {"pod": "gone/pod-7", "owner": "Job/own-er", "message": "no pod-7.gone.svc"}
        ],
        "differences.json": [
            {"kind": "redundant pod", "object": "old/pod-8", "ours": "host-1.lan"}
        ],
        "cache.json": [{"node": "host-2.lan", "pods": [{"pod": "ml/pod-9", "on": "host-1"}]}],
        "profiles.json": [{"spec": {"x": "host-2 and pod-9"}, "claims": {"gone/pod-7": 1}}],
    }
    found = [Part(file, document) for file, document in documents.items()]
    texts, missing = cleaned([*found, Part("x", missing="no host-1.lan")], frozenset())
    left = json.dumps([texts, missing])
    names = ("gone", "pod-7", "own-er", "old", "pod-8", "pod-9", "host-1", "host-2", "lan")
    assert [one for one in names if one in left] == []
    (cached,) = json.loads(texts["cache.json"])
    (difference,) = json.loads(texts["differences.json"])
    assert cached["pods"][0]["on"] == difference["ours"].partition(".")[0]  # one machine


@pytest.mark.parametrize("code", [403, 404], ids=["without a right", "not installed"])
def test_what_cannot_be_had_is_a_line(tmp_path: Path, code: int) -> None:
    """Nothing that is refused or not there keeps the rest from being written."""

    async def scenario() -> None:
        async with api_server() as server:
            server.then("GET", "/version", answers({"gitVersion": "v1.36.1"}))
            if code == 403:
                leases = "/apis/coordination.k8s.io/v1/namespaces/moorage-system/leases"
                for path in (PROFILES, CONFIGS, REVISIONS, leases, f"{leases}/moorage"):
                    server.then("GET", path, status(code, "Forbidden"))
            choice = kubeconfig(tmp_path, server.url)
            options = BundleOptions(choice, OperatorChoice(), tmp_path / "b.tgz")
            assert await asyncio.to_thread(run, options) == 0

    asyncio.run(scenario())
    files = read(tmp_path)
    assert json.loads(files["versions.json"])["kubernetes"] == "v1.36.1"
    for file in ("profiles.json", "pluginconfigs.json", "metrics.txt", "recording"):
        assert f"miss  {file}: " in files["contents.txt"]
    reason = {403: "who leads cannot be seen", 404: "nobody leads"}[code]
    assert f"miss  metrics.txt: {reason}\n" in files["contents.txt"]


def test_stdout_and_files_that_are_there(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """The archive alone is on stdout; nothing is written over; no cluster is no answer."""

    class Output(io.StringIO):
        buffer = io.BytesIO()

    async def scenario() -> None:
        async with api_server() as server:
            script(server, a_lease(), [], [a_profile("gpu")])
            server.then("GET", CONFIGS, status(403, "Forbidden"))
            choice = kubeconfig(tmp_path, server.url)
            with monkeypatch.context() as patch:
                patch.setattr("sys.stdout", Output())
                options = BundleOptions(choice, OperatorChoice("none"), Path("-"))
                await asyncio.to_thread(run, options)
            there = tmp_path / "kubeconfig"
            with pytest.raises(WrongUse, match="not written over"):
                await asyncio.to_thread(run, BundleOptions(choice, OperatorChoice("none"), there))

    asyncio.run(scenario())
    with tarfile.open(fileobj=io.BytesIO(Output.buffer.getvalue())) as archive:
        assert any(name.endswith("/profiles.json") for name in archive.getnames())
    assert "miss  pluginconfigs.json: " in capsys.readouterr().err
    nowhere = kubeconfig(tmp_path, "http://127.0.0.1:1")
    with pytest.raises(NoAnswer):
        run(BundleOptions(nowhere, OperatorChoice("none")))
