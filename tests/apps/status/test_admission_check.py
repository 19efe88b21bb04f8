"""Whether somebody answers the webhook of admission, and the way out where nobody does."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any, Final

import pytest

from moorage.api.v1alpha1.common import CONFIGS_PATH
from moorage.apps.authority.authority_setting import VALIDATING
from moorage.apps.status.admission_check import unanswered
from moorage.apps.worlds.reaching import connected
from tests.adapters.api_server import Answer, answers, api_server, status
from tests.apps.worlds.test_from_cluster import kubeconfig

HOOK: Final[dict[str, Any]] = {
    "metadata": {"name": "moorage"},
    "webhooks": [
        {
            "name": "p",
            "clientConfig": {"service": {"name": "moorage-admission", "namespace": "here"}},
            "rules": [{"resources": ["pluginconfigs"]}],
        }
    ],
}
OTHERS: Final[dict[str, Any]] = {
    "metadata": {"name": "theirs"},
    "webhooks": [{"rules": [{"resources": ["pods"]}]}, {}],
}
BROKEN: Final = (
    'Internal error occurred: failed calling webhook "p": failed to call webhook: Post x'
)
WRONG: Final = (
    "Nobody can change profiles: webhook moorage is not answered: {}",
    "kubectl delete validatingwebhookconfiguration moorage",
)
ASKED: Final[dict[str, tuple[Answer, bool | None, str]]] = {
    "answered": (answers({"metadata": {"name": "x"}}), True, ""),
    "refused": (status(422, "Invalid", "no"), True, ""),
    "not answered": (status(500, "InternalError", BROKEN), True, "failed to call webhook: Post x"),
    "another one's is not answered": (
        status(500, "InternalError", BROKEN.replace('"p"', '"kyverno.svc"')),
        True,
        "",
    ),
    "no right to try, and somebody leads": (status(403), True, ""),
    "no right to try, and nobody leads": (status(403), False, "nobody leads"),
    "no right to try, and who leads is unknown": (status(403), None, ""),
    "another fault": (status(503, "", "later"), True, ""),
}


def look(
    folder: Path, hooks: Answer, answer: Answer | None = None, *, led: bool | None = True
) -> Any:
    """What is said where an API server has these webhooks, and answers so when it tries."""

    async def scenario() -> tuple[tuple[str, str], list[dict[str, str]]]:
        async with api_server() as server:
            server.then("GET", "/version", answers({"gitVersion": "v1.37.0"}))
            server.then("GET", VALIDATING, hooks)
            if answer is not None:
                server.then("POST", CONFIGS_PATH, answer)
            async with connected(kubeconfig(folder, server.url)) as connection:
                found = await unanswered(connection.session, led=led)
            return found, server.queries(CONFIGS_PATH)

    return asyncio.run(scenario())


@pytest.mark.parametrize("case", ASKED)
def test_it_is_tried_and_nothing_is_stored(case: str, tmp_path: Path) -> None:
    """By a dry run, which asks whom a change would ask."""
    answer, led, why = ASKED[case]
    found, tried = look(tmp_path, answers({"items": [OTHERS, HOOK]}), answer, led=led)
    assert tried == [{"dryRun": "All"}]
    assert found == ((WRONG[0].format(why), WRONG[1]) if why else ("", ""))


@pytest.mark.parametrize("hooks", [answers({"items": [OTHERS]}), status(403), status(404)])
def test_where_no_webhook_of_ours_is_seen_nothing_is_tried(hooks: Answer, tmp_path: Path) -> None:
    """Nor said."""
    assert look(tmp_path, hooks) == (("", ""), [])
