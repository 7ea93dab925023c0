"""Describes MongoDB's errors to the operator, and tells temporary ones apart.

Guarantee: errors become a :class:`~gossamer.core.errors.StorageError` that says what happened, on which
server, and suggests a fix; never a password, and never the values of a document. Codes:
``error_codes.yml`` of the server.
"""

from __future__ import annotations

from collections.abc import Iterator

from gossamer.core.errors import StorageError
from gossamer.core.redaction import hide_userinfo
from gossamer.drivers.mongodb.packages import driver

DUPLICATE = 11000
"""The code of a key that is there already."""

_PASSING = frozenset(
    {
        *(6, 7, 89, 9001),  # host, network, sockets
        *(91, 189, 262, 11600, 11602, 10107, 13435, 13436),  # shutting down, another node takes over
        *(50, 112, 134, 202),  # took too long, a conflict of two writers, no majority at the moment
        DUPLICATE,  # two made one document at the same time: now it is there
    }
)
_WAYS_OUT = {
    13: "this user lacks the rights; an administrator can grant readWrite on the database",
    18: "wrong user name or password; check the URL, and whether it needs ?authSource=admin",
    50: "a command took too long and was cancelled",
    91: "the server is shutting down",
    100: "the write concern cannot be met: the replica set has too few members",
    10107: "this node is not the primary; name all nodes, or the replica set, in the URL",
    13435: "this node is not the primary; name all nodes, or the replica set, in the URL",
    14031: "the server's disk is full; free some space: stored data is intact",
}


def codes_of(error: BaseException) -> list[int]:
    """Return the codes of errors that the server reports; empty for other errors."""
    return [code for code, _ in _refusals(error)]


def is_passing(error: BaseException) -> bool:
    """Whether the same may go well a little later, as it is."""
    if codes := codes_of(error):
        return _PASSING.issuperset(codes)
    return isinstance(error, driver.ConnectionFailure | driver.WaitQueueTimeoutError | OSError)


def is_only_duplicates(error: driver.BulkWriteError) -> bool:
    """Whether all that a bulk of writes met was documents that are there already."""
    return set(codes_of(error)) == {DUPLICATE}


def translate_error(error: BaseException, place: str) -> StorageError:
    """Return the storage error that ``error`` means for the server at ``place``."""
    if isinstance(error, StorageError):
        return error
    for code, name in _refusals(error):
        way_out = _WAYS_OUT.get(code, "it refused a command")
        return StorageError(f"MongoDB at {place}: {way_out} ({name or f'code {code}'})")
    if isinstance(error, driver.NetworkTimeout | TimeoutError):
        return StorageError(
            f"MongoDB at {place}: no answer in time; is the server overloaded, or the network down?"
        )
    if isinstance(error, driver.ConnectionFailure | OSError):
        return StorageError(
            f"MongoDB at {place}: cannot be reached; is it running, and are host and port right?"
        )
    if isinstance(error, driver.ConfigurationError):  # says which parts of the URL do not go together
        return StorageError(f"MongoDB at {place}: {hide_userinfo(' '.join(str(error).split()))[:200]}")
    return StorageError(f"MongoDB at {place}: {type(error).__name__}")


def _refusals(error: BaseException) -> Iterator[tuple[int, str]]:
    """Codes and their names; of a bulk of writes, those of each that was refused."""
    if isinstance(error, driver.BulkWriteError):
        details = error.details or {}
        for part in (*details.get("writeErrors", ()), *details.get("writeConcernErrors", ())):
            yield int(part.get("code", 0)), str(part.get("codeName", ""))
    elif isinstance(error, driver.OperationFailure) and error.code is not None:
        yield error.code, str((error.details or {}).get("codeName", ""))
