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
from moorage.apps.worlds.cluster_choice import ClusterChoice
from moorage.apps.worlds.kubeconfig_contexts import contexts
from moorage.core.structures.likeness import suggest
from moorage.ports.errors import EdgeError, Forbidden
from moorage.ports.http_calls import HttpCall

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
async def connected(choice: ClusterChoice) -> AsyncIterator[Connection]:
    """The cluster's API server, once it has answered. Raises NoAnswer."""
    # what goes wrong is told by the command that meets it, not by a log
    logging.getLogger(moorage.__name__).addHandler(logging.NullHandler())
    source = source_of(choice)
    try:
        session = await KubeSession.open(source, f"moorage/{moorage.__version__}", SystemClock())
    except KubeconfigError as error:
        raise NoAnswer(_unknown_context(choice) or f"no cluster to look at: {error}") from error
    try:
        name = f"{session.server}{_in_context(choice)}"
        yield Connection(session, name, await _version(session, name))
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


async def _version(session: KubeSession, name: str) -> str:
    try:
        answer = await session.call(HttpCall("GET", "/version", timeout=ANSWER_SECONDS))
        return str(json.loads(answer).get("gitVersion", ""))
    except Forbidden as error:
        if error.status == 401:
            raise NoAnswer(f"{name} does not know us: {error.message}") from error
        return ""  # who may list pods need not be allowed to ask for this
    except (ValueError, AttributeError) as error:
        raise NoAnswer(f"what answers at {name} is no API server") from error
    except EdgeError as error:
        raise NoAnswer(
            f"no answer from {name} within {ANSWER_SECONDS:.0f} s ({error}); is the VPN up? "
            f"Other clusters: --context NAME, --kubeconfig FILE"
        ) from error
