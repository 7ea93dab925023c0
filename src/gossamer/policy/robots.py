"""robots.txt by RFC 9309. Pure: a status and bytes in, a storable record and verdicts out.

Protego parses and matches. This module decides before it: the meaning of statuses, the bytes that count as
text, and the group to use. Only the lines of the crawler's product token, else of ``*``, reach the parser.
That makes the match of the token exact (2.2.1), lets groups end where RFC 9309 says, and keeps a hostile file
linear: thousands of agents sharing thousands of rules would otherwise multiply.
"""

from __future__ import annotations

import codecs
import re
from enum import StrEnum
from functools import lru_cache

from protego import Protego

from gossamer.core.errors import Fault
from gossamer.core.lazy import lazy_pattern
from gossamer.core.record import Record
from gossamer.policy.faults import OTHER_VERSION
from gossamer.policy.urls import join_url

MAX_BYTES = 1024 * 1024
"""How much of a robots.txt is read: RFC 9309, 2.5 asks for 500 KiB at least, real ones reach 850."""

MAX_SITEMAPS = 1000
MAX_WILDCARDS = 2000
"""Rules with a ``*`` that are kept: each costs every check a search. Real files have below 200."""

JUNK_SHARE = 0.1
"""With this share of bytes that are not text, a body is binary and holds no rules."""

_HAS_LINES = lazy_pattern(
    r"(?:\A|[\r\n])[ \t]*+(?:user[- ]?agent|site-?maps?)(?:[ \t]*+:|[ \t]++[^=:\s])", re.IGNORECASE
)
_AGENT_LINE = lazy_pattern(r"user[- ]?agent\s*(?::|\s)(.*)", re.IGNORECASE)
_SITE_LINE = lazy_pattern(r"(?:sitemaps?|site-map|host)\b", re.IGNORECASE)
_RULE_LINE = lazy_pattern(r"(?:dis+all?[ao]w|diasllow|allow)\b", re.IGNORECASE)
_DELAY_LINE = lazy_pattern(r"crawl[- ]delay\b", re.IGNORECASE)
_TOKEN = lazy_pattern(r"[A-Za-z0-9_-]+")
_COMPATIBLE = lazy_pattern(r"compatible;\s{0,8}([A-Za-z0-9_-]+)")


class RobotsAccess(StrEnum):
    """The meaning of a robots.txt as a whole."""

    RULES = "rules"  # it was read, and its rules decide
    OPEN = "open"  # missing (4xx, too many redirects) or without rules: all is allowed
    CLOSED = "closed"  # it could not be fetched (5xx, 429, no answer): nothing is allowed until it can be


class RobotsRecord(Record, frozen=True, kw_only=True):
    """A robots.txt as it is remembered."""

    access: RobotsAccess
    text: str = ""  # RULES only: decoded, cut to ``MAX_BYTES``
    url: str = ""  # where it was read, after redirects: the base of relative sitemaps
    fault: str = ""  # CLOSED only: the ``Fault`` value that stood in the way
    detail: str = ""  # CLOSED only: for people
    fetched_at: float = 0.0
    expires_at: float = 0.0  # to be asked for again from then on
    is_final: bool = False  # CLOSED only: it was not read before, and gives errors for too long
    rung: str = ""  # OPEN only: the rung whose version of HTTP was refused; another rung asks for itself


def interpret_response(status: int | None, body: bytes = b"", content_type: str = "") -> RobotsRecord:
    """Interpret an answer to a request for robots.txt (RFC 9309, 2.3.1); status ``None``: no answer.

    A redirect means that following it ended without a file. 429 means "later", like a server error, not
    "missing". 505 refuses the version of HTTP: it is not a server error, and says as little about rules as
    421 and 426.
    """
    if status is None:
        return RobotsRecord(access=RobotsAccess.CLOSED, fault=Fault.CONNECT.value)
    if 200 <= status < 300:
        text = "" if content_type.startswith(("image/", "audio/", "video/", "font/")) else _decode_body(body)
        return RobotsRecord(access=RobotsAccess.RULES if text else RobotsAccess.OPEN, text=text)
    if (300 <= status < 500 and status != 429) or status in OTHER_VERSION:
        return RobotsRecord(access=RobotsAccess.OPEN)
    fault = Fault.THROTTLED if status == 429 else Fault.SERVER
    return RobotsRecord(access=RobotsAccess.CLOSED, fault=fault.value, detail=f"status {status}")


def _decode_body(body: bytes) -> str:
    """The text of a body, ``""`` where it holds no rules: an HTML page, binary junk, nothing."""
    head = body[:MAX_BYTES]
    if head.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)):
        text = head.decode("utf-16", "replace")
    else:
        text = head.removeprefix(codecs.BOM_UTF8).decode("utf-8", "replace")
    if text.count("\0") + text.count("�") > JUNK_SHARE * len(text) or not _HAS_LINES.search(text):
        return ""
    if len(body) > MAX_BYTES:  # half a rule may mean far more than the whole: ``/`` for ``/private``
        text = text[: max(text.rfind("\n"), text.rfind("\r")) + 1]
    return text.replace("\0", "")


@lru_cache(maxsize=256)
def product_token(user_agent: str) -> str:
    """The name a site writes into robots.txt for this User-Agent, in lower case.

    ``Gossamer/1.0 (+https://...)`` is ``gossamer``, ``Mozilla/5.0 (compatible; Foobot/2.1)`` is ``foobot``.
    """
    match = _COMPATIBLE.search(user_agent)
    if match:
        return match[1].lower()
    match = _TOKEN.search(user_agent)
    return match[0].lower() if match else ""


def _agent_of_line(value: str) -> str:
    """The product token of a user-agent line, ``*`` for everybody's."""
    value = value.strip()
    if value == "*" or value.startswith(("* ", "*\t")):
        return "*"
    match = _TOKEN.match(value.lstrip("*"))
    return match[0].lower() if match else ""


def _lines_for(text: str, token: str) -> list[str]:
    """The lines that count for ``token``: of all its own groups together, else of everybody's.

    A group ends at a user-agent line after a rule; other records must not interfere (RFC 9309, 2.2.4), so
    a Crawl-delay does not end it, but is meant only for the names right above it.
    """
    lines: dict[str, dict[str, None]] = {}
    names: set[str] = set()
    delayed: set[str] = set()
    after_rule = after_other = True
    wildcards = 0
    for raw_line in text.splitlines():
        line = raw_line.partition("#")[0].strip()
        agent = _AGENT_LINE.match(line)
        if agent:
            names = set() if after_rule else names
            delayed = set() if after_other else delayed
            after_rule = after_other = False
            name = _agent_of_line(agent[1])
            if name in {token, "*"}:
                names.add(name)
                delayed.add(name)
                lines.setdefault(name, {})
        elif _RULE_LINE.match(line):
            after_rule = after_other = True
            wildcards += "*" in line
            if wildcards <= MAX_WILDCARDS or "*" not in line:
                for name in names:
                    lines[name][line] = None
        elif _DELAY_LINE.match(line):
            after_other = True
            for name in delayed:
                lines[name][line] = None
    return list(lines.get(token, lines.get("*", {})))


class RobotsRules:
    """A record, ready to answer. ``user_agent`` is a product token or a whole User-Agent header."""

    def __init__(self, record: RobotsRecord) -> None:
        self.record = record
        self._parsed: dict[str, Protego | None] = {}

    def __repr__(self) -> str:
        return f"RobotsRules({self.record.access.value}, {len(self.record.text)} characters)"

    def may_fetch(self, url: str, user_agent: str) -> bool:
        """Whether the canonical URL may be fetched. ``/robots.txt`` itself always may, when it is there."""
        access = self.record.access
        if access is RobotsAccess.OPEN:
            return True
        if access is RobotsAccess.CLOSED:
            return False
        rules = self._rules_for(user_agent)
        return rules is None or rules.can_fetch(url, "*")

    def may_fetch_all(self, user_agent: str) -> bool:
        """Whether every URL is allowed, so that there is no need to ask for each."""
        return self.record.access is RobotsAccess.OPEN or (
            self.record.access is RobotsAccess.RULES and self._rules_for(user_agent) is None
        )

    def crawl_delay(self, user_agent: str) -> float | None:
        """Seconds between requests that the site asks for: finite, not negative, else not capped."""
        rules = self._rules_for(user_agent) if self.record.access is RobotsAccess.RULES else None
        return None if rules is None else rules.crawl_delay("*")

    @property
    def sitemap_urls(self) -> tuple[str, ...]:
        """The absolute http(s) URLs of its sitemaps, in order, each once."""
        lines = (line for line in self.record.text.splitlines() if _SITE_LINE.match(line.lstrip()))
        found = dict.fromkeys(
            _absolute_url(url, self.record.url) for url in Protego.parse("\n".join(lines)).sitemaps
        )
        found.pop("", None)
        return tuple(found)[:MAX_SITEMAPS]

    def _rules_for(self, user_agent: str) -> Protego | None:
        """Return Protego's rules for the agent; ``None`` without any."""
        token = product_token(user_agent)
        if token not in self._parsed:
            lines = _lines_for(self.record.text, token)
            self._parsed[token] = Protego.parse("\n".join(["User-agent: *", *lines])) if lines else None
        return self._parsed[token]


def _absolute_url(url: str, base: str) -> str:
    """A sitemap's URL joined to where robots.txt was read, ``""`` when it is none."""
    joined = join_url(base or url, url) or ""
    return joined if joined.startswith(("http://", "https://")) else ""
