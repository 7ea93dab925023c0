"""Access to the dashboard and the HTTP API: roles, tokens, and the log of actions."""

from __future__ import annotations

from enum import StrEnum
from typing import Annotated, Any

from gossamer.core.record import FieldMeaning, Record, Time

LOCAL = "local"
"""The caller's name for requests from this machine while no token exists."""
AT_TERMINAL = " at the command line"
"""The suffix of callers who act from a terminal; token names cannot end with it."""


class Role(StrEnum):
    """The rights of a token. Each role includes the rights of the roles before it."""

    READ = "read"  # may look at everything but the audit log, and change nothing
    OPERATE = "operate"  # may steer crawls too
    ADMIN = "admin"  # may read the audit log too

    def covers(self, needed: Role) -> bool:
        """Whether this role is enough where ``needed`` is asked for."""
        ranks = tuple(Role)
        return ranks.index(self) >= ranks.index(needed)


class AccessToken(Record, frozen=True, kw_only=True):
    """A token as it is kept: without its secret, of which only a digest is there."""

    name: str  # who has it, for people; a session has the name of its token
    role: Role
    made_at: Time
    expires_at: Time | None = None  # None: it is good until it is revoked
    is_session: bool = False  # made by signing in with the token of that name, and gone with it


class LoggedAction(Record, frozen=True, kw_only=True):
    """One action on a crawl, as recorded in the audit log."""

    id: int = 0  # given by the log, ascending
    at: Time
    token: str  # the name of the token it was done with; ``local``: on this machine, without one
    kind: str  # the action's name: ``pause``, ``retry``
    job: str = ""  # the id of the job it was done to; empty: to none
    what: str = ""  # the target, for people
    before: dict[str, Any] = {}  # the changed values before the action
    after: dict[str, Any] = {}  # the changed values after it, and its result
    undo_until: Time | None = None  # None: there is no way back
    undone_at: Time | None = None
    key: str = ""  # the caller's, which makes the action idempotent; the log makes one where it is empty
    asked: Annotated[str, FieldMeaning.ASIDE] = ""  # a digest of all that was asked for; "": not known

    @property
    def is_refused(self) -> bool:
        """Whether it was not done: ``after`` says why, as ``failed``."""
        return "failed" in self.after


class Caller(Record, frozen=True, kw_only=True):
    """The sender of a request."""

    name: str  # the token's name; ``local``: this machine, while no token exists
    role: Role
    is_session: bool = False  # signed in, in a browser


class CallFacts(Record, frozen=True, kw_only=True):
    """Claims of a request about its sender. None of them is trusted."""

    address: str  # that it came from
    host: str  # that it names, with the port
    is_change: bool = False  # it may change something: anything but GET and HEAD
    is_forwarded: bool = False  # it passed a proxy
    secret: str = ""  # of its bearer token
    session: str = ""  # of its cookie
    origin: str | None = None  # the page that made it, by its header Origin
    fetch_site: str | None = None  # the same by its header Sec-Fetch-Site
