"""Who may do what with the dashboard and the HTTP API: roles, tokens, and what was done with them."""

from __future__ import annotations

from enum import StrEnum
from typing import Annotated, Any

from gossamer.core.record import FieldMeaning, Record, Time

LOCAL = "local"
"""Whoever is on this machine, while there is no token: noted in the place of a token's name."""
AT_TERMINAL = " at the command line"
"""How the name of somebody ends who did something there; no token has such a name."""


class Role(StrEnum):
    """What a token allows. Each role may do all that those before it may."""

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
    """Something that somebody did to a crawl, as the audit log has it."""

    id: int = 0  # given by the log, ascending
    at: Time
    token: str  # the name of the token it was done with; ``local``: on this machine, without one
    kind: str  # what was done, in a word: ``pause``, ``retry``
    job: str = ""  # the id of the job it was done to; empty: to none
    what: str = ""  # what it was done to, for people
    before: dict[str, Any] = {}  # what it changed, as it was
    after: dict[str, Any] = {}  # what it changed, as it is since, and what came of it
    undo_until: Time | None = None  # None: there is no way back
    undone_at: Time | None = None
    key: str = ""  # the caller's, which makes the action idempotent; the log makes one where it is empty
    asked: Annotated[str, FieldMeaning.ASIDE] = ""  # a digest of all that was asked for; "": not known

    @property
    def is_refused(self) -> bool:
        """Whether it was not done: ``after`` says why, as ``failed``."""
        return "failed" in self.after


class Caller(Record, frozen=True, kw_only=True):
    """Who asks."""

    name: str  # of the token; ``local``: whoever is on this machine, where there is no token
    role: Role
    is_session: bool = False  # signed in, in a browser


class CallFacts(Record, frozen=True, kw_only=True):
    """What a request to the dashboard or the HTTP API says of whoever makes it. None of it is trusted."""

    address: str  # that it came from
    host: str  # that it names, with the port
    is_change: bool = False  # it may change something: anything but GET and HEAD
    is_forwarded: bool = False  # it passed a proxy
    secret: str = ""  # of its bearer token
    session: str = ""  # of its cookie
    origin: str | None = None  # the page that made it, by its header Origin
    fetch_site: str | None = None  # the same by its header Sec-Fetch-Site
