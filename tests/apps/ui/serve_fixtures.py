"""The page with the invented cluster: ``python -m tests.apps.ui.serve_fixtures [VARIANT]``.

Same handler, headers and cookies as ``moorage ui``. Static files are read anew for each request, so
that a page can be built against it. Every few seconds some documents "change".
"""

from __future__ import annotations

import argparse
import asyncio
import itertools
import sys
from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import Any, Final

from moorage.apps.ui.bodies import Body
from moorage.apps.ui.document_changes import Changes
from moorage.apps.ui.loopback import Doorkeeper, LoopbackHandler, address
from moorage.apps.ui.loopback_server import LoopbackServer
from moorage.apps.ui.page_handler import PageHandler
from moorage.apps.ui.page_source import PageSource
from moorage.apps.ui.questions import PARAMETERS, Question
from moorage.apps.ui.static_files import TYPES, StaticFiles
from moorage.ports.requesters import Denied
from tests.apps.ui.fixture_files import unfinished, variants
from tests.apps.ui.harbor import Files
from tests.architecture.sources import PACKAGE

TABLES: Final = ("node", "pod", "history", "trial", "diff", "compare")
"""Documents that are in tables by parameter."""
FOLDER: Final = PACKAGE / "apps" / "ui" / "static"
EVERY_SECONDS: Final = 5.0
MADE_SECONDS: Final = 4.0


class FixtureSource:
    """Gives the documents of one variant."""

    def __init__(self, files: Files) -> None:
        self.changes = Changes()
        self.changes.add(PARAMETERS)
        self._files = files

    async def open(self) -> str:
        """As ``PageSource``."""
        return "harbor-prod"

    async def run(self) -> None:
        """Have some documents change, every few seconds."""
        for names in itertools.cycle((["status", "queue"], ["nodes", "overview"], ["timeline"])):
            await asyncio.sleep(EVERY_SECONDS)
            self.changes.add(names)

    async def close(self) -> None:
        """Nothing is held."""

    async def document(self, question: Question) -> Mapping[str, Any]:
        """As ``PageSource``; every moment is the same one."""
        return self._found(question)

    def _found(self, question: Question) -> Mapping[str, Any]:
        if (found := self._files.get(question.document)) is None:
            raise Denied(404, f"there is no {question.document} here")
        if question.document not in TABLES:
            return found
        by = {"diff": f"{question.a} {question.b}", "compare": question.b}
        name = by.get(question.document) or question.name or question.profile
        if name not in found:
            raise Denied(404, f"there is no {question.document} {name}; there are: {[*found]}")
        document: Mapping[str, Any] = found[name]
        return document


class MakingSource(FixtureSource):
    """A recording that has just been opened: what takes long is there a while after it was first
    asked for, and nothing else changes.
    """

    def __init__(self, files: Files) -> None:
        super().__init__(files)
        self._asked: set[str] = set()
        self._made: set[str] = set()

    async def run(self) -> None:
        """For ever."""
        await asyncio.Event().wait()

    async def document(self, question: Question) -> Mapping[str, Any]:
        """As ``PageSource``."""
        found, name = self._found(question), question.document
        if "progress" not in found or name in self._made:
            return found
        if name not in self._asked:
            self._asked.add(name)
            asyncio.get_running_loop().call_later(MADE_SECONDS, self._make, name)
        return unfinished(dict(found))

    def _make(self, name: str) -> None:
        self._made.add(name)
        self.changes.add([name])


class _FreshFiles(StaticFiles):
    """Those on the disk now."""

    def __init__(self) -> None:
        super().__init__({})

    def get(self, name: str) -> Body | None:
        path = FOLDER / name
        return _body(path, path.stat().st_mtime_ns) if path.is_file() else None


@cache
def _body(path: Path, _changed: int) -> Body:
    return Body(path.read_bytes(), TYPES[path.suffix.removeprefix(".")])


async def serve(source: PageSource, port: int) -> None:
    """Print the address that opens the page, and serve it until interrupted."""
    doorkeeper, server = Doorkeeper(), LoopbackServer(port)
    handler = LoopbackHandler(PageHandler(source, _FreshFiles()), doorkeeper, server.port)
    await server.start(handler.answer)
    sys.stdout.write(f"{address(server.port, doorkeeper.token)}\n")
    sys.stdout.flush()
    await source.run()


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("variant", nargs="?", default="harbor", choices=[*variants()])
    parser.add_argument("--port", type=int, default=0)
    options = parser.parse_args()
    kind = MakingSource if options.variant == "making" else FixtureSource
    asyncio.run(serve(kind(variants()[options.variant]), options.port))
