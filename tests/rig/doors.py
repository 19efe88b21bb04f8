"""A door of plain HTTP before a port that speaks TLS, for what sends bytes as they are."""

from __future__ import annotations

import asyncio
import contextlib
import ssl
import threading
from typing import Final

_TLS: Final = b"\x16"
"""How every TLS connection begins: one passes as it is."""


class PlainDoor:
    """Lets connections through to a port of loopback, each by one of its own, and each end too. It
    has a thread, and ends with `close`.
    """

    def __init__(self, target: int) -> None:
        """Open it."""
        self._target: Final = target
        self._context: Final = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
        self._context.check_hostname = False
        self._context.verify_mode = ssl.CERT_NONE
        self._loop: Final = asyncio.new_event_loop()
        self._open: Final = threading.Event()
        self.port = 0
        threading.Thread(target=self._run, daemon=True).start()
        self._open.wait(10)

    def close(self) -> None:
        """Close it, and all connections."""
        self._loop.call_soon_threadsafe(self._loop.stop)

    def _run(self) -> None:
        server = self._loop.run_until_complete(
            asyncio.start_server(self._pass, "127.0.0.1", 0, queue=2048)
        )
        self.port = server.sockets[0].getsockname()[1]
        self._open.set()
        self._loop.run_forever()
        server.close()
        for task in asyncio.all_tasks(self._loop):
            task.cancel()
        self._loop.run_until_complete(asyncio.sleep(0.1))
        self._loop.close()

    async def _pass(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        with contextlib.suppress(OSError, asyncio.CancelledError):
            first = await reader.read(65536)
            context = None if first.startswith(_TLS) else self._context
            theirs, ours = await asyncio.open_connection("127.0.0.1", self._target, ssl=context)
            ours.write(first)
            ways = {
                asyncio.ensure_future(_copy(reader, ours)),
                asyncio.ensure_future(_copy(theirs, writer)),
            }
            await asyncio.wait(ways, return_when=asyncio.FIRST_COMPLETED)
            for way in ways:
                way.cancel()
            ours.close()
        writer.close()


async def _copy(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    """Until there is no more."""
    with contextlib.suppress(OSError):
        while data := await reader.read(65536):
            writer.write(data)
            await writer.drain()
