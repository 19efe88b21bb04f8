"""Which cluster a command looks at, and that it answers."""

from __future__ import annotations

import contextlib
import dataclasses
import logging
import os
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Final

import moorage
from moorage.adapters.kube_session import KubeconfigError, KubeSession, KubeSource
from moorage.adapters.system_clock import SystemClock
from moorage.apps.exit_status import NoAnswer, WrongUse
from moorage.ports.errors import EdgeError, Forbidden
from moorage.ports.http_calls import HttpCall

ANSWER_SECONDS: Final = 5.0
"""For the first answer; a list may take longer."""


@dataclasses.dataclass(frozen=True, slots=True)
class ClusterChoice:
    """What a command was told: a kubeconfig file and one of its contexts, "" for the usual ones."""

    kubeconfig: str = ""
    context: str = ""

    def source(self) -> KubeSource:
        """As kubectl chooses: the file named, KUBECONFIG, ~/.kube/config, else the pod's service
        account. Raises WrongUse.
        """
        named = self.kubeconfig or os.environ.get("KUBECONFIG", "")
        if os.pathsep in named:
            raise WrongUse(f"KUBECONFIG={named}: name one of these files with --kubeconfig")
        usual = Path.home() / ".kube" / "config"
        file = named or (str(usual) if usual.is_file() else "")
        return KubeSource(file, context=self.context)


@dataclasses.dataclass(frozen=True, slots=True)
class Connection:
    """An API server that has answered, and what to call it."""

    session: KubeSession
    name: str


@contextlib.asynccontextmanager
async def connected(choice: ClusterChoice) -> AsyncIterator[Connection]:
    """The cluster's API server, once it has answered. Raises NoAnswer and WrongUse."""
    # what goes wrong is told by the command that meets it, not by a log
    logging.getLogger(moorage.__name__).addHandler(logging.NullHandler())
    source = choice.source()
    try:
        session = await KubeSession.open(source, f"moorage/{moorage.__version__}", SystemClock())
    except KubeconfigError as error:
        raise NoAnswer(f"no cluster to look at: {error}") from error
    try:
        name = f"{session.server}{_in_context(choice)}"
        await _answers(session, name)
        yield Connection(session, name)
    finally:
        await session.close()


def _in_context(choice: ClusterChoice) -> str:
    return f" (context {choice.context})" if choice.context else ""


async def _answers(session: KubeSession, name: str) -> None:
    try:
        await session.call(HttpCall("GET", "/version", timeout=ANSWER_SECONDS))
    except Forbidden as error:
        if error.status == 401:
            raise NoAnswer(f"{name} does not know us: {error.message}") from error
        # who may list pods need not be allowed to ask for the version
    except EdgeError as error:
        raise NoAnswer(
            f"no answer from {name} within {ANSWER_SECONDS:.0f} s ({error}); is the VPN up? "
            f"Other clusters: --context NAME, --kubeconfig FILE"
        ) from error
