"""The command `moorage ui`: the page of a cluster or of a recording, on loopback."""

from __future__ import annotations

import asyncio
import contextlib
import dataclasses
import os
import signal
import sys
import webbrowser
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

from moorage.api.resolution import Resolver
from moorage.apps.exit_status import ExitStatus, NoAnswer, WrongUse
from moorage.apps.plugin_resolver import resolver_of
from moorage.apps.run.side_loop import SideLoop
from moorage.apps.ui.loopback import Doorkeeper, LoopbackHandler, address
from moorage.apps.ui.loopback_server import LoopbackServer
from moorage.apps.ui.page_handler import PageHandler
from moorage.apps.ui.page_source import PageSource
from moorage.apps.ui.static_files import StaticFiles
from moorage.apps.worlds.cluster_choice import ClusterChoice
from moorage.ports.texts import printable


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class UiOptions:
    """What was typed. ``candidates``: FILE or NAME=FILE, as `simulate` has them."""

    cluster: ClusterChoice
    recording: Path | None = None
    candidates: tuple[str, ...] = ()
    config: Path | None = None
    port: int = 0
    browser: bool = True


def run(options: UiOptions) -> int:
    """Serve until SIGINT or SIGTERM; the exit status. Raises CommandError."""
    if options.candidates and options.recording is None:
        raise WrongUse("--profile makes another world of a recording: name one by --recording")
    asyncio.run(_serve(options))
    return ExitStatus.YES


async def _serve(options: UiOptions) -> None:
    try:
        server = LoopbackServer(options.port)
    except OSError as error:
        raise NoAnswer(f"--port {options.port}: {error.strerror}; 0 takes a free one") from error
    ended, doorkeeper = _end_signal(), Doorkeeper()
    async with contextlib.AsyncExitStack() as stack:
        stack.push_async_callback(server.stop)
        source = await stack.enter_async_context(_source(options))
        try:
            opening = asyncio.create_task(source.open(), name="open")
            if await _until(ended, opening):
                return
            page = PageHandler(source, StaticFiles.of_package())
            await server.start(LoopbackHandler(page, doorkeeper, server.port).answer)
            name = opening.result()
            await asyncio.to_thread(_tell, name, server.port, doorkeeper, options)
            running = asyncio.create_task(source.run(), name="page source")
            if not await _until(ended, running):
                await ended.wait()  # there is nothing more to be kept up to date
        finally:
            await server.stop()  # so that nobody asks a source that is gone
            await source.close()


async def _until(ended: asyncio.Event, task: asyncio.Task[Any]) -> bool:
    """Until the task is done, or a signal came: whether one did. A fault of the task is raised."""
    waiting = asyncio.create_task(ended.wait())
    await asyncio.wait((waiting, task), return_when=asyncio.FIRST_COMPLETED)
    waiting.cancel()
    if task.done():
        task.result()
    else:
        task.cancel()
        await asyncio.wait([task])
    return ended.is_set()


@contextlib.asynccontextmanager
async def _source(options: UiOptions) -> AsyncIterator[PageSource]:
    resolver = resolver_of(options.config)
    if options.recording is not None:
        yield _of_recording(options.recording, resolver, options)
        return
    from moorage.apps.ui.cluster_source import ClusterSource

    with SideLoop() as side:
        yield ClusterSource(options.cluster, resolver, side)


def _of_recording(path: Path, resolver: Resolver, options: UiOptions) -> PageSource:
    from moorage.apps.simulate.candidate_profiles import read_candidates
    from moorage.apps.ui.recording_source import RecordingSource

    return RecordingSource(path, resolver, read_candidates(options.candidates, resolver))


def _tell(name: str, port: int, doorkeeper: Doorkeeper, options: UiOptions) -> None:
    print(f"{printable(name)} is shown at {address(port, doorkeeper.token)}")
    print("Read-only; only who has this address sees it. Ctrl-C ends it.", flush=True)
    if options.browser and _has_screen():
        webbrowser.open(address(port, doorkeeper.token_for_once()))


def _has_screen() -> bool:
    """Whether a browser would have a window: one that draws on the terminal helps nobody here."""
    known = sys.platform in ("darwin", "win32")
    return known or bool(os.environ.get("DISPLAY") or os.environ.get("WAYLAND_DISPLAY"))


def _end_signal() -> asyncio.Event:
    ended, loop = asyncio.Event(), asyncio.get_running_loop()
    for number in (signal.SIGINT, signal.SIGTERM):
        loop.add_signal_handler(number, ended.set)
    return ended
