"""Detection of pages that refuse the crawler. Pure.

A refusal looks like a page: some come with status 200. Pages of the well-known vendors carry marks that no
other page has (in a header, or in the script that tests the visitor), and one mark is proof. Marks that
ordinary pages may also show prove nothing alone: sensors and CAPTCHAs appear in forms and at the end of good
pages, and words like "access denied" in news. They count only on an error, or on a small page with hardly any
text. A refusing status without any mark is only a sign (``Block.is_certain`` is false): the page may be
closed to everyone.

CAPTCHAs are never answered, only recognised, so that a person is notified.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import cache
from operator import itemgetter

from gossamer.core.record import Record
from gossamer.core.results import FetchResult
from gossamer.core.routes import Block, BlockKind

REFUSING = frozenset({401, 403, 406, 418, 430, 444, 456, 460, 463, 498, 499, 999})
"""Statuses that refuse, or that firewalls made up for it; 429 and 503 ask for time (RFC 6585, RFC 9110)."""
LOOKED_AT_BYTES = 64 * 1024
"""How much of an error's body is looked at."""
SMALL_BYTES = 16 * 1024
"""Maximum size of a challenge with a successful status: challenges are a few scripts."""
FEW_LINKS = 8
"""Maximum number of links on a challenge with a successful status."""
FEW_TAGS = 250
"""One with more markup neither."""
HEAD_BYTES, HEAD_TAGS = 4096, 50
"""A page with this many tags in its first bytes is not a challenge, which begins with scripts and styles."""
LITTLE_TEXT = 700
"""Characters that a page shows which only tells its visitor to prove something."""

TITLE_BYTES = 200
"""How much of a title is read."""

_ASKING = frozenset({429, 503})
_CHALLENGING = frozenset({200, 202, 203, 405, 428})
"""Statuses besides errors with which challenges come."""
_DECISIVE_HEADERS = {
    "cf-mitigated": BlockKind.CLOUDFLARE,  # "challenge": Cloudflare docs, "Detect a challenge page response"
    "x-amzn-waf-action": BlockKind.AWS_WAF,  # "challenge" or "captcha", the AWS WAF developer guide
    "x-dd-b": BlockKind.DATADOME,
}
_HINTING_HEADERS = {
    "x-datadome": BlockKind.DATADOME,
    "x-px-blocked": BlockKind.HUMAN,
    "x-iinfo": BlockKind.IMPERVA,
    "x-kpsdk-ct": BlockKind.KASADA,
}
"""On every answer of a site that a vendor protects: with an error, it is probably the vendor's."""

_MARKS: tuple[tuple[bytes, BlockKind], ...] = (
    (b"_cf_chl_opt", BlockKind.CLOUDFLARE),
    (b"<title>just a moment...</title>", BlockKind.CLOUDFLARE),
    (b"cf-browser-verification", BlockKind.CLOUDFLARE),
    (b"/challenge-platform/h/b/orchestrate/", BlockKind.CLOUDFLARE),
    (b"/challenge-platform/h/g/orchestrate/", BlockKind.CLOUDFLARE),
    (b"<title>attention required! | cloudflare</title>", BlockKind.CLOUDFLARE),
    (b"sec-if-cpt-container", BlockKind.AKAMAI),
    (b"/_sec/cp_challenge/", BlockKind.AKAMAI),
    (b"bm-verify=", BlockKind.AKAMAI),
    (b"captcha-delivery.com/", BlockKind.DATADOME),
    (b"px-captcha", BlockKind.HUMAN),
    (b"captcha.px-cdn.net", BlockKind.HUMAN),
    (b"captcha.px-cloud.net", BlockKind.HUMAN),
    (b'"blockscript":', BlockKind.HUMAN),
    (b"incapsula incident id", BlockKind.IMPERVA),
    (b"&incident_id=", BlockKind.IMPERVA),
    (b"<title>pardon our interruption</title>", BlockKind.IMPERVA),
    (b"distil_r_captcha", BlockKind.IMPERVA),
    (b"gokuprops", BlockKind.AWS_WAF),
    (b"kpsdk.scriptstart", BlockKind.KASADA),
)
"""Marks that appear only on pages that refuse or test a visitor; in lower case."""
_REFUSAL_MARKS: tuple[tuple[bytes, BlockKind], ...] = (
    (b"sorry, you have been blocked", BlockKind.CLOUDFLARE),
    (b"cf-error-code", BlockKind.CLOUDFLARE),
    (b"errors.edgesuite.net", BlockKind.AKAMAI),
    (b"reference&#32;&#35;", BlockKind.AKAMAI),
)
"""Marks of a vendor's error pages: with a refusing status, the vendor refuses."""
_SENSORS: tuple[tuple[bytes, BlockKind], ...] = (
    (b"_pxappid", BlockKind.HUMAN),
    (b"_incapsula_resource", BlockKind.IMPERVA),
    (b"kpsdk", BlockKind.KASADA),
    (b"token.awswaf.com", BlockKind.AWS_WAF),
)
"""On every page of a site that a vendor protects: with a status that refuses, it is probably the vendor's."""
_RARE = (b"captcha", b"challenge", b"bm-verify", b"incapsula", b"kpsdk")
"""One of them is on every page of a vendor's that comes with a success: five looks instead of forty."""
_CAPTCHAS = (
    b"g-recaptcha",
    b"/recaptcha/api",
    b"/recaptcha/enterprise",
    b"h-captcha",
    b"hcaptcha.com/",
    b"cf-turnstile",
    b"/turnstile/v0/",
    b"arkoselabs.com",
    b"funcaptcha",
    b"geetest",
    b"validatecaptcha",
    b"friendlycaptcha",
    b"mtcaptcha",
    b"captcha",
)
_WORDS = (
    rb"access (?:to this (?:page|site|website) )?(?:has been |is |was )?(?:denied|blocked)",
    rb"you (?:have been|are|were) (?:temporarily )?blocked|request (?:was |has been )?blocked",
    rb"unusual (?:traffic|activity)|automated (?:access|requests|queries)|suspicious activity",
    rb"(?:are you|you are|you're|not) (?:not )?a (?:ro)?bot|bot (?:detected|detection)",
    rb"(?:verify|prove|confirm)(?: that)? you(?: are|'re) (?:a )?human|human verification",
    rb"security (?:check|verification)|checking your browser|enable javascript and cookies",
    rb"pardon our interruption|press (?:&amp;|&|and) hold",
)
"""Regular expressions of what pages say that refuse a visitor."""
_UNSEEN = (b"script", b"style", b"noscript", b"head")
"""Elements whose text no visitor reads."""


_LOG_IN = (
    *(r"log[-_]?in", r"log[-_]?on", r"sign[-_]?in", r"sign[-_]?on", "sso", "auth", "authenticate"),
    *("session/new", "wp-login"),
)
_CHALLENGE = (
    *("sorry/index", "validatecaptcha", "recaptcha", "cdn-cgi/challenge", "_sec/cp_challenge", "px/captcha"),
    *("distil_r_captcha", "distil_r_blocked", "_incapsula_resource", "human-verification"),
    *("are-you-(?:a-)?human", "verify-human", "bot-?check", "robot-?check"),
)
_MAYBE_CHALLENGE = ("captcha", "challenge", "blocked")
_name_of = itemgetter(0)
_WAYS_OUT = (
    (_CHALLENGE, BlockKind.CHALLENGE, True),
    (_MAYBE_CHALLENGE, BlockKind.CHALLENGE, False),  # there are pages of these names for everybody
    (_LOG_IN, BlockKind.LOG_IN, False),  # members' pages lead there
)
"""Regular expressions of the last parts of paths to which redirects lead."""
_PATH = r"(?:[a-z][a-z0-9+.-]*:)?(?://[^/?#]*)?([^?#]*)"


class BlockRules(Record, frozen=True, kw_only=True):
    """The markers to look for on a page."""

    is_detected: bool = True  # False: only the status counts, as ever
    marks: tuple[bytes, ...] = ()  # further texts that refuse us, in lower case


def find_block(fetched: FetchResult, rules: BlockRules) -> Block | None:
    """That an answer refuses us; ``None``: nothing says so.

    Costs a page that is large, or has more than a few links, next to nothing.
    """
    if not rules.is_detected:
        return None
    status, marks = fetched.status, rules.marks
    if not _DECISIVE_HEADERS.keys().isdisjoint(map(_name_of, fetched.headers)):
        name, value = next(field for field in fetched.headers if field[0] in _DECISIVE_HEADERS)
        return Block(kind=_DECISIVE_HEADERS[name], detail=f"the header {name}: {value[:60]}")
    if status >= 400:
        hints = [_HINTING_HEADERS[name] for name, _ in fetched.headers if name in _HINTING_HEADERS]
        return _find_in_error(fetched, marks, hints[-1] if hints else None)
    body = fetched.body
    if status not in _CHALLENGING or not body:
        return None
    if _is_small(body) and _is_html(fetched) and (found := _find_on_small_page(body.lower())):
        return found
    return _find_own(body[:LOOKED_AT_BYTES].lower(), marks) if marks else None


def _is_small(body: bytes) -> bool:
    """Whether a page might be a challenge; of most pages only the beginning is looked at."""
    if len(body) > SMALL_BYTES or len(body[:HEAD_BYTES].split(b"<", HEAD_TAGS)) > HEAD_TAGS:
        return False
    return body.count(b"<") <= FEW_TAGS and body.count(b"<a ") <= FEW_LINKS


# Compiled where a page needs them: most crawls meet none.


@cache
def _words() -> re.Pattern[bytes]:
    return re.compile(b"|".join(_WORDS))


@cache
def _path() -> re.Pattern[str]:
    return re.compile(_PATH, re.IGNORECASE)


@cache
def _last_parts(words: tuple[str, ...]) -> re.Pattern[str]:
    """Compile a pattern for paths that contain one of these parts as their end or as a folder."""
    return re.compile(rf"(?i)(?:^|/)(?:{'|'.join(words)})(?:\.\w{{2,5}})?(?:/|$)")


def find_redirect_block(url: str, location: str) -> Block | None:
    """Return the block of a redirect to a log-in or test page; such pages themselves may redirect there."""
    path, target = _path_of(url), _path_of(location)
    for words, kind, is_certain in _WAYS_OUT:
        pattern = _last_parts(words)
        if pattern.search(target) and not pattern.search(path):
            return Block(kind=kind, detail=f"redirects to {target[:100]}", is_certain=is_certain)
    return None


def _path_of(url: str) -> str:
    """The path as it is written; a Location may be anything."""
    match = _path().match(url.strip())
    return match[1] if match else ""


def _find_in_error(fetched: FetchResult, marks: Sequence[bytes], hint: BlockKind | None) -> Block | None:
    """Find a block on an error page. A demand to wait is believed, unless a challenge names no time."""
    status, text = fetched.status, fetched.body[:LOOKED_AT_BYTES].lower()
    where = f"status {status} with "
    if status in _ASKING and fetched.header("retry-after"):
        return _find_own(text, marks)
    found = _find_mark(text, _MARKS, where) or _find_own(text, marks)
    if found is not None or status not in REFUSING:
        return found
    return _find_mark(text, _REFUSAL_MARKS, where) or _find_hints(status, text, hint)


def _find_hints(status: int, text: bytes, hint: BlockKind | None) -> Block | None:
    """On the page of a status that refuses, without a mark that proves who does."""
    shown = _visible_text(text)
    is_short = len(shown) <= LITTLE_TEXT
    if is_short and (captcha := _first_of(_CAPTCHAS, text)):
        return Block(kind=BlockKind.CAPTCHA, detail=f"status {status} with {_shown(captcha)}")
    if hint is None and (sensor := _find_mark(text, _SENSORS)):
        hint = sensor.kind
    if hint is not None:
        return Block(kind=hint, detail=f"status {status} of a site it protects", is_certain=False)
    if status == 401:  # asks for a password, as RFC 9110 means it
        return None
    if is_short and (words := _words().search(shown)):
        detail = f"status {status} and {_shown(words[0])}"
        return Block(kind=BlockKind.WORDS, detail=detail, is_certain=False)
    return Block(kind=BlockKind.STATUS, detail=f"status {status}", is_certain=False)


def _find_on_small_page(text: bytes) -> Block | None:
    """On the page of a success, in lower case, which might be a challenge."""
    is_active = b"<script" in text or b"<iframe" in text
    if is_active and any(word in text for word in _RARE):
        if found := _find_mark(text, _MARKS):
            return found
        if captcha := _first_of(_CAPTCHAS, text):
            shown = _visible_text(text)
            if len(shown) <= LITTLE_TEXT and (words := _words().search(shown)):
                return Block(kind=BlockKind.CAPTCHA, detail=f"{_shown(captcha)} and {_shown(words[0])}")
    title = text.find(b"<title")
    words = _words().search(text[title : title + TITLE_BYTES]) if title >= 0 else None
    if words is None or len(_visible_text(text)) > LITTLE_TEXT:
        return None
    return Block(kind=BlockKind.WORDS, detail=f"the title says {_shown(words[0])}", is_certain=False)


def _find_mark(text: bytes, marks: Sequence[tuple[bytes, BlockKind]], where: str = "") -> Block | None:
    found = next(((mark, kind) for mark, kind in marks if mark in text), None)
    return None if found is None else Block(kind=found[1], detail=where + _shown(found[0]))


def _find_own(text: bytes, marks: Sequence[bytes]) -> Block | None:
    """By the operator's own marks."""
    own = _first_of(marks, text)
    return None if own is None else Block(kind=BlockKind.WORDS, detail=f"{_shown(own)} (blocks.marks)")


def _first_of(marks: Sequence[bytes], text: bytes) -> bytes | None:
    return next((mark for mark in marks if mark in text), None)


def _shown(mark: bytes) -> str:
    return repr(mark.decode("utf-8", "replace"))


def _visible_text(text: bytes) -> bytes:
    """Return roughly the visible text of a page that may be cut off. Runs in linear time."""
    shown: list[bytes] = []
    at = 0
    while (tag := text.find(b"<", at)) >= 0:
        shown.append(text[at:tag])
        name = next((name for name in _UNSEEN if _begins_tag(text, tag, name)), None)
        if name is not None:
            end = text.find(b"</" + name, tag)
        else:
            end = text.find(b"-->", tag) if text.startswith(b"<!--", tag) else tag
        at = text.find(b">", end) + 1 if end >= 0 else 0
        if not at:
            break
    else:
        shown.append(text[at:])
    return b" ".join(b" ".join(shown).split())


def _begins_tag(text: bytes, at: int, name: bytes) -> bool:
    """Whether ``<name`` stands there, and no longer name: ``<header`` is not ``<head``."""
    after = at + 1 + len(name)
    return text.startswith(name, at + 1) and not text[after : after + 1].isalnum()


def _is_html(fetched: FetchResult) -> bool:
    return "html" in (fetched.content_type or "text/html")
