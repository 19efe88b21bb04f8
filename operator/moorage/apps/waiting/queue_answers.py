"""The command: ask the operator that leads, else the API server, and print."""

from __future__ import annotations

import asyncio
import datetime
import sys
from collections.abc import Mapping, Sequence
from typing import Any, Final, TextIO

from moorage.api import bodies
from moorage.api.bodies import Body
from moorage.apps.commands.looking_options import LookingOptions
from moorage.apps.exit_status import ExitStatus, NoAnswer, WrongUse
from moorage.apps.printing.documents import document, is_for_people
from moorage.apps.printing.following import follow
from moorage.apps.printing.progress_line import working
from moorage.apps.printing.terminal import open_console, write
from moorage.apps.reach.listing import each_item
from moorage.apps.reach.operators import Operator, ReachedOperator, reached
from moorage.apps.reach.surroundings import Surroundings, surroundings
from moorage.apps.waiting.queue_documents import (
    KIND,
    Document,
    from_operator,
    from_pods,
    queue_document,
)
from moorage.apps.waiting.queue_texts import queue_parts
from moorage.apps.worlds.reaching import Connection, connected, with_right
from moorage.core.structures.likeness import suggest
from moorage.ports.errors import EdgeError

QUEUE: Final = "/debug/queue"
SECONDS: Final = 60.0
"""A long queue takes a while to be written."""
_PENDING: Final = "spec.nodeName=,status.phase=Pending"
_PAGE: Final = "500"
_UNORDERED: Final = "the order of the queue, attempts and times, as the operator is not asked"


def run(options: LookingOptions, profile: str = "", out: TextIO = sys.stdout) -> int:
    """Look and print, at pods of one profile where one is named; the exit status. Raises
    CommandError.
    """
    return asyncio.run(_run(options, profile, out))


async def _run(options: LookingOptions, profile: str, out: TextIO) -> int:
    async with connected(options.cluster) as connection:

        async def look() -> int:
            with working("Looking"):
                queue = await _queue(connection, options, profile)
            return _print(queue, options, out)

        return await follow(look, out, again=options.watch)


async def _queue(connection: Connection, options: LookingOptions, profile: str) -> Document:
    around = await surroundings(connection)
    choice, installation = options.operator, around.installation
    async with reached(connection.session, options.cluster, choice, installation) as operator:
        return await queue_of(connection, around, operator, profile)


async def queue_of(
    connection: Connection, around: Surroundings, operator: Operator, profile: str = ""
) -> Document:
    """The document. Raises NoAnswer, and WrongUse for a profile that is not there."""
    scheduler = _scheduler_of(profile, around.profiles) if profile else ""
    about: dict[str, Any] = {
        "at": datetime.datetime.now(datetime.UTC).isoformat(timespec="milliseconds"),
        "cluster": connection.name,
        "operator": None,
        "leftOut": [],
    }
    schedulers = frozenset(map(bodies.scheduler_name, around.profiles))
    if isinstance(operator, ReachedOperator):
        about["operator"] = operator.name
        try:
            pods = from_operator(await operator.get(QUEUE, list[dict[str, Any]], SECONDS))
            return queue_document(pods, about, profile, scheduler, schedulers)
        except EdgeError as error:
            why = f"{operator.name}: {str(error).strip()}"
    else:
        why = around.why or operator.why
    pods = from_pods(await _pending(connection), schedulers)
    alone = {**about, "operator": None, "leftOut": [f"{_UNORDERED}: {why}"]}
    return queue_document(pods, alone, profile, scheduler)


def _scheduler_of(name: str, profiles: Sequence[Body]) -> str:
    names = {str(one["metadata"]["name"]): one for one in profiles}
    if name not in names:
        raise WrongUse(f"there is no SchedulerProfile {name}{suggest(name, names)}")
    return bodies.scheduler_name(names[name])


async def _pending(connection: Connection) -> list[Mapping[str, Any]]:
    """The pods without a node. Raises NoAnswer."""
    query = {"fieldSelector": _PENDING, "limit": _PAGE}
    try:
        return [one async for one in each_item(connection.session, "/api/v1/pods", query)]
    except EdgeError as error:
        why = with_right(error, "list pods")
        raise NoAnswer(f"pods could not be listed: {why}; try again") from error


def _print(queue: Document, options: LookingOptions, out: TextIO) -> ExitStatus:
    if is_for_people(options.form):
        write(open_console(out), *queue_parts(queue, wide=options.form == "wide"))
    else:
        out.write(document(KIND, queue, options.form))
    return ExitStatus.YES
