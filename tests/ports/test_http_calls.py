"""What a refusal means, whatever its body is."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from moorage.ports.errors import EdgeError, EvictionBlocked, Forbidden, Retryable
from moorage.ports.http_calls import MAX_RETRY_AFTER_SECONDS, error_from_response

JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(
            st.sampled_from(
                ("reason", "message", "details", "causes", "retryAfterSeconds", "code")
            ),
            inner,
            max_size=4,
        )
    ),
    max_leaves=20,
)


@given(
    st.binary() | JSON.map(lambda value: json.dumps(value).encode()),
    st.sampled_from((401, 404, 409, 410, 422, 429, 500)),
    st.text(),
)
def test_a_refusal_is_an_error_of_the_edge_whatever_its_body(
    body: bytes, code: int, retry_after: str
) -> None:
    """Proxies stand before API servers: nothing in a body is taken to be what it should be."""
    error = error_from_response("GET /x", code, body, retry_after)
    assert isinstance(error, EdgeError)
    assert len(str(error)) < 1000


@pytest.mark.parametrize("body", [b"[" * 100_000, b'{"details":' * 50_000, b"\xff", b"null", b""])
def test_a_body_that_nobody_can_read_is_quoted(body: bytes) -> None:
    """Also one that is too deep."""
    assert isinstance(error_from_response("GET /x", 503, body), Retryable)


def test_a_message_of_several_lines_is_part_of_a_sentence() -> None:
    """Whoever shows it shows one line, and nothing in it passes for another."""
    body = b'{"kind": "Status", "message": "denied by x:\\n- a\\r\\n- b", "code": 403}'
    error = error_from_response("PUT /x", 403, body)
    assert isinstance(error, Forbidden)
    assert error.message == "denied by x: - a - b"


@pytest.mark.parametrize(
    ("given", "seconds"),
    [
        ("7", 7.0),
        ("-7", 0.0),
        ("1000000000", MAX_RETRY_AFTER_SECONDS),
        ("1e999", MAX_RETRY_AFTER_SECONDS),
        ("nan", 0.0),
        ("Wed, 21 Oct 2065 07:28:00 GMT", 0.0),
        ("", 0.0),
    ],
)
def test_how_long_a_refusal_may_ask_to_wait(given: str, seconds: float) -> None:
    """In the header or in the body: a wrong one silences nobody for ever."""
    by_header = error_from_response("GET /x", 429, b"", given)
    assert isinstance(by_header, Retryable) and by_header.after == seconds
    details: dict[str, Any] = {"retryAfterSeconds": given}
    by_body = error_from_response("GET /x", 429, json.dumps({"details": details}).encode())
    assert isinstance(by_body, Retryable) and by_body.after == seconds


def test_a_budget_is_told_from_too_many_requests() -> None:
    """By its cause; other causes, and what is none, are passed over."""
    causes = [
        {"reason": "DisruptionBudget", "message": "it needs 3"},
        {"reason": "Other"},
        "x",
        None,
    ]
    error = error_from_response(
        "POST /x", 429, json.dumps({"message": "no", "details": {"causes": causes}}).encode()
    )
    assert isinstance(error, EvictionBlocked) and error.message == "no it needs 3"
