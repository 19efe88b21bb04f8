"""Asking the operator: its own state, with what its queue knows."""

from __future__ import annotations

import asyncio
import dataclasses
import urllib.parse
from typing import Any

import msgspec

import moorage
from moorage.adapters.kube_session import KubeconfigError, KubeSession, KubeSource
from moorage.adapters.system_clock import SystemClock
from moorage.apps.exit_status import NoAnswer, WrongUse
from moorage.apps.worlds.cluster_choice import ClusterChoice
from moorage.apps.worlds.reaching import source_of
from moorage.ports.errors import EdgeError, Forbidden, NotFound
from moorage.ports.http_calls import HttpCall

PATH = "/explain"
SECONDS = 60.0
"""An operator explains one pod at a time."""


@dataclasses.dataclass(frozen=True, slots=True)
class OperatorChoice:
    """Which operator to ask, and by whose certificate it is known; ``cluster`` says as whom.

    ``authority``: a file of certificates, "" for those of the kubeconfig. ``insecure``: any
    certificate will do.
    """

    server: str
    cluster: ClusterChoice
    authority: str = ""
    insecure: bool = False

    def source(self) -> KubeSource:
        """How to reach it. Raises WrongUse."""
        if urllib.parse.urlsplit(self.server).scheme != "https":
            raise WrongUse(f"--server {self.server}: must begin with https://")
        return dataclasses.replace(
            source_of(self.cluster),
            master=self.server.rstrip("/"),
            authority=self.authority,
            insecure=self.insecure,
        )


def ask(choice: OperatorChoice, pod: str) -> dict[str, Any]:
    """The document that the operator gives. Raises CommandError."""
    return asyncio.run(_ask(choice.source(), choice.server, pod))


async def _ask(source: KubeSource, server: str, pod: str) -> dict[str, Any]:
    try:
        session = await KubeSession.open(source, f"moorage/{moorage.__version__}", SystemClock())
    except KubeconfigError as error:
        raise NoAnswer(f"no credentials to show to {server}: {error}") from error
    query = urllib.parse.urlencode({"pod": pod})
    try:
        answer = await session.call(HttpCall("GET", f"{PATH}?{query}", timeout=SECONDS))
    except NotFound as error:
        raise WrongUse(f"{server}: {error.message.strip()}") from error
    except Forbidden as error:
        text = f"{server} refuses: {error.message.strip()}; it takes get pods and list nodes"
        raise NoAnswer(text) from error
    except EdgeError as error:
        raise NoAnswer(f"no answer from {server}: {error}; is its port forwarded?") from error
    finally:
        await session.close()
    document: dict[str, Any] = msgspec.json.decode(answer)
    return document
