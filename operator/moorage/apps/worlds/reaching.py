"""Which cluster a command looks at, and that it answers."""

from __future__ import annotations

import contextlib
import dataclasses
import json
import logging
import os
from collections.abc import AsyncIterator
from typing import Final

import moorage
from moorage.adapters.kube_session import KubeconfigError, KubeSession, KubeSource
from moorage.adapters.system_clock import SystemClock
from moorage.apps.exit_status import NoAnswer
from moorage.apps.printing.progress_line import working
from moorage.apps.worlds.cluster_choice import ClusterChoice
from moorage.apps.worlds.kubeconfig_contexts import contexts
from moorage.core.structures.likeness import suggest
from moorage.ports.errors import EdgeError, Forbidden, Refused
from moorage.ports.http_calls import HttpCall

_OTHERS: Final = "Other clusters: --context NAME, --kubeconfig FILE"
UNAUTHORIZED: Final = 401
ANSWER_SECONDS: Final = 5.0
"""For the first answer; a list may take longer."""


@dataclasses.dataclass(frozen=True, slots=True)
class Connection:
    """An API server that has answered, what to call it, and its version ("" where that is not
    known).
    """

    session: KubeSession
    name: str
    version: str


@contextlib.asynccontextmanager
async def connected(
    choice: ClusterChoice, *, waits_alone: bool = True
) -> AsyncIterator[Connection]:
    """The cluster's API server, once it has answered. ``waits_alone``: nobody else shows somebody
    at a terminal that it is waited for. Raises NoAnswer.
    """
    # what goes wrong is told by the command that meets it, not by a log
    logging.getLogger(moorage.__name__).addHandler(logging.NullHandler())
    source = source_of(choice)
    try:
        session = await KubeSession.open(source, f"moorage/{moorage.__version__}", SystemClock())
    except KubeconfigError as error:
        raise NoAnswer(_unknown_context(choice) or f"no cluster to look at: {error}") from error
    try:
        name = f"{session.server}{_in_context(choice)}"
        with working(f"Asking {session.server}") if waits_alone else contextlib.nullcontext():
            version = await _version(session, name)
        yield Connection(session, name, version)
    finally:
        await session.close()


def source_of(choice: ClusterChoice) -> KubeSource:
    """The files of the choice, without any the pod's service account."""
    files = [str(file) for file in choice.files()]
    if len(files) > 1:
        return KubeSource(kubeconfigs=os.pathsep.join(files), context=choice.context)
    return KubeSource("".join(files), context=choice.context)


def _unknown_context(choice: ClusterChoice) -> str:
    """What is to be said where the context that was typed is in no file, "" elsewhere."""
    known = contexts(choice)
    if not choice.context or not known or choice.context in known:
        return ""
    near = suggest(choice.context, known)
    return f"there is no context {choice.context}{near}; there are: {', '.join(known)}"


def _in_context(choice: ClusterChoice) -> str:
    return f" (context {choice.context})" if choice.context else ""


def with_right(error: EdgeError, right: str) -> str:
    """What went wrong, and where a right is missing, which; who is not known lacks none."""
    text = str(error).strip()
    if is_unknown(error):
        return f"{text}; the API server does not know us: log in again"
    return f"{text}; it takes {right}" if isinstance(error, Forbidden) else text


def is_unknown(error: EdgeError) -> bool:
    """Whether the API server asks who we are."""
    return isinstance(error, Forbidden) and error.status == UNAUTHORIZED


async def _version(session: KubeSession, name: str) -> str:
    """Raises NoAnswer."""
    try:
        answer = await session.call(HttpCall("GET", "/version", timeout=ANSWER_SECONDS))
        return str(json.loads(answer).get("gitVersion", ""))
    except Forbidden as error:
        if is_unknown(error):
            text = f"{name} does not know us: {error.message}; log in again. {_OTHERS}"
            raise NoAnswer(text) from error
        return ""  # who may list pods need not be allowed to ask for this
    except (Refused, ValueError, AttributeError) as error:
        raise NoAnswer(f"what answers at {name} is no API server. {_OTHERS}") from error
    except EdgeError as error:
        raise NoAnswer(f"no answer from {name}: {_why(error)} {_OTHERS}") from error


def _why(error: EdgeError) -> str:
    """And what may help."""
    why = str(error).removeprefix("GET /version: ")
    if "CERTIFICATE_VERIFY_FAILED" in why:
        return f"its certificate is not trusted ({why}); see certificate-authority there."
    return f"{why}; is the VPN up?"
