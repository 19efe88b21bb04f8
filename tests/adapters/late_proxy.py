"""A proxy between a sender and its server that holds bytes back before it delivers them."""

from __future__ import annotations

import asyncio
import contextlib

from moorage.adapters.kube_session.connections import (
    ConnectionFailed,
    ConnectionPool,
    RequestOptions,
)

BINDING = b"x" * 300
OK = b"HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n"


async def delivered_late(late: float, heeds_resets: bool) -> bool:
    """Whether a request that the proxy holds for so many seconds arrives, although the sender's
    connections were severed meanwhile.
    """
    came: list[bytes] = []
    held = 0.0

    async def upstream(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        while data := await reader.read(4096):
            came.append(data)
            writer.write(OK)
        writer.close()
        with contextlib.suppress(ConnectionError):
            await writer.wait_closed()

    server = await asyncio.start_server(upstream, "127.0.0.1", 0)

    async def proxy(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        far, on = await asyncio.open_connection("127.0.0.1", server.sockets[0].getsockname()[1])
        with contextlib.suppress(ConnectionError):
            while data := await reader.read(4096):
                await asyncio.sleep(held)
                if heeds_resets and reader.exception() is not None:
                    break
                on.write(data)
                if not held:
                    writer.write(await far.read(4096))
        for end in (on, writer):
            end.close()
            with contextlib.suppress(ConnectionError):
                await end.wait_closed()

    front = await asyncio.start_server(proxy, "127.0.0.1", 0)
    pool = ConnectionPool(f"http://127.0.0.1:{front.sockets[0].getsockname()[1]}", None, None)
    await pool.request("GET", "/", None, "", RequestOptions(5))
    held = late
    write = asyncio.create_task(
        pool.request("POST", "/binding", BINDING, "", RequestOptions(late + 5))
    )
    await asyncio.sleep(0.1)
    pool.sever()
    with contextlib.suppress(ConnectionFailed):
        await write
        raise AssertionError("what was severed was answered")
    await asyncio.sleep(late + 0.2)
    for listening in (server, front):
        listening.close()
        await listening.wait_closed()
    return any(BINDING in data for data in came)
