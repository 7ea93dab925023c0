"""A way to a MongoDB server on which answers are lost, as where a connection breaks or a worker is killed."""

import asyncio
import struct
from contextlib import asynccontextmanager
from urllib.parse import urlsplit

from kit.mongo_server import QUERY, read_message

QUIET = {"hello", "ismaster", "ping", "endSessions", "createIndexes"}


class LossyWay:
    """A relay between a client and its server that loses the answers to some commands."""

    def __init__(self, url: str) -> None:
        self.url = url
        self.commands = 0  # the number received
        self.loses = range(0)  # the numbers of those whose answers are lost

    @asynccontextmanager
    async def opened(self):
        server = await asyncio.start_server(self._carry, "127.0.0.1", 0)
        port = server.sockets[0].getsockname()[1]
        try:
            yield f"mongodb://127.0.0.1:{port}{urlsplit(self.url).path}"
        finally:
            server.close()

    async def _carry(self, reader, writer):
        to_server = None
        try:
            from_server, to_server = await asyncio.open_connection(*self._address())
            while True:
                message = await _read(reader)
                to_server.write(message)
                answer = await _read(from_server)
                if self._is_lost(message):
                    return
                writer.write(answer)
        except (asyncio.IncompleteReadError, ConnectionError):
            pass
        finally:
            for end in filter(None, (writer, to_server)):
                end.close()

    def _address(self):
        parts = urlsplit(self.url)
        return parts.hostname, parts.port

    def _is_lost(self, message):
        if struct.unpack_from("<i", message, 12)[0] == QUERY or QUIET & {
            next(iter(read_message(message[16:])))
        }:
            return False
        self.commands += 1
        return self.commands - 1 in self.loses


async def _read(stream):
    head = await stream.readexactly(4)
    return head + await stream.readexactly(struct.unpack("<i", head)[0] - 4)
