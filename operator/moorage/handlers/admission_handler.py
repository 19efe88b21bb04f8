"""Admission: Kopf's handlers for reviews of both kinds, and the door by which reviews come to Kopf.

Kopf gets no more of a review than a judgement needs. It would compare the old object with the new
one, however deep they are, and remember each object that is changed; whoever reaches our port could
fill its memory so.
"""

from __future__ import annotations

import asyncio
import dataclasses
import functools
import json
import logging
from collections.abc import AsyncIterator, Awaitable, Callable, Coroutine, Mapping, Sequence
from typing import Any, Final, TypeAlias, cast

import kopf

from moorage.api.bodies import Body
from moorage.api.json_depth import parseable
from moorage.engine.profiles.admission import AdmissionVerdict, Kind
from moorage.ports.guards import FAULTS, log_bug
from moorage.ports.requesters import Denied

Judge: TypeAlias = Callable[[Kind, Body, Body | None], AdmissionVerdict]
Answer: TypeAlias = Callable[[], Coroutine[Any, Any, dict[str, Any]]]
Ask: TypeAlias = Callable[[Answer], Awaitable[dict[str, Any]]]
"""Has a question answered on the loop that Kopf runs on. Raises MainLoopBusy."""

KINDS: Final[Mapping[str, Kind]] = {
    "schedulerprofiles": "SchedulerProfile",
    "pluginconfigs": "PluginConfig",
}
REFUSED: Final = 422
"""The code of a refusal; Kopf answers faults, its own and ours, with others."""
_FAULT: Final = "the operator failed at this review; its log says why"


def register(registry: kopf.OperatorRegistry, group: str, version: str, judge: Judge) -> None:
    """Have ``judge`` asked about creations and changes of both kinds."""
    for plural, kind in KINDS.items():
        _register(registry, (group, version, plural), kind, judge)


def _register(
    registry: kopf.OperatorRegistry, resource: tuple[str, str, str], kind: Kind, judge: Judge
) -> None:
    @kopf.on.validate(*resource, registry=registry, id=resource[-1])
    async def validate(*, body: kopf.Body, warnings: list[str], **asked: Any) -> None:
        new, old = dict(body), None if asked["old"] is None else dict(asked["old"])
        try:
            verdict = judge(kind, new, old)
        except FAULTS as error:
            log_bug("judging an object", error, kind=kind, object=new["metadata"]["name"])
            raise kopf.PermanentError(_FAULT) from error
        warnings.extend(verdict.warnings)
        if verdict.errors:
            raise kopf.AdmissionError("; ".join(map(str, verdict.errors)), code=REFUSED)


class RefusalsUnlogged(logging.Filter):
    """Leaves out what Kopf logs as an error: that an object was refused, and faults that we have
    logged.
    """

    def filter(self, record: logging.LogRecord) -> bool:
        """Whether the record is logged."""
        return " failed permanently: " not in record.getMessage()


class ReviewDoor:
    """What Kopf takes for its webhook server. It never ends, as that would end Kopf."""

    def __init__(self, ask: Ask) -> None:
        self._ask = ask
        self._kopf: kopf.WebhookFn | None = None

    @property
    def open(self) -> bool:
        """Whether Kopf answers reviews."""
        return self._kopf is not None

    async def __call__(self, kopfs: kopf.WebhookFn) -> AsyncIterator[kopf.WebhookClientConfig]:
        """Take Kopf's function that answers reviews, and wait for ever."""
        self._kopf = kopfs
        await asyncio.Event().wait()
        yield {}  # to nobody: Kopf writes no configuration of webhooks

    async def review(self, body: bytes) -> bytes:
        """Answer an AdmissionReview (JSON) with another one.

        Raises Denied: 400 for what is no review, 500 for a fault, 503 before Kopf has begun; and
        MainLoopBusy.
        """
        if self._kopf is None:
            raise Denied(503, "the operator has not begun to answer reviews")
        question = functools.partial(_answer, self._kopf, _review(body))
        answer = await self._ask(question)
        if answer["response"].get("status", {}).get("code", REFUSED) != REFUSED:
            raise Denied(500, _FAULT)
        return json.dumps(answer).encode()


async def _answer(kopfs: kopf.WebhookFn, review: Any) -> dict[str, Any]:
    """What Kopf says. Raises Denied where it fails."""
    try:
        return cast(dict[str, Any], await kopfs(review))
    except FAULTS as error:
        log_bug("answering an admission review", error)
        raise Denied(500, _FAULT) from error


def _review(body: bytes) -> dict[str, Any]:
    """The review less what no judgement needs. Raises Denied."""
    try:
        whole = json.loads(parseable(body))
        asked = whole["request"]
        return {
            "apiVersion": whole["apiVersion"],
            "kind": whole["kind"],
            "request": {
                **{name: asked[name] for name in ("uid", "resource", "operation", "userInfo")},
                "object": _part(asked["object"], ("apiVersion", "kind", "spec")),
                "oldObject": _part(asked["oldObject"], ()) if asked.get("oldObject") else None,
            },
        }
    except (ValueError, TypeError, LookupError) as error:
        raise Denied(400, f"this is no AdmissionReview of an object: {error!r}") from error


def _part(whole: Mapping[str, Any], fields: Sequence[str]) -> dict[str, Any]:
    """The object's name, and these fields."""
    name = str(whole["metadata"]["name"])
    return {
        "metadata": {"name": name},
        **{field: whole[field] for field in fields if field in whole},
    }


@dataclasses.dataclass(frozen=True, slots=True)
class Admission:
    """What judges objects before they are stored, and the door by which reviews of them come."""

    judge: Judge
    door: ReviewDoor
