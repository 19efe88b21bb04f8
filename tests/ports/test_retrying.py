"""Pauses between attempts, and a request that is made until it is answered."""

from __future__ import annotations

import asyncio

import pytest

from moorage.ports.errors import Conflict, EdgeError, EvictionBlocked, Retryable
from moorage.ports.retrying import MAX_THROTTLED, Backoff, retrying, until_admitted
from tests.fakes.clocks import EagerClock


def test_pauses_double_up_to_the_longest() -> None:
    """However many failures there are."""
    backoff = Backoff(0.5, 5.0)
    assert [backoff.seconds(n) for n in (1, 2, 3, 4, 5, 10_000)] == [0.5, 1.0, 2.0, 4.0, 5.0, 5.0]


def test_jitter_shortens_only() -> None:
    """Waits stay between half of the doubled pause and all of it, and are not all the same."""
    backoff = Backoff(0.1, 10.0, jitter=0.5)
    waits = [backoff.seconds(n, Retryable("x")) for n in range(1, 40)]
    for n, wait in enumerate(waits):
        assert min(10.0, 0.1 * 2**n) / 2 <= wait <= min(10.0, 0.1 * 2**n)
    assert len(set(waits)) > 30


@pytest.mark.parametrize(
    ("error", "want"),
    [
        (Retryable("x", after=7.0), 7.0),
        (Retryable("x", after=0.1), 0.5),
        (Conflict("PUT /x", 409), 0.5),
        (None, 0.5),
    ],
    ids=["asked for more", "asked for less", "asked for nothing", "no error"],
)
def test_the_api_server_may_ask_for_more(error: EdgeError | None, want: float) -> None:
    """Also beyond the longest pause."""
    assert Backoff(0.5, 5.0).seconds(1, error) == want


def test_a_request_is_made_until_it_is_answered() -> None:
    """Each failure is told with the pause that follows it, and the pause is made."""
    clock, told = EagerClock(), list[tuple[str, float]]()
    answers: list[int | EdgeError] = [
        Retryable("a"),
        Conflict("PUT /b", 409),
        Retryable("c", after=9.0),
        5,
    ]

    async def request() -> int:
        answer = answers.pop(0)
        if isinstance(answer, EdgeError):
            raise answer
        return answer

    async def scenario() -> int:
        return await retrying(
            request,
            Backoff(1.0, 3.0),
            clock,
            lambda error, seconds: told.append((str(error)[:6], seconds)),
        )

    assert asyncio.run(scenario()) == 5
    assert told == [("a", 1.0), ("PUT /b", 2.0), ("c", 9.0)]
    assert clock.slept == [1.0, 2.0, 9.0]


def test_what_is_no_answer_of_an_edge_is_raised() -> None:
    """A bug is not tried again."""
    clock = EagerClock()

    async def request() -> None:
        raise KeyError("x")

    with pytest.raises(KeyError):
        asyncio.run(retrying(request, Backoff(1.0), clock, lambda error, seconds: None))
    assert clock.slept == []


PUT_OFF = Retryable("too many requests", after=1.0, status=429)


@pytest.mark.parametrize(
    ("answers", "want", "slept"),
    [
        pytest.param([5], 5, [], id="at once"),
        pytest.param([PUT_OFF, PUT_OFF, 5], 5, [1.0, 1.0], id="when it is served"),
        pytest.param([PUT_OFF] * 11, PUT_OFF, [1.0] * 3 + [1.6] + [3.0] * 6, id="never served"),
        pytest.param(
            [Retryable("failed", outcome_unknown=True, status=500)],
            "failed",
            [],
            id="it may have been done",
        ),
        pytest.param(
            [EvictionBlocked("POST", 429, "TooManyRequests")], "POST", [], id="a budget says no"
        ),
        pytest.param([Conflict("PATCH", 409)], "PATCH", [], id="refused"),
    ],
)
def test_a_request_that_is_put_off(
    answers: list[int | EdgeError], want: object, slept: list[float]
) -> None:
    """It is made again, ten times at most; what may have been done, or is refused, is not."""
    clock, left = EagerClock(), list(answers)

    async def request() -> int:
        answer = left.pop(0)
        if isinstance(answer, EdgeError):
            raise answer
        return answer

    if isinstance(want, int):
        assert asyncio.run(until_admitted(request, clock)) == want
    else:
        with pytest.raises(EdgeError, match=str(want)):
            asyncio.run(until_admitted(request, clock))
    assert clock.slept == slept and not left
    assert len(slept) <= MAX_THROTTLED
