"""Tokens end with what they are of, and there is a most of them."""

from __future__ import annotations

import pytest

from towtank.subresources import token_issuer
from towtank_tests.in_memory import InMemoryCluster, content

ACCOUNTS = "/api/v1/namespaces/default/serviceaccounts"
USER = "system:serviceaccount:default:robot"


def world() -> InMemoryCluster:
    """With an account, and one whose name begins so."""
    asked = InMemoryCluster()
    for name in ("robot", "robots"):
        assert asked.ask("POST", ACCOUNTS, {"metadata": {"name": name}}).code == 201
    return asked


def token(asked: InMemoryCluster, name: str = "robot", seconds: int = 600) -> str:
    """A new one."""
    return str(
        content(
            asked.ask("POST", f"{ACCOUNTS}/{name}/token", {"spec": {"expirationSeconds": seconds}})
        )["status"]["token"]
    )


def test_a_token_goes_with_its_account() -> None:
    """A later account of the same name is another; other accounts keep theirs."""
    asked = world()
    old, others = token(asked), token(asked, "robots")
    assert asked.tokens.user(old) == USER
    assert asked.ask("DELETE", f"{ACCOUNTS}/robot").code == 200
    assert asked.tokens.user(old) == ""
    assert asked.ask("POST", ACCOUNTS, {"metadata": {"name": "robot"}}).code == 201
    assert asked.tokens.user(old) == ""
    assert asked.tokens.user(others) == f"{USER}s"
    assert asked.tokens.user(token(asked)) == USER


def test_there_is_a_most_of_tokens(monkeypatch: pytest.MonkeyPatch) -> None:
    """Until some have ended."""
    monkeypatch.setattr(token_issuer, "MAX_TOKENS", 3)
    asked = world()
    first = [token(asked) for _ in range(3)]
    refused = asked.ask("POST", f"{ACCOUNTS}/robot/token", {})
    assert (refused.code, content(refused)["reason"]) == (429, "TooManyRequests")
    assert all(asked.tokens.user(one) for one in first)
    asked.wait(601)
    assert asked.tokens.user(token(asked)) == USER
    assert not any(asked.tokens.user(one) for one in first)
