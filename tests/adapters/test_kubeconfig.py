"""Where the API server is said to be: what a kubeconfig holds, what its plugins do, and that
nobody's password is shown.
"""

from __future__ import annotations

import asyncio
import json
import logging
import os
import time
from pathlib import Path
from typing import Any

import pytest

from moorage.adapters.kube_session import (
    CREDENTIALS_PERIOD_SECONDS,
    KubeconfigError,
    KubeSession,
    KubeSource,
    exec_plugin,
)
from moorage.ports.http_calls import HttpCall
from tests.adapters.api_server import answers, api_server
from tests.fakes.clocks import ManualClock


def kubeconfig(folder: Path, server: str = "https://127.0.0.1:1", **user: Any) -> KubeSource:
    """A file with one user."""
    document = {
        "current-context": "c",
        "clusters": [
            {"name": "c", "cluster": {"server": server, "insecure-skip-tls-verify": True}}
        ],
        "users": [{"name": "u", "user": user}],
        "contexts": [{"name": "c", "context": {"cluster": "c", "user": "u"}}],
    }
    folder.mkdir(exist_ok=True)
    file = folder / "kubeconfig"
    file.write_text(json.dumps(document))
    return KubeSource(kubeconfig=str(file))


def opened(source: KubeSource) -> tuple[str, str]:
    """The server's address as everybody sees it, and the Authorization header."""

    async def scenario() -> tuple[str, str]:
        session = await KubeSession.open(source, "moorage/0", ManualClock())
        authorization = str(session.new_client_session().headers.get("Authorization", ""))
        await session.close()
        return session.server, authorization

    return asyncio.run(scenario())


def plugin(folder: Path, script: str) -> dict[str, Any]:
    """A kubeconfig's exec that runs a shell script."""
    program = folder / "plugin.sh"
    program.write_text(f"#!/bin/sh\n{script}\n")
    program.chmod(0o755)
    return {
        "apiVersion": "client.authentication.k8s.io/v1",
        "command": str(program),
        "env": [{"name": "GIVEN", "value": "abc"}],
    }


def test_several_files_are_joined_as_kubectl_does(tmp_path: Path) -> None:
    """The first current-context counts, whoever is named first keeps the name, relative paths are
    those of their file, and what is not there is passed over.
    """
    (tmp_path / "b").mkdir()
    (tmp_path / "b" / "token").write_text("of-b")
    one, two = tmp_path / "a.yaml", tmp_path / "b" / "b.yaml"
    one.write_text(
        json.dumps(
            {
                "current-context": "far",
                "clusters": [{"name": "c", "cluster": {"server": "https://127.0.0.1:1"}}],
            }
        )
    )
    two.write_text(
        json.dumps(
            {
                "current-context": "near",
                "clusters": [
                    {"name": "c", "cluster": {"server": "https://127.0.0.1:2"}},
                    {"name": "d", "cluster": {"server": "https://127.0.0.1:3"}},
                ],
                "users": [{"name": "u", "user": {"tokenFile": "token"}}],
                "contexts": [
                    {"name": "far", "context": {"cluster": "c", "user": "u"}},
                    {"name": "near", "context": {"cluster": "d", "user": "u"}},
                ],
            }
        )
    )
    files = os.pathsep.join(map(str, (tmp_path / "none", one, two)))
    assert opened(KubeSource(kubeconfigs=files)) == ("https://127.0.0.1:1", "Bearer of-b")
    assert opened(KubeSource(kubeconfigs=files, context="near"))[0] == "https://127.0.0.1:3"
    with pytest.raises(KubeconfigError, match="Expected object with name nowhere"):
        opened(KubeSource(kubeconfigs=files, context="nowhere"))
    with pytest.raises(KubeconfigError, match="none of these files is there"):
        opened(KubeSource(kubeconfigs=os.pathsep.join(("x", "y"))))


def credential(**status: str) -> str:
    """An ExecCredential."""
    version = "client.authentication.k8s.io/v1"
    return json.dumps({"apiVersion": version, "kind": "ExecCredential", "status": status})


def answer(**status: str) -> str:
    """A script that answers with an ExecCredential."""
    return f"echo '{credential(**status)}'"


@pytest.mark.parametrize("name", ["a:b", ":", "a b", "x;y"])
def test_a_kubeconfig_is_one_file_whatever_its_path_holds(tmp_path: Path, name: str) -> None:
    """A colon in it separates nothing; paths in it are relative to it."""
    source = kubeconfig(tmp_path / name, tokenFile="token")
    (tmp_path / name / "token").write_text("t")
    assert opened(source) == ("https://127.0.0.1:1", "Bearer t")


@pytest.mark.parametrize(
    ("user", "sent"), [({"token": "t"}, "Bearer t"), ({}, "Basic dXNlcjpTM0AvQ1JFVA==")]
)
def test_a_password_in_the_address_is_sent_and_not_shown(
    tmp_path: Path, user: dict[str, str], sent: str
) -> None:
    """As Go's client does: where there is no other credential. What is logged, counted by and told
    has none.
    """
    address = "https://user:S3%40%2FCRET@127.0.0.1:1/prefix"
    assert opened(kubeconfig(tmp_path, address, **user)) == ("https://127.0.0.1:1/prefix", sent)
    assert opened(KubeSource(master=address)) == (
        "https://127.0.0.1:1/prefix",
        "Basic dXNlcjpTM0AvQ1JFVA==",
    )


@pytest.mark.parametrize(
    "address",
    [
        "user:S3CRET@127.0.0.1:1",
        "ftp://user:S3CRET@host",
        "https://user:S3CRET@",
        "https://a:S3CRET@[::1",
    ],
)
def test_an_address_that_is_none_is_refused_without_its_password(
    tmp_path: Path, address: str
) -> None:
    """From a file or from the flag."""
    for source in (kubeconfig(tmp_path, address, token="t"), KubeSource(master=address)):
        with pytest.raises(KubeconfigError) as caught:
            opened(source)
        assert "S3CRET" not in str(caught.value)


def test_a_users_fault_does_not_show_the_users_token(tmp_path: Path) -> None:
    """An error of the library would quote the entry."""
    file = tmp_path / "kubeconfig"
    file.write_text(
        "current-context: c\ncontexts: [{name: c, context: {user: u}}]\nusers: [{name: u, "
        "user: {token: S3CRET}}]\nclusters: []\n"
    )
    with pytest.raises(KubeconfigError, match="cluster") as caught:
        opened(KubeSource(kubeconfig=str(file)))
    assert "S3CRET" not in str(caught.value)


@pytest.mark.parametrize(
    ("script", "text"),
    [
        ('echo \'{"token":"S3CRET\'', "its answer of 17 bytes is no JSON"),
        ("echo please log in; exit 0", "please log in"),
        ("echo no ticket >&2; exit 3", "it ended with exit status 3; it wrote: no ticket"),
        (
            "head -c 5000 /dev/zero | tr '\\0' x >&2; exit 1",
            "x" * exec_plugin.MAX_QUOTED_CHARACTERS + " ...",
        ),
        ("echo '[]'", "no ExecCredential"),
        (
            'echo \'{"kind": "ExecCredential", "apiVersion": "v0", "status": {}}\'',
            "has apiVersion v0",
        ),
        (answer(), "neither status.token"),
        (answer(clientCertificateData="c"), "neither status.token"),
        (answer(token="t", expirationTimestamp="soon"), "soon"),
        (answer(token="t", expirationTimestamp="9999-12-31T23:59:59-01:00"), "out of range"),
        ("exit 0", "its answer of 0 bytes is no JSON"),
        ("head -c 100000 /dev/zero | tr '\\0' [", "its answer of 100000 bytes is no JSON"),
    ],
    ids=[
        *("cut", "text", "status", "long", "list", "version", "empty", "no-key", "date"),
        *("late", "nothing", "deep"),
    ],
)
def test_a_broken_plugin_is_an_error_with_its_name(tmp_path: Path, script: str, text: str) -> None:
    """Nobody asks as system:anonymous instead; what it wrote to stdout may be a credential, so JSON
    is not quoted.
    """
    with pytest.raises(KubeconfigError) as caught:
        opened(kubeconfig(tmp_path, exec=plugin(tmp_path, script)))
    told = str(caught.value)
    assert "exec plugin" in told
    assert "plugin.sh" in told
    assert text in told
    assert "S3CRET" not in told
    assert len(told) < exec_plugin.MAX_QUOTED_CHARACTERS + 500


@pytest.mark.parametrize(
    ("config", "text"),
    [
        (
            {"command": "/no/such", "apiVersion": "v1", "installHint": "Get it at the desk."},
            "No such file or directory. Get it at the desk.",
        ),
        ({"command": "true"}, "apiVersion"),
        ({"command": "true", "apiVersion": "v1", "args": 3}, "not complete"),
    ],
)
def test_a_plugin_that_cannot_be_run_is_an_error(
    tmp_path: Path, config: dict[str, Any], text: str
) -> None:
    """With what is missing."""
    with pytest.raises(KubeconfigError, match="exec plugin") as caught:
        opened(kubeconfig(tmp_path, exec=config))
    assert text in str(caught.value)


def test_a_plugin_that_hangs_is_told_and_ended(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    """Its children too, which hold its output open."""
    monkeypatch.setattr(exec_plugin, "SLOW_SECONDS", 0.05)
    monkeypatch.setattr(exec_plugin, "MAX_RUN_SECONDS", 0.3)
    with (
        caplog.at_level(logging.WARNING),
        pytest.raises(KubeconfigError, match=r"plugin\.sh: no answer within 0\.3 s"),
    ):
        opened(kubeconfig(tmp_path, exec=plugin(tmp_path, "sleep 60; true")))
    assert any("plugin.sh has not answered" in line for line in caplog.messages)


def test_a_plugin_gives_a_token_and_sees_what_it_is_given(tmp_path: Path) -> None:
    """The environment of its entry, and KUBERNETES_EXEC_INFO."""
    script = answer(token="TOKEN").replace("TOKEN", "'$GIVEN-${KUBERNETES_EXEC_INFO:+told}'")
    assert opened(kubeconfig(tmp_path, exec=plugin(tmp_path, script)))[1] == "Bearer abc-told"


def test_a_plugin_is_asked_again_when_its_token_ends_or_is_refused(tmp_path: Path) -> None:
    """Not each minute; and while it takes its time, requests go out with the old token."""
    source = kubeconfig(
        tmp_path,
        exec=plugin(
            tmp_path,
            f"echo . >> {tmp_path}/count; "
            + answer(token="t", expirationTimestamp="2999-01-01T00:00:00Z"),
        ),
    )

    async def scenario() -> list[int]:
        _, reload = await source.load()
        counts = []
        for refused in (False, True):
            await reload(refused)
            counts.append(len((tmp_path / "count").read_text().split()))
        return counts

    assert asyncio.run(scenario()) == [1, 2]


TOKENS = ["a\r\nX-Remote-User: b", "a\nb", "a\0b", "a\ud800b"]


@pytest.mark.parametrize("token", TOKENS, ids=["header", "line", "nul", "surrogate"])
def test_a_token_that_no_header_may_hold_is_not_used(
    tmp_path: Path, caplog: pytest.LogCaptureFixture, token: str
) -> None:
    """It would end the header, or the request; at the start it is an error, later the old one stays
    in use.
    """
    with pytest.raises(KubeconfigError, match="kubeconfig: the token holds a character"):
        opened(kubeconfig(tmp_path, token=token))

    async def scenario() -> None:
        async with api_server() as server:
            server.then("GET", "/x", answers({}))
            told, clock = tmp_path / "told", ManualClock()
            source = kubeconfig(tmp_path, server.url, exec=plugin(tmp_path, f"cat {told}"))
            told.write_text(credential(token="t"))
            session = await KubeSession.open(source, "moorage/0", clock)
            told.write_text(credential(token=token))
            clock.jump(CREDENTIALS_PERIOD_SECONDS)
            for _ in range(2):
                await session.call(HttpCall("GET", "/x", timeout=2))
            sent = [request.headers["Authorization"] for request in server.requests]
            assert sent == ["Bearer t"] * 2
            await session.close()

    asyncio.run(scenario())
    assert "the old ones stay in use: the token holds a character" in caplog.text


def test_requests_go_on_while_a_plugin_hangs(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Credentials that are due are read beside them: a request waits for a moment only, and goes
    out with the old ones.
    """
    monkeypatch.setattr("moorage.adapters.kube_session.CREDENTIALS_WAIT_SECONDS", 0.05)

    async def scenario() -> None:
        async with api_server() as server:
            server.then("GET", "/x", answers({}))
            script = f"test -e {tmp_path}/asked && sleep 60; touch {tmp_path}/asked; " + answer(
                token="t"
            )
            clock = ManualClock()
            session = await KubeSession.open(
                kubeconfig(tmp_path, server.url, exec=plugin(tmp_path, script)), "moorage/0", clock
            )
            clock.jump(CREDENTIALS_PERIOD_SECONDS)
            for _ in range(2):
                await session.call(HttpCall("GET", "/x", timeout=2))
            assert [request.headers["Authorization"] for request in server.requests] == [
                "Bearer t"
            ] * 2
            await session.close()

    asyncio.run(scenario())


def test_a_plugin_that_floods_is_told(tmp_path: Path) -> None:
    """No more of its answer is kept than a credential could have; what it complains of has no
    limit.
    """
    source = kubeconfig(tmp_path, exec=plugin(tmp_path, "head -c 50000000 /dev/zero"))
    with pytest.raises(KubeconfigError, match="its answer is longer than 1048576 bytes"):
        opened(source)
    source = kubeconfig(
        tmp_path, exec=plugin(tmp_path, "head -c 5000000 /dev/zero >&2\n" + answer(token="t"))
    )
    assert opened(source)[1] == "Bearer t"


def test_what_a_plugin_leaves_behind_ends_with_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A child of it that holds its output open is waited for no longer than the plugin, and is gone
    then.
    """
    monkeypatch.setattr(exec_plugin, "MAX_RUN_SECONDS", 0.5)
    left = tmp_path / "left"
    source = kubeconfig(
        tmp_path, exec=plugin(tmp_path, f"(sleep 1; touch {left}) &\n" + answer(token="t"))
    )
    with pytest.raises(KubeconfigError, match="no answer within"):
        opened(source)
    time.sleep(1)
    assert not left.exists()


@pytest.mark.parametrize("until", ["0001-01-01T00:00:00Z", "9999-12-31T23:59:59Z"])
def test_a_credential_with_an_odd_end(tmp_path: Path, until: str) -> None:
    """Go's zero time is over, so the plugin is asked each time; the last moment there is does not
    come.
    """
    asked = tmp_path / "asked"
    source = kubeconfig(
        tmp_path,
        exec=plugin(tmp_path, f"echo >> {asked}\n" + answer(token="t", expirationTimestamp=until)),
    )

    async def scenario() -> None:
        _, reload = await source.load()
        await reload(False)

    asyncio.run(scenario())
    assert len(asked.read_text().splitlines()) == (2 if until.startswith("0001") else 1)


def test_a_session_that_cannot_be_authorized_is_closed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its connections would be nobody's."""
    closed: list[str] = []
    real = KubeSession.close

    async def close(session: KubeSession) -> None:
        closed.append(session.server)
        await real(session)

    async def refuses(_: KubeSession) -> None:
        raise OSError("no token")

    monkeypatch.setattr(KubeSession, "close", close)
    monkeypatch.setattr(KubeSession, "_authorize", refuses)

    with pytest.raises(OSError, match="no token"):
        opened(kubeconfig(tmp_path / "any"))
    assert closed == ["https://127.0.0.1:1"]
