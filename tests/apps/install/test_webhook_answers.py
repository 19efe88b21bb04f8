"""Whether the webhook answers, by what an API server says to a profile that is only tried."""

from __future__ import annotations

import asyncio

import pytest

from moorage.apps.install.applying import InstallationFailed
from moorage.apps.install.object_keys import Document
from moorage.apps.install.variants import Options, documents
from moorage.apps.install.webhook_answers import SECONDS, answered
from moorage.ports.errors import EdgeError, Forbidden, Invalid, Retryable
from tests.fakes.clocks import EagerClock

WEBHOOK = documents("default", ("admission",), Options())[-1]
NAME = "schedulerprofiles.moorage.dev"
DENIED = 'admission webhook "{}" denied the request: no'
FAILED = Retryable(f'500: failed calling webhook "{NAME}": failed to call webhook', status=500)
OTHERS = Retryable('500: failed calling webhook "kyverno.svc": timeout', status=500)


class FakeObjects:
    """An API server with these answers; the last one is given again and again."""

    def __init__(self, *answers: EdgeError | None) -> None:
        self.answers = [*answers]
        self.tried: list[Document] = []

    async def apply(self, document: Document, *, dry_run: bool) -> Document:
        """Only tried."""
        assert dry_run
        self.tried.append(document)
        answer = self.answers.pop(0) if len(self.answers) > 1 else self.answers[0]
        if answer is not None:
            raise answer
        return document


def asked(objects: FakeObjects, webhook: Document = WEBHOOK) -> str:
    """What is not known."""
    return asyncio.run(answered(objects, EagerClock(), webhook, Options()))


def test_who_answers() -> None:
    """Yes, or a no of its own; at first nobody may."""
    assert WEBHOOK["kind"] == "ValidatingWebhookConfiguration"
    own = Invalid("PATCH", 422, "Invalid", DENIED.format(NAME))
    for answer in (None, own):
        objects = FakeObjects(FAILED, OTHERS, answer)
        assert asked(objects) == ""
        assert len(objects.tried) == 3
        assert objects.tried[0]["spec"] == {"controllerName": "moorage"}


def test_what_others_say_is_no_answer() -> None:
    """Neither a missing right, nor the no of another webhook."""
    for answer in (
        Forbidden("PATCH", 403, "Forbidden", "user x cannot patch"),
        Invalid("PATCH", 400, "BadRequest", DENIED.format("kyverno.svc")),
    ):
        assert asked(FakeObjects(answer)).endswith(f" is not known: {answer.message}")


def test_where_it_does_not_answer() -> None:
    """The way out is told for this webhook alone; what is another one's fault is told as it is."""
    with pytest.raises(InstallationFailed, match=f"{SECONDS:.0f} s: .* delete validatingwebhook"):
        asked(FakeObjects(FAILED))
    with pytest.raises(Retryable, match="kyverno"):
        asked(FakeObjects(OTHERS))


def test_a_webhook_about_pods_is_not_tried() -> None:
    """They are created where nobody answers."""
    objects = FakeObjects(FAILED)
    assert asked(objects, {"kind": "MutatingWebhookConfiguration"}) == ""
    assert not objects.tried
