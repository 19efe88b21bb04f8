"""Whether somebody answers API servers that ask about profiles: else nobody can change these, and
the way out is one command.
"""

from __future__ import annotations

import json
import urllib.parse
from collections.abc import Mapping, Sequence
from typing import Any, Final

from moorage.adapters.answers import list_at
from moorage.api.v1alpha1.common import API_VERSION, CONFIGS_PATH
from moorage.apps.authority.authority_setting import VALIDATING
from moorage.apps.install import named_webhooks
from moorage.apps.install.object_keys import PART_OF
from moorage.ports.errors import EdgeError, Forbidden, Retryable
from moorage.ports.http_calls import HttpCall, HttpSession

WAY_OUT: Final = "kubectl delete validatingwebhookconfiguration"
_ASKED_ABOUT: Final = "pluginconfigs"
_OURS: Final = urllib.parse.urlencode({"labelSelector": f"{PART_OF}=moorage"})
_UNANSWERED: Final = "failed calling webhook"
_PROBE: Final = {
    "apiVersion": API_VERSION,
    "kind": "PluginConfig",
    "metadata": {"name": "moorage-status-asks"},
    "spec": {"plugin": "NodeResourcesFit", "args": {}},
}
"""It is never stored: the API server tries it, and asks for that whom it would ask."""


async def unanswered(session: HttpSession, *, led: bool | None) -> tuple[str, str]:
    """What is wrong, and the command out of it; "" twice where nothing is, or that cannot be seen.
    Without the right to try, it is wrong where nobody is ``led``.
    """
    try:
        found = await list_at(session, HttpCall("GET", f"{VALIDATING}?{_OURS}"))
    except EdgeError:
        return "", ""
    asking = [one for one in found.items or () if _asks(one)]
    why, faulty = await _tried(session, asking, led=led) if asking else ("", [])
    if not faulty:
        return "", ""
    names = " ".join(one["metadata"]["name"] for one in faulty)
    text = f"Nobody can change profiles: webhook {names} is not answered: {why}"
    return text, f"{WAY_OUT} {names}"


def _asks(configuration: Mapping[str, Any]) -> bool:
    rules: Sequence[Mapping[str, Any]] = [
        rule for hook in configuration.get("webhooks") or () for rule in hook.get("rules") or ()
    ]
    return any(_ASKED_ABOUT in (rule.get("resources") or ()) for rule in rules)


async def _tried(
    session: HttpSession, asking: list[dict[str, Any]], *, led: bool | None
) -> tuple[str, list[dict[str, Any]]]:
    """Why nobody answers, and which of ours it is; none where somebody does, whatever that is, or
    where it is the webhook of others that does not.
    """
    try:
        await session.call(
            HttpCall("POST", f"{CONFIGS_PATH}?dryRun=All", json.dumps(_PROBE).encode())
        )
    except Forbidden:
        return ("nobody leads", asking) if led is False else ("", [])
    except Retryable as error:
        _, _, why = str(error).partition(_UNANSWERED)
        faulty = named_webhooks.unanswered(str(error), asking)
        return why.partition(": ")[2] or why.strip(), faulty
    except EdgeError:
        return "", []
    return "", []
