"""What the page of a cluster has seen since it was opened."""

from __future__ import annotations

import asyncio
import contextlib
import tempfile
from collections.abc import AsyncIterator, Callable
from pathlib import Path
from typing import Any, Final

import pytest

from moorage.adapters.recording import read_recording
from moorage.apps.printing.amounts import moment
from moorage.apps.run.side_loop import OneLoop
from moorage.apps.ui import recording_source
from moorage.apps.ui.cluster_source import HAS, ClusterSource
from moorage.apps.ui.past_questions import OF_PAST
from moorage.apps.ui.questions import parse
from moorage.apps.worlds.deciding import in_tree_resolver
from moorage.core.columns.changes import NodePut, ObjectPut, PodObserved, PodWaiting
from moorage.core.cycle.decisions import ProfileActivated
from moorage.ports.requesters import Denied
from tests.adapters.api_server import answers, api_server, line, streams
from tests.apps.recordings.test_observer import by_query, listed
from tests.apps.worlds.test_from_cluster import kubeconfig

META: Final = {"name": "p", "namespace": "d", "uid": "u"}
ROOM: Final = {"cpu": "2", "memory": "4Gi", "pods": "10"}
NODE: Final = {
    "metadata": {"name": "n", "resourceVersion": "1"},
    "status": {"allocatable": ROOM, "capacity": ROOM},
}
ASKS: Final = {"containers": [{"name": "c", "resources": {"requests": {"cpu": "2"}}}]}


class Opened:
    """The page of a cluster with a pod, which has a node once ``bind`` is set."""

    def __init__(self, source: ClusterSource) -> None:
        self.source = source
        self.bind = asyncio.Event()

    async def ask(self, document: str, **query: str) -> Any:
        """A document."""
        return await self.source.document(parse(document, query))

    async def until(self, is_so: Callable[[Any], bool], document: str) -> Any:
        """The document, as soon as it is so."""
        async with asyncio.timeout(30):
            seen = self.source.changes.number
            while not is_so(found := await self.ask(document)):
                await self.source.changes.wait(seen)
                seen = self.source.changes.number
            return found


@contextlib.asynccontextmanager
async def opened(folder: Path) -> AsyncIterator[Opened]:
    """All of it lives in this folder."""
    async with api_server() as server:
        source = ClusterSource(kubeconfig(folder, server.url), in_tree_resolver(), OneLoop())
        page = Opened(source)
        waits = {"metadata": {**META, "resourceVersion": "5"}, "spec": ASKS}
        fills = {
            "metadata": {"name": "q", "namespace": "d", "uid": "v", "resourceVersion": "1"},
            "spec": {**ASKS, "nodeName": "n"},
        }
        bound = {"metadata": {**META, "resourceVersion": "9"}, "spec": {**ASKS, "nodeName": "n"}}
        watch = streams(page.bind, line("MODIFIED", bound), 30.0)
        server.then("GET", "/version", answers({"gitVersion": "v1.36.1"}))
        server.then("GET", "/api/v1/nodes", by_query([listed(5, NODE)], [streams(30.0)]))
        server.then("GET", "/api/v1/pods", by_query([listed(5, waits, fills)], [watch]))
        await source.open()
        running = asyncio.create_task(source.run())
        try:
            yield page
        finally:
            running.cancel()
            await asyncio.wait([running])
            await source.close()


@pytest.fixture
def kept(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Where it is kept; looked at often."""
    (tmp_path / "kept").mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path / "kept"))
    monkeypatch.setattr(recording_source, "GROWS_SECONDS", 0.1)
    return tmp_path / "kept"


def modes(folder: Path) -> list[int]:
    """Who may do what with the files in a folder."""
    return [one.stat().st_mode & 0o777 for one in folder.iterdir()]


def test_time_works_back_to_when_it_was_opened(kept: Path, tmp_path: Path) -> None:
    """The cluster as it was, its timeline and the choices of whoever decides there; what was before
    is said not to be known. At the end nothing is left on the disk.
    """

    async def scenario() -> None:
        async with opened(tmp_path) as page:
            early = await page.until(lambda found: "timeline" in found["has"], "overview")
            assert early["has"] == [*HAS, *OF_PAST]
            begin = (await page.ask("timeline"))["begin"]
            page.bind.set()
            now = await page.until(lambda found: found["pods"] == 2, "overview")
            times = await page.until(lambda found: any(found["placed"]), "timeline")
            assert times["waiting"][-1] == 0
            then = await page.ask("overview", at=moment(begin))
            assert (then["pods"], then["waiting"], then["live"]) == (1, 1, True)
            assert (then["cluster"], "status" in then["has"]) == (now["cluster"], False)
            assert then["source"].startswith("what was recorded of http")
            chosen = await page.ask("decisions", at=moment(begin))
            assert [(one["pod"], one["node"]) for one in chosen["decisions"]] == [("d/p", "n")]
            assert modes(kept) == [0o700]
            with pytest.raises(Denied, match=r"what was before .* was not seen"):
                await page.ask("overview", at=moment(begin - 60))

    asyncio.run(scenario())
    assert [*kept.iterdir()] == []


def test_what_is_only_tried_was_never_seen(kept: Path, tmp_path: Path) -> None:
    """To say what would help a pod, nodes are added and pods are placed."""

    async def scenario() -> None:
        async with opened(tmp_path) as page:
            await page.until(lambda found: "timeline" in found["has"], "overview")
            found = await page.ask("pod", name="d/p")
            assert found["changes"]
            page.bind.set()
            await page.until(lambda found: any(found["placed"]), "timeline")
            entries = [one for _, one in await asyncio.to_thread(read_recording, folder(kept))]
        kinds = [type(one) for one in entries if not isinstance(one, ProfileActivated | ObjectPut)]
        assert kinds == [NodePut, PodObserved, PodWaiting, PodObserved]

    asyncio.run(scenario())


def folder(kept: Path) -> Path:
    """The ring's."""
    (found,) = kept.iterdir()
    return found


def test_a_disk_that_is_gone_costs_the_past_alone(kept: Path, tmp_path: Path) -> None:
    """And it is said."""
    kept.rmdir()

    async def scenario() -> None:
        async with opened(tmp_path) as page:
            unkept = "what happens now is not kept"
            found = await page.until(lambda found: unkept in str(found["leftOut"]), "overview")
            assert found["has"] == [*HAS]
            with pytest.raises(Denied) as denied:
                await page.ask("timeline")
            assert denied.value.status == 503

    asyncio.run(scenario())
