"""How often a page is worth another look. Pure.

Changes of a page are taken for a Poisson process (Cho and Garcia-Molina, "Estimating frequency of change",
2003). The estimate of its rate is a Gamma distribution, which begins as that of all pages of the spider.
A check says whether the page changed *at least once* since the check before. That it did not is conjugate:
the span grows by the time between. That it did is not, since several changes look like one; the exact
posterior is then replaced by the Gamma of the same mean and variance, which keeps the estimate of pages that
change faster than they are looked at from settling at one change a check.

The interval between two checks is that in which a page is expected to change ``tempo`` times. For a given
number of requests this finds the most changes: with checks at ``f`` a day a page of rate ``r`` gives
``f * (1 - exp(-r / f))`` changes a day, and the derivative of that depends on ``r / f`` alone, so that all
pages have to have it in common. (To keep copies fresh, which is another aim, one would leave alone the pages
that change too fast.) Where a number of requests a day is given, the tempo is chosen so that all pages
together come to it.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from math import expm1, inf, log, log1p, log2

import msgspec
from msgspec.structs import replace

from gossamer.core.drops import DropKind
from gossamer.core.freshness import NOT_DUE, KnownPage, RateEstimate
from gossamer.core.jobs import JobTotals
from gossamer.core.record import Record
from gossamer.core.requests import Entry, Request
from gossamer.policy.urls import fingerprint_of

TEMPO = log(2.0)
"""Changes expected between two checks without a budget: it is as likely as not that there was one."""
PRIOR_SHAPE = 0.5
"""Shape of the initial distribution: pages differ widely."""
DAY_S = 86_400.0
CLASSES = 4
"""Classes of rates for each doubling: a class stands for its rates within a tenth."""
LEAST_RATE = 1e-12
"""The smallest distinct rate, in changes per second: one in 30,000 years."""
BOUND_SHARE = 0.15
"""So much of a number of checks a day is spent, at most, because of the upper bound of intervals alone."""
GONE_S = 365 * DAY_S
"""The longest time between two looks at a page that is gone."""
_STEPS = 60
_AGAIN = 0x1F83D9ABFB41BD6B


class FreshnessRules(Record, frozen=True, kw_only=True):
    """Within which bounds pages are looked at again, and how they are thought to change at first."""

    min_interval_s: float
    max_interval_s: float
    prior: RateEstimate
    tempo: float = TEMPO  # changes of a page that are expected between two checks


class CheckedPage(Record, frozen=True, kw_only=True):
    """The result of checking a page."""

    at: float
    job: str  # the id of the job
    request: str = ""  # how it was asked for; empty: as before
    body_hash: int = 0
    etag: str = ""
    modified: str = ""


# --------------------------------------------------------------------------- pages


def known_fingerprint_of(request: Request) -> int:
    """Return the identity of a known page, equal in all jobs, for a request with a canonical URL."""
    return fingerprint_of(request.method, request.url, request.body, b"", request.session)


def again_of(entry: Entry) -> Entry:
    """Another request for the page of an entry, which a job makes once, besides the usual one."""
    return replace(entry, fingerprint=entry.fingerprint ^ _AGAIN)


def asks_same(request: Request, former: Request, own_meta: Collection[str] = ()) -> bool:
    """Whether this request would handle the same answer as the page's former request did.

    ``own_meta``: names in ``meta`` that are not the spider's.
    """
    return _callback_of(request) == _callback_of(former) and not _differs(request, former, own_meta)


def brings_news(request: Request, former: Request, own_meta: Collection[str] = ()) -> bool:
    """Whether a link to a page brings its callback something new, from the page that has the link."""
    return _callback_of(request) == _callback_of(former) and _differs(request, former, own_meta)


def _callback_of(request: Request) -> str:
    return str(request.callback or "parse")


def _differs(request: Request, former: Request, own_meta: Collection[str]) -> bool:
    brought, known = _brought_by(request, own_meta), _brought_by(former, own_meta)
    return brought != known and _as_kept(brought) != _as_kept(known)


def _brought_by(request: Request, own_meta: Collection[str]) -> tuple[object, ...]:
    meta = {name: value for name, value in request.meta.items() if name not in own_meta}
    return request.cb_kwargs, meta, request.headers, request.session, request.omit_headers


def _as_kept(brought: object) -> bytes:
    """As it is stored, where a tuple is a list."""
    return msgspec.json.encode(brought, order="deterministic")


# --------------------------------------------------------------------------- the rate of one page


def prior_for(interval_s: float) -> RateEstimate:
    """Return the estimate for a page seen once, if pages change about once in ``interval_s``."""
    return RateEstimate(shape=PRIOR_SHAPE, span_s=PRIOR_SHAPE * max(interval_s, 1e-3))


def update_rate(rate: RateEstimate, elapsed_s: float, *, has_changed: bool) -> RateEstimate:
    """Return the estimate of the rate after a check, ``elapsed_s`` after the previous one."""
    if elapsed_s <= 0:
        return rate
    if not has_changed:
        return RateEstimate(shape=rate.shape, span_s=rate.span_s + elapsed_s)
    a, b = rate.shape, rate.span_s
    kept = -log1p(elapsed_s / b)  # the logarithm of b / (b + elapsed)
    none, one, two = (-expm1((a + n) * kept) for n in (0, 1, 2))
    mean = a / b * one / none
    square = a * (a + 1) / (b * b) * two / none
    variance = square - mean * mean
    if variance <= 0:
        return rate
    return RateEstimate(shape=mean * mean / variance, span_s=mean / variance)


def choose_interval(rate: RateEstimate, rules: FreshnessRules) -> float:
    """Seconds until a page is worth another look."""
    return min(max(rules.tempo / max(rate.per_s, LEAST_RATE), rules.min_interval_s), rules.max_interval_s)


# --------------------------------------------------------------------------- all pages of a spider


def rate_class_of(rate: RateEstimate) -> int:
    """The class of a rate, by which stores count pages."""
    return round(CLASSES * log2(max(rate.per_s, LEAST_RATE)))


def prior_of(classes: Mapping[int, int], fallback: RateEstimate) -> RateEstimate:
    """Return the estimate for a new page of a spider: the mean of its pages' classes."""
    pages = sum(classes.values())
    if not pages:
        return fallback
    mean = sum(count * _rate_of(number) for number, count in classes.items()) / pages
    return RateEstimate(shape=PRIOR_SHAPE, span_s=PRIOR_SHAPE / mean)


def fit_rules(classes: Mapping[int, int], rules: FreshnessRules, per_day: float) -> FreshnessRules:
    """The rules by which pages of these classes come to ``per_day`` checks a day.

    The upper bound of intervals is for pages that hardly change. If keeping it for all pages would take more
    than ``BOUND_SHARE`` of the checks, it is raised, because those checks find more changes elsewhere.
    """
    bound_s = sum(classes.values()) * DAY_S / max(BOUND_SHARE * per_day, LEAST_RATE)
    rules = replace(rules, max_interval_s=max(rules.max_interval_s, bound_s))
    return replace(rules, tempo=choose_tempo(classes, rules, per_day))


def choose_tempo(classes: Mapping[int, int], rules: FreshnessRules, per_day: float) -> float:
    """The tempo at which pages of these classes come to ``per_day`` checks a day, within the bounds.

    Found by halving: the checks a day fall as the tempo grows.
    """
    if not classes:
        return rules.tempo
    low, high = 1e-9, 1e15
    for _ in range(_STEPS):
        middle = (low * high) ** 0.5
        if checks_per_day(classes, replace(rules, tempo=middle)) > per_day:
            low = middle
        else:
            high = middle
    return high


def checks_per_day(classes: Mapping[int, int], rules: FreshnessRules) -> float:
    """How many checks a day pages of these classes come to."""
    total = 0.0
    for number, count in classes.items():
        interval_s = rules.tempo / _rate_of(number)
        total += count * DAY_S / max(min(max(interval_s, rules.min_interval_s), rules.max_interval_s), 1e-9)
    return total


def _rate_of(number: int) -> float:
    return float(2.0 ** (number / CLASSES))


# --------------------------------------------------------------------------- a page after a check


def note_check(page: KnownPage, found: CheckedPage, rules: FreshnessRules) -> KnownPage:
    """The page after a check that brought its bytes, or another answer that stands for them."""
    is_first = page.checks == 0
    has_changed = not is_first and (page.body_hash != found.body_hash or page.gone_at is not None)
    rate = rules.prior if is_first else _rate_after(page, found.at, has_changed=has_changed)
    return _with_interval(
        page,
        found,
        rate,
        rules,
        body_hash=found.body_hash,
        changed_at=found.at if has_changed else page.changed_at,
        changes=page.changes + has_changed,
    )


def note_again(page: KnownPage, found: CheckedPage) -> KnownPage:
    """Return the page after the same crawl has fetched it again, for example after a lost lease.

    The estimate of its rate stays: a page that differs after some seconds differs on every fetch, which says
    nothing about its changes.
    """
    return replace(
        page,
        request=found.request or page.request,
        etag=found.etag,
        modified=found.modified,
        body_hash=found.body_hash,
        checked_at=found.at,
        changed_at=found.at if page.has_changed else page.changed_at,
        due_at=found.at + page.interval_s,
    )


def note_unchanged(page: KnownPage, found: CheckedPage, rules: FreshnessRules) -> KnownPage:
    """The page after the host has said that it is as it was (status 304)."""
    rate = _rate_after(page, found.at, has_changed=False)
    # The answer names its validators again (RFC 9110, 15.4.5), if at all.
    kept = replace(found, etag=found.etag or page.etag, modified=found.modified or page.modified)
    return _with_interval(page, kept, rate, rules)


def note_unread(page: KnownPage) -> KnownPage:
    """A page that was fetched, and whose callback another worker runs later, or never.

    Until then it stays due, and is asked for whole: it must not be taken for unchanged before it was read.
    """
    return replace(page, etag="", modified="", due_at=page.checked_at)


def note_read(page: KnownPage, etag: str, modified: str) -> KnownPage:
    """Return the page after its callback has read the checked answer."""
    return replace(page, etag=etag, modified=modified, due_at=page.checked_at + page.interval_s)


def note_gone(page: KnownPage, found: CheckedPage, rules: FreshnessRules) -> KnownPage:
    """Return the page after the host has reported it as missing: it is checked ever more rarely."""
    interval_s = max(2 * page.interval_s, rules.min_interval_s)
    if page.gone_at is None:
        interval_s = max(choose_interval(page.rate, rules), rules.min_interval_s)
    interval_s = min(interval_s, max(GONE_S, rules.max_interval_s))
    return replace(
        page,
        job=found.job,
        request=found.request or page.request,
        etag="",
        modified="",
        checked_at=found.at,
        checks=page.checks + 1,
        interval_s=interval_s,
        due_at=found.at + interval_s,
        gone_at=found.at if page.gone_at is None else page.gone_at,
    )


def _rate_after(page: KnownPage, at: float, *, has_changed: bool) -> RateEstimate:
    return update_rate(page.rate, at - page.checked_at, has_changed=has_changed)


def _with_interval(
    page: KnownPage, found: CheckedPage, rate: RateEstimate, rules: FreshnessRules, **changes: float
) -> KnownPage:
    interval_s = choose_interval(rate, rules)
    return replace(
        page,
        job=found.job,
        request=found.request or page.request,
        etag=found.etag,
        modified=found.modified,
        checked_at=found.at,
        checks=page.checks + 1,
        rate=rate,
        interval_s=interval_s,
        due_at=found.at + interval_s,
        gone_at=None,
        **changes,
    )


def is_due(page: KnownPage, now: float, lastmod: float = 0.0) -> bool:
    """Whether a page is worth a look; ``lastmod``: when a sitemap or a feed says that it changed (0: none).

    A page that was not seen yet always is; of one that has such a time, that decides, unless it is nonsense.
    """
    if page.checks == 0:
        return True
    return page.checked_at < lastmod if 0 < lastmod <= now + 2 * DAY_S else page.due_at <= now


def is_partial(totals: JobTotals) -> bool:
    """Whether a job left out pages that had not changed, or were not due."""
    return totals.unchanged > 0 or DropKind.LINK.key_of(NOT_DUE) in totals.dropped


def due_before(now: float, *, visits_all: bool) -> float:
    """Pages that are due until then are visited by a crawl that begins now."""
    return inf if visits_all else now
