"""The command: look, print, and say by the exit status whether all is well."""

from __future__ import annotations

import asyncio
import datetime
import sys
from typing import Any, Final, TextIO

from moorage.apps.commands.looking_options import LookingOptions
from moorage.apps.exit_status import ExitStatus
from moorage.apps.printing.documents import document, is_for_people
from moorage.apps.printing.following import follow
from moorage.apps.printing.progress_line import working
from moorage.apps.printing.terminal import open_console, write
from moorage.apps.reach.operators import Operator, ReachedOperator, reached
from moorage.apps.reach.surroundings import Surroundings, surroundings
from moorage.apps.status.admission_check import unanswered
from moorage.apps.status.status_documents import KIND, Document, Source, status_document
from moorage.apps.status.status_texts import status_parts
from moorage.apps.worlds.reaching import Connection, connected
from moorage.ports.errors import EdgeError

RATES: Final = "/debug/rates"
GROUPS: Final = "/debug/groups"


def run(options: LookingOptions, out: TextIO = sys.stdout) -> int:
    """Look and print; the exit status. Raises CommandError."""
    return asyncio.run(_run(options, out))


async def _run(options: LookingOptions, out: TextIO) -> int:
    async with connected(options.cluster) as connection:

        async def look() -> int:
            with working("Looking"):
                found = await _status(connection, options)
            return _print(found, options, out)

        return await follow(look, out, again=options.watch)


async def _status(connection: Connection, options: LookingOptions) -> Document:
    around = await surroundings(connection)
    choice, installation = options.operator, around.installation
    refused = await unanswered(connection.session, led=around.led)
    async with reached(connection.session, options.cluster, choice, installation) as operator:
        return await document_of_status(connection.name, around, operator, refused)


async def document_of_status(
    cluster: str, around: Surroundings, operator: Operator, refused: tuple[str, str] = ("", "")
) -> Document:
    """The document of what was found, with the rates of the operator where one was reached, and the
    groups that wait there. ``refused``: why nobody can change profiles, and the way out.
    """
    rates, groups, name = None, None, ""
    missing = [around.why] if around.why else []
    if isinstance(operator, ReachedOperator):
        rates = await _asked(operator, RATES, "rates", missing)
        groups = await _asked(operator, GROUPS, "pod groups that wait", missing)
        name = "" if rates is None else operator.name
    elif around.installation is not None:
        missing.append(f"rates and groups, as the operator is not asked: {operator.why}")
    at, left_out = datetime.datetime.now(datetime.UTC), tuple(missing)
    source = Source(
        cluster=cluster, at=at, operator=name, left_out=left_out, groups=groups, refused=refused
    )
    return status_document(around, rates or (), source)


async def _asked(
    operator: ReachedOperator, path: str, what: str, missing: list[str]
) -> list[dict[str, Any]] | None:
    """What the operator says; None, and why among ``missing``, where it does not."""
    try:
        return await operator.get(path, list[dict[str, Any]])
    except EdgeError as error:
        missing.append(f"{what} of {operator.name}: {str(error).strip()}")
        return None


def _print(status: Document, options: LookingOptions, out: TextIO) -> ExitStatus:
    if is_for_people(options.form):
        write(open_console(out), *status_parts(status, wide=options.form == "wide"))
    else:
        out.write(document(KIND, status, options.form))
    return ExitStatus.YES if status["well"] else ExitStatus.NO
