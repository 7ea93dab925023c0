"""Errors and faults, typed by the action they call for.

:class:`GossamerError` is the root of two families: errors that an *operator* must fix
(:class:`UsageError`, :class:`MissingServiceError`, ...; each has the exit code of the command line), and
failures of a *request* (:class:`FetchError`; each has a :class:`Fault`, whose consequences are in the table
of ``policy.faults``). Adapters translate their drivers' exceptions.
"""

from __future__ import annotations

from collections.abc import Mapping
from enum import StrEnum
from typing import Any


class Fault(StrEnum):
    """The reason why an attempt at a request failed. The ledger stores the value.

    The table of ``policy.faults`` has a row of consequences for every member.
    """

    DNS = "dns"  # the name does not resolve (NXDOMAIN): permanent for the host
    DNS_TEMPORARY = "dns_temporary"  # SERVFAIL, timeout of the resolver
    CONNECT = "connect"  # refused, reset or unreachable before a byte came back
    LOCAL = "local"  # this machine lacks file handles, local ports or network: counts against no host
    TLS = "tls"  # certificate or handshake
    TIMEOUT_CONNECT = "timeout_connect"  # looking up, connecting and TLS took too long
    TIMEOUT_HEADERS = "timeout_headers"  # the whole header took too long (slow loris)
    TIMEOUT_BODY = "timeout_body"  # the body stalled, or took too long as a whole
    INCOMPLETE = "incomplete"  # the body ended before its announced length, or its compression before its end
    PROTOCOL = "protocol"  # not HTTP, or broken HTTP
    TOO_LARGE = "too_large"  # more bytes than allowed, of the decoded body or of the header
    BAD_ENCODING = "bad_encoding"  # Content-Encoding that cannot be undone
    BAD_REDIRECT = "bad_redirect"  # a redirect without a usable Location
    REDIRECT_LIMIT = "redirect_limit"  # too many redirects in a row
    GUARD = "guard"  # a private address that the user did not name
    BAD_URL = "bad_url"  # not a URL by the WHATWG standard, or an unsupported scheme
    NOT_ARCHIVED = "not_archived"  # the saved pages (`replay.folder`) do not include it
    THROTTLED = "throttled"  # 429, 503: the host asks for time
    GATEWAY = "gateway"  # 502, 504: the server behind the host does not answer
    SERVER = "server"  # the other 5xx
    CLIENT = "client"  # 4xx other than 404, 408, 410, 425, 429
    GONE = "gone"  # 404, 410
    ROBOTS = "robots"  # robots.txt says no
    ROBOTS_UNREACHABLE = "robots_unreachable"  # robots.txt answered 5xx or not at all
    HOST_DOWN = "host_down"  # the host has never answered, and its requests are no longer tried
    HOST_LOST = "host_lost"  # the host had answered, and was then in trouble for longer than host_patience
    OUT_OF_SCOPE = "out_of_scope"  # it leads to where the crawl must not go
    BLOCKED = "blocked"  # the site refuses us: a challenge, a CAPTCHA, a status that refuses
    LOGGED_OUT = "logged_out"  # the answer is for visitors who are not logged in
    PROXY = "proxy"  # the proxy is out of order or refuses us: counts against the proxy only
    PROXY_ANSWER = "proxy_answer"  # an error that may be the proxy's own: another proxy is asked first
    BROWSER = "browser"  # the browser process ended while it had the page: counts against no host
    PAGE_CRASH = "page_crash"  # the page crashed its tab, or took more memory than a page may
    SERVICE = "service"  # a gateway that fetches for us is out of order, or asks for time: its failure alone
    SERVICE_FAILED = "service_failed"  # a gateway that fetches for us could not get the page
    UNWANTED = "unwanted"  # a file of an unwanted type
    IGNORED = "ignored"  # a hook of the spider refuses it
    BUDGET = "budget"  # a budget of its host or of its pattern is spent
    TRAP = "trap"  # it is one of many pages without anything new: their budget is spent
    MISSING = "missing"  # a required element is not on the page
    CALLBACK = "callback"  # the spider's code raised
    CALLBACK_TIMEOUT = "callback_timeout"  # the spider's code took too long
    PIPELINE = "pipeline"  # a pipeline step failed on an item of the page
    HOOK = "hook"  # a hook failed: it raised, took too long, or gave what cannot be sent
    PARSE_TIMEOUT = "parse_timeout"  # the page could not be parsed within its CPU time and memory
    PARSE_INTERRUPTED = "parse_interrupted"  # the process that examines suspicious pages was stopped
    UNREADABLE = "unreadable"  # the stored request is damaged
    INTERNAL = "internal"  # an error of Gossamer itself; the ledger has the traceback
    EXPIRED = "expired"  # the worker never came back with it


class LedgerReason(StrEnum):
    """A reason in the ledger that is not a fault: nothing is retried or given up for it."""

    KNOWN_TARGET = "known_target"  # a redirect to a page that was known already
    STALE = "stale"  # the lease was lost before it was settled: only its items and its page are kept


class GossamerError(Exception):
    """The base class of all exceptions of Gossamer."""


class OperatorError(GossamerError):
    """Something a person must fix. ``str(error)`` says what happened, to which thing, and what to do."""

    exit_code = 2


class UsageError(OperatorError):
    """Wrong use: an unknown spider, a bad option, a file that cannot be imported."""


class UnknownJobError(UsageError):
    """The job does not exist; the message lists the existing ones."""


class UnknownActionError(UsageError):
    """The audit log has no action of that number."""


class NotThereError(UsageError):
    """The requested object does not exist, or no longer exists."""


class SettingError(UsageError):
    """A setting does not exist or has the wrong type; the message has its source and the nearest name."""


class MissingServiceError(OperatorError):
    """A service or an optional package that is needed is missing."""

    exit_code = 4


class LogInError(OperatorError):
    """A spider cannot log in: the password is wrong, or robots.txt does not allow it. Requests are kept."""

    exit_code = 4


class StorageError(OperatorError):
    """The disk or the database cannot be read or written. Stored data is not lost."""

    exit_code = 4


class FileChangedError(StorageError):
    """Another process changed the file while its successor was written; its change is kept."""


class BlobMissingError(StorageError):
    """A blob, such as a file of an archive or an export, does not exist, or no longer exists."""


class ArchiveDamagedError(StorageError):
    """A record of an archive cannot be read; the message names its place. Other records are not touched."""


class LostRequestsError(StorageError):
    """The requests of a job are lost because their Redis was emptied. Stored results are kept."""


class SchemaVersionError(StorageError):
    """The database was written by a newer version of Gossamer."""


class JobBusyError(OperatorError):
    """Another process, or this one, is already running this crawl."""

    exit_code = 4


JobBusy = JobBusyError
"""The same for ``except JobBusy``."""


class AccessError(GossamerError):
    """The caller may not use the dashboard or the HTTP API. The message says why.

    ``way`` is the remedy, ``status`` the HTTP status, ``wait_s`` the seconds to wait, if waiting helps.
    """

    def __init__(self, why: str, *, way: str, status: int, wait_s: float = 0.0) -> None:
        super().__init__(why)
        self.way = way
        self.status = status
        self.wait_s = wait_s


class ConflictError(OperatorError):
    """The state has changed since the caller saw it; nothing was done. ``now`` has the current state."""

    def __init__(self, message: str, *, now: Mapping[str, Any]) -> None:
        super().__init__(message)
        self.now = now


class TransitionError(GossamerError):
    """A request or a job was moved along an edge that its life-cycle table does not have; nothing changed."""


class JsonValueError(UsageError, TypeError):
    """A value in ``meta``, ``cb_kwargs`` or ``json`` is not JSON; the message names it."""


class SelectorError(GossamerError, ValueError):
    """A CSS selector, an XPath expression or a JMESPath expression is invalid; the message has the reason."""


class FetchError(GossamerError):
    """An attempt to fetch a page failed without a response.

    Args:
        fault: the kind of failure, see "Faults and errors".
        detail: a sentence about the cause, without secrets.
        retry_after_s: seconds after which the server wants the next request; ``None``: it names no time.
        rung: the way to fetch that failed; empty: none was tried.
        proxy: name of the proxy; empty: none was used.
        status: HTTP status of the proxy's own answer; 0: it gave none.
        cost: cost of the attempt, if a gateway charges for it.

    ``screenshot`` is a PNG of the page, if a browser had opened it. ``is_unclear`` is set if a proxy reached
    no host and does not say whose failure that is.
    """

    def __init__(
        self,
        fault: Fault,
        detail: str = "",
        *,
        retry_after_s: float | None = None,
        rung: str = "",
        proxy: str = "",
        status: int = 0,
        cost: float = 0.0,
    ) -> None:
        super().__init__(f"{fault.value}: {detail}" if detail else fault.value)
        self.fault = fault
        self.detail = detail
        self.retry_after_s = retry_after_s
        self.rung = rung
        self.proxy = proxy
        self.status = status
        self.screenshot = b""
        self.cost = cost
        self.browser_s = 0.0  # how long a tab of a browser was held for it
        self.is_unclear = False

    def with_detail(self, detail: str) -> FetchError:
        """The same failure in other words."""
        error = FetchError(self.fault, detail, status=self.status)
        error.is_unclear = self.is_unclear
        return error


class IgnoreRequest(GossamerError):
    """Raised by a hook to skip a request or its response. The ledger keeps the message as the reason."""


class DropItem(GossamerError):
    """Raised by a pipeline step to drop one item. The message is the reason; the summary counts it."""

    stage: str = ""
    """Name of the step that raised it, set by the pipeline; empty: the item does not fit its own type."""
    empty_field: str = ""
    """Name of the required field that is ``None``."""


class PipelineError(GossamerError):
    """A pipeline step failed on an item. The message names the step and ends with the traceback.

    If the failure may pass (a server was away), nothing of the page is stored and the page is retried.
    Otherwise the page becomes a dead letter, and its other items are stored.
    """

    def __init__(self, text: str, *, may_pass: bool = False) -> None:
        super().__init__(text)
        self.may_pass = may_pass


class UnstorableItemError(GossamerError):
    """An item that no store can take: a mistake in the spider's code. The message names the place."""
