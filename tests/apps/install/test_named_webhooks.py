"""Which webhook is meant by what an API server says."""

from __future__ import annotations

from typing import Any, Final

import pytest

from moorage.apps.install.named_webhooks import denied, unanswered


def configuration(name: str, **client: Any) -> dict[str, Any]:
    """Of two webhooks, which are named alike in all installations."""
    hooks = ("schedulerprofiles.moorage.dev", "pluginconfigs.moorage.dev")
    webhooks = [{"name": each, "clientConfig": client} for each in hooks]
    return {"metadata": {"name": name}, "webhooks": webhooks}


def service(namespace: str) -> dict[str, Any]:
    """Where it is asked."""
    return {"name": "moorage-admission", "namespace": namespace}


ALL: Final = (
    configuration("blue", service=service("blue")),
    configuration("navy", service=service("navy-blue")),
    configuration("away", url="https://127.0.0.1:1/admission"),
    {"metadata": {"name": "empty"}},
)
FAILED: Final = '500: Internal error occurred: failed calling webhook "{}": failed to call webhook'
OURS: Final = FAILED.format("pluginconfigs.moorage.dev")
CASES: Final[dict[str, list[str]]] = {
    f'{OURS}: Post "https://moorage-admission.blue.svc:443/admission?timeout=5s": EOF': ["blue"],
    f'{OURS}: Post "https://moorage-admission.navy-blue.svc:443/admission": EOF': ["navy"],
    f'{OURS}: Post "https://127.0.0.1:1/admission?timeout=5s": refused': ["away"],
    f"{OURS}: something else": ["blue", "navy", "away"],
    f'{FAILED.format("validate.kyverno.svc")}: Post "https://kyverno.svc:443"': [],
    "503: later": [],
}


@pytest.mark.parametrize("said", CASES)
def test_who_could_not_be_asked(said: str) -> None:
    """By name, and of those that are named alike, by address."""
    assert [one["metadata"]["name"] for one in unanswered(said, ALL)] == CASES[said]
    assert denied(said, ALL) == []


def test_who_said_no() -> None:
    """Others' no is none of ours."""
    no = 'admission webhook "{}" denied the request: because'
    assert denied(no.format("schedulerprofiles.moorage.dev"), ALL[:1]) == [ALL[0]]
    assert denied(no.format("validate.kyverno.svc"), ALL) == []
    assert unanswered(no.format("schedulerprofiles.moorage.dev"), ALL) == []
