"""Parts of every kind of store, each with its own server or file, for the contract suites."""

from contextlib import asynccontextmanager, closing

from gossamer.drivers.sqlite.database import Database
from gossamer.store.mongodb import schema as mongodb
from gossamer.store.postgres import schema as postgres
from kit.servers import on_servers

KINDS = ["memory", "sqlite", *on_servers("postgres", "mongo")]
"""Parameters of a test that is run on each of them."""
_SERVERS = {"postgres": postgres.make_server, "mongo": mongodb.make_server}


def memory(part):
    """Makes a part of a store in memory, as the checks of a suite want it."""

    @asynccontextmanager
    async def make(_clock):
        yield part()

    return make


def maker_of(parts, request, folder):
    """The same of the kind of store that a test is run for, by name among ``parts``."""
    kind = request.param
    part = parts[kind]
    if kind == "memory":
        return memory(part)

    @asynccontextmanager
    async def make(_clock):
        if kind == "sqlite":
            with closing(Database(folder / "store.db")) as db:
                yield part(db)
            return
        server = _SERVERS[kind](request.getfixturevalue(f"{kind}_url"))
        try:
            yield part(server)
        finally:
            await server.close()

    return make
