"""PostgreSQL's errors in words for the person who has to mend them, and which of them pass by themselves.

Guarantee: errors become a :class:`~gossamer.core.errors.StorageError` that says what happened, on which
server, and suggests a fix; never a password, and never the values of a row. Codes: appendix A of the manual.
"""

from __future__ import annotations

from gossamer.core.errors import StorageError


class RefusedValueError(StorageError):
    """The server cannot store these values, however often they are sent; others it can."""


_PASSING = {
    *("40001", "40P01", "55P03"),  # serialization, deadlock, lock
    *("57014", "57P01", "57P02", "57P03", "57P05"),  # cancelled, shut down, crashed, starting, idle
    *("25006", "25P03"),  # read-only: a fail-over is under way; idle in a transaction
    "58030",  # a disk that failed
}
_PASSING_CLASSES = {"08", "53"}  # connection; out of disk, memory, connections
_CONFLICTS = {"40001", "40P01", "55P03"}
_REFUSING_CLASSES = {"22", "54"}  # values out of range or not representable; limits of the program
_WAYS_OUT = {
    "28P01": "wrong user name or password; check the URL, PGPASSWORD or ~/.pgpass",
    "28000": "the server does not let this user in; check the user's name and the server's pg_hba.conf",
    "3D000": "this database does not exist; create it with: createdb NAME",
    "42501": "this user lacks the rights; an administrator can grant them, for instance with: "
    "CREATE SCHEMA gossamer AUTHORIZATION user",
    "53100": "the server's disk is full; free some space: stored data is intact",
    "53200": "the server is out of memory",
    "53300": "the server has no connections left; raise max_connections, or run fewer workers",
    "53400": "a limit of the server's configuration is reached",
    "57014": "a statement took too long and was cancelled",
    "57P01": "the server is shutting down",
    "57P02": "the server had to restart after a crash",
    "57P03": "the server is starting up",
    "25006": "the server is read-only; is it a standby? Name the primary, "
    "or add target_session_attrs=read-write to the URL",
    "42P01": "tables are missing; were they dropped? Restore them from a backup, or drop the whole schema",
}


def code_of(error: BaseException) -> str:
    """Return the SQLSTATE; ``08006`` (connection failure) for a failing network or driver, else ``""``."""
    code = getattr(error, "sqlstate", None)
    if isinstance(code, str):
        return code
    # A TimeoutError is an OSError. The driver's own errors are about connections that went away under it, in
    # many words, or about values that it cannot send.
    is_drivers = type(error).__module__.startswith("asyncpg.") and not isinstance(error, ValueError)
    return "08006" if isinstance(error, OSError) or is_drivers else ""


def is_passing(error: BaseException) -> bool:
    """Whether the same may go well a little later, as it is."""
    code = code_of(error)
    return code in _PASSING or code[:2] in _PASSING_CLASSES


def is_conflict(error: BaseException) -> bool:
    """Whether two transactions were in each other's way: nothing is wrong with the server."""
    return code_of(error) in _CONFLICTS


def is_lost(error: BaseException) -> bool:
    """Whether the connection is of no use any more."""
    return code_of(error)[:2] in ("08", "57")


def is_refused(error: BaseException) -> bool:
    """Whether it is the values that cannot be stored."""
    return code_of(error)[:2] in _REFUSING_CLASSES


def translate_error(error: BaseException, place: str) -> StorageError:
    """Return the storage error that ``error`` means for the server at ``place``."""
    if isinstance(error, StorageError):
        return error
    kind = RefusedValueError if is_refused(error) else StorageError
    # Only the first part of a server's error: the others (detail, hint) may hold values of a row.
    said = (
        str(error.args[0]) if code_of(error) and error.args and not isinstance(error, OSError) else str(error)
    )
    said = " ".join(said.split()) or type(error).__name__
    way_out = _WAYS_OUT.get(code_of(error)) or _describe_outage(error)
    if way_out:
        return kind(f"PostgreSQL at {place}: {way_out} ({said})")
    return kind(f"PostgreSQL at {place}: {said}")


def refuse_writes(place: str) -> StorageError:
    """Return the error of a server, or a user, that only reads."""
    return StorageError(f"PostgreSQL at {place}: {_WAYS_OUT['25006']}")


def refuse_user(place: str, lacks: str) -> StorageError:
    """Return the error of a user who lacks a right; ``lacks`` says which: ``may not ...``."""
    return StorageError(f"PostgreSQL at {place}: {_WAYS_OUT['42501']} (it {lacks})")


def _describe_outage(error: BaseException) -> str:
    if isinstance(error, TimeoutError):
        return "no answer in time; is the server overloaded, or the network down?"
    if isinstance(error, OSError):
        return "cannot be reached; is it running, and are host and port right?"
    return "the connection was lost" if code_of(error)[:2] == "08" else ""
