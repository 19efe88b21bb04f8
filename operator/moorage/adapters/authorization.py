"""Who may see what our server has: the API server is asked, by TokenReview and SubjectAccessReview,
as kube-scheduler asks it.

Whatever cannot be found out is refused. Without credentials nobody is asked: there is no anonymous
access but to health.
"""

from __future__ import annotations

import asyncio
import dataclasses
import hashlib
import json
import logging
from collections.abc import Awaitable, Callable, Hashable, Sequence
from typing import Any, Generic, NamedTuple, TypeVar

import msgspec

from moorage.adapters.answers import decoded
from moorage.ports.clock import Clock
from moorage.ports.errors import EdgeError, Forbidden, NotFound
from moorage.ports.http_calls import HttpCall
from moorage.ports.repeated_logs import once_per_cause
from moorage.ports.requesters import Caller, CallerRight, Denied

log = logging.getLogger(__name__)
K = TypeVar("K", bound=Hashable)
V = TypeVar("V")

CACHE_SECONDS = 10.0
"""How long an answer counts, as in kube-scheduler: a token that was taken back is good for so
long.
"""
MAX_CACHED_REVIEWS = 1024
MAX_CONCURRENT_REVIEWS = 8
"""Reviews in flight: a flood of unknown tokens becomes none at the API server."""
REVIEW_TIMEOUT_SECONDS = 10.0
_UNKNOWN_CALLER = "the bearer token is not known, or not any more"
_NO_CALLER = "a client certificate or a bearer token is needed"
MASTERS_GROUP = "system:masters"
"""Who is of this group may do everything, also while the API server does not answer."""
AUTHORITIES_PATH = "/api/v1/namespaces/kube-system/configmaps/extension-apiserver-authentication"


class _User(msgspec.Struct):
    username: str = ""
    uid: str = ""
    groups: tuple[str, ...] | None = None
    extra: dict[str, tuple[str, ...]] | None = None


class _TokenStatus(msgspec.Struct):
    authenticated: bool = False
    user: _User | None = None


class _TokenReview(msgspec.Struct):
    status: _TokenStatus


class _AccessStatus(msgspec.Struct):
    allowed: bool = False
    denied: bool = False


class _AccessReview(msgspec.Struct):
    status: _AccessStatus


class _ConfigMap(msgspec.Struct):
    data: dict[str, str] | None = None


@dataclasses.dataclass(slots=True)
class _CachedReview(Generic[V]):
    """An answer, or what will be one; ``waiting`` callers wait for it."""

    asked: float
    task: asyncio.Task[V]
    waiting: int = 0


class _ReviewCache(Generic[K, V]):
    """What was answered lately, by question. Those who ask the same at one time wait for one
    answer; failures are not kept.

    What nobody waits for any more is not asked: else those who come and go would leave ever more
    behind while answers are slow.
    """

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._known: dict[K, _CachedReview[V]] = {}

    async def get(self, question: K, ask: Callable[[], Awaitable[V]]) -> V:
        """The answer, asked for where there is none. Raises what ``ask`` raises."""
        now = self._clock.boottime()
        self._drop(now)
        answer = self._known.get(question)
        if answer is None:
            answer = self._known[question] = _CachedReview(now, asyncio.create_task(_awaited(ask)))
        answer.waiting += 1
        try:
            # who goes away does not take the answer from the others
            return await asyncio.shield(answer.task)
        finally:
            answer.waiting -= 1
            if not answer.waiting and not answer.task.done():
                answer.task.cancel()
            if self._known.get(question) is answer and not _good(answer.task):
                del self._known[question]

    def _drop(self, now: float) -> None:
        """The oldest come first."""
        for question, answer in list(self._known.items()):
            if answer.asked + CACHE_SECONDS > now and len(self._known) < MAX_CACHED_REVIEWS:
                return
            del self._known[question]


def _attributes(right: CallerRight) -> dict[str, dict[str, str]]:
    """The right as a review's spec has it."""
    if right.path:
        return {"nonResourceAttributes": {"verb": right.verb, "path": right.path}}
    names = ("verb", "group", "resource", "namespace")
    asked = {name: getattr(right, name) for name in names}
    return {"resourceAttributes": {key: value for key, value in asked.items() if value}}


def _good(task: asyncio.Task[Any]) -> bool:
    """Whether it has an answer, or may get one."""
    return not task.cancelling() and not (
        task.done() and (task.cancelled() or task.exception() is not None)
    )


async def _awaited(ask: Callable[[], Awaitable[V]]) -> V:
    return await ask()


class _Right(NamedTuple):
    """What is asked of a SubjectAccessReview. ``caller`` is its user, groups, uid and extra as the
    review has them, in JSON.
    """

    caller: str
    right: CallerRight


class ApiReviews:
    """``ports.requesters.Gatekeeper``; ``call`` is one request to the API server
    (``ports.http_calls.HttpSession.call``).
    """

    def __init__(self, call: Callable[[HttpCall], Awaitable[bytes]], clock: Clock) -> None:
        self._call = call
        self._tokens: _ReviewCache[bytes, Caller | None] = _ReviewCache(clock)
        self._rights: _ReviewCache[_Right, bool] = _ReviewCache(clock)
        self._slots = asyncio.Semaphore(MAX_CONCURRENT_REVIEWS)

    async def admit(
        self, token: str, certified: Caller | None, rights: Sequence[CallerRight]
    ) -> None:
        """Return when the caller may do all of this. Raises Denied."""
        try:
            caller = certified or await self._caller(token)
            if caller is None:
                raise Denied(401, _UNKNOWN_CALLER if token else _NO_CALLER)
            for right in () if MASTERS_GROUP in caller.groups else rights:
                if not await self._is_allowed(caller, right):
                    raise Denied(403, f"user {caller.name!r} may not {right}")
        except EdgeError as error:
            extra = once_per_cause(f"reviews {type(error).__name__}")
            text = "who may see %s cannot be found out, so nobody may: %s"
            log.warning(text, " and ".join(map(str, rights)), error, extra=extra)
            text = "who may see this cannot be found out now: the API server does not say"
            raise Denied(503, text) from error

    async def client_authorities(self) -> str:
        """``client-ca-file`` of the ConfigMap in which kube-apiserver says whose client
        certificates it believes. Raises EdgeError.
        """
        try:
            found = decoded(
                AUTHORITIES_PATH,
                await self._call(HttpCall("GET", AUTHORITIES_PATH, timeout=REVIEW_TIMEOUT_SECONDS)),
                _ConfigMap,
            )
        except (Forbidden, NotFound) as error:
            log.warning(
                "client certificates do not count, as their authority cannot be read: %s",
                error,
                extra=once_per_cause("no authority"),
            )
            return ""
        return (found.data or {}).get("client-ca-file", "")

    async def _caller(self, token: str) -> Caller | None:
        if not token:
            return None
        return await self._tokens.get(
            hashlib.sha256(token.encode()).digest(), lambda: self._review_token(token)
        )

    async def _is_allowed(self, caller: Caller, right: CallerRight) -> bool:
        user = {
            "user": caller.name,
            "uid": caller.uid,
            "groups": [*caller.groups],
            "extra": {**caller.extra},
        }
        asked = _Right(json.dumps(user, sort_keys=True), right)
        return await self._rights.get(asked, lambda: self._review_access(user, right))

    # ---- what the API server is asked ------------------------------------------------------------

    async def _review_token(self, token: str) -> Caller | None:
        status = (
            await self._review(
                "authentication.k8s.io", "TokenReview", {"token": token}, _TokenReview
            )
        ).status
        if not status.authenticated or status.user is None or not status.user.username:
            return None
        user = status.user
        return Caller(user.username, user.groups or (), user.uid, user.extra or {})

    async def _review_access(self, user: dict[str, Any], right: CallerRight) -> bool:
        spec = {**user, **_attributes(right)}
        status = (
            await self._review("authorization.k8s.io", "SubjectAccessReview", spec, _AccessReview)
        ).status
        return status.allowed and not status.denied

    async def _review(self, group: str, kind: str, spec: dict[str, Any], answer: type[V]) -> V:
        body = json.dumps({"apiVersion": f"{group}/v1", "kind": kind, "spec": spec}).encode()
        async with self._slots:
            return decoded(
                kind,
                await self._call(
                    HttpCall(
                        "POST",
                        f"/apis/{group}/v1/{kind.lower()}s",
                        body,
                        timeout=REVIEW_TIMEOUT_SECONDS,
                    )
                ),
                answer,
            )
