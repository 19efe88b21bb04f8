"""Asking the operator: its own state, with what its queue knows."""

from __future__ import annotations

import asyncio
import urllib.parse
from typing import Any, Final

from moorage.apps.exit_status import NoAnswer, WrongUse
from moorage.apps.reach.operator_choice import NOBODY, OperatorChoice
from moorage.apps.reach.operators import ReachedOperator, named, reached
from moorage.apps.reach.surroundings import NotInstalled, surroundings
from moorage.apps.worlds.cluster_choice import ClusterChoice
from moorage.apps.worlds.reaching import connected, with_right
from moorage.ports.errors import EdgeError, Forbidden, NotFound

PATH: Final = "/explain"
SECONDS: Final = 60.0
"""An operator explains one pod at a time."""


class NotAsked(Exception):
    """The leader could not be asked; the text says why, "" where there is nothing to say."""


def ask(choice: OperatorChoice, cluster: ClusterChoice, asked: tuple[str, str]) -> dict[str, Any]:
    """The document that the operator gives; ``asked``: pod or podgroup, and its namespace/name.

    Raises CommandError for one that was named, NotAsked where the leader was to be found, NoAnswer
    where the cluster does not answer.
    """
    if choice.server == NOBODY:
        raise NotAsked
    if choice.server:
        return asyncio.run(_ask_named(choice, cluster, asked))
    return asyncio.run(_ask_leader(choice, cluster, asked))


async def _ask_leader(
    choice: OperatorChoice, cluster: ClusterChoice, asked: tuple[str, str]
) -> dict[str, Any]:
    async with connected(cluster, waits_alone=False) as connection:
        try:
            around = await surroundings(connection)
            if around.installation is None:
                raise NotAsked(around.why)
            api = connection.session
            async with reached(api, cluster, choice, around.installation) as operator:
                if isinstance(operator, ReachedOperator):
                    return await _explanation(operator, asked)
                raise NotAsked(operator.why)
        except (NotInstalled, NotFound) as error:
            raise NotAsked from error  # of a pod that it does not know the API server may
        except (EdgeError, NoAnswer) as error:
            raise NotAsked(str(error).strip()) from error


async def _ask_named(
    choice: OperatorChoice, cluster: ClusterChoice, asked: tuple[str, str]
) -> dict[str, Any]:
    server = choice.server
    async with named(cluster, choice) as operator:
        if not isinstance(operator, ReachedOperator):
            raise NoAnswer(operator.why)
        try:
            return await _explanation(operator, asked)
        except NotFound as error:
            raise WrongUse(f"{server}: {error.message.strip()}") from error
        except Forbidden as error:
            why = with_right(error, "get pods and list nodes")
            raise NoAnswer(f"{server} refuses: {why}") from error
        except EdgeError as error:
            raise NoAnswer(f"no answer from {server}: {error}; is its port forwarded?") from error


async def _explanation(operator: ReachedOperator, asked: tuple[str, str]) -> dict[str, Any]:
    query = urllib.parse.urlencode([asked])
    return await operator.get(f"{PATH}?{query}", dict[str, Any], SECONDS)
