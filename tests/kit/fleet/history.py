"""The history check: a site's own log of requests, the store and the ledger must agree.

This holds after any disturbance of the crawl: every page was fetched and is stored exactly once, the items
are those of the truth, only pages in flight at a kill were fetched twice, and every fetch in the ledger is in
the site's log. `judge` names the URLs that do not fit.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise

from kit.fleet.serving import Asked
from kit.fleet.site import Truth
from kit.fleet.stored import Stored, Tried

SHOWN = 8
"""URLs or items that a complaint names."""


def learnt(hits: Iterable[Asked], stored: Stored) -> Truth:
    """Return the truth of an unplanned site, by an undisturbed crawl of it in one process."""
    answers: dict[str, list[int]] = defaultdict(list)
    for hit in hits:
        if hit.path != "/robots.txt":
            answers[hit.url].append(hit.status)
    given = {url: tuple(statuses) for url, statuses in answers.items()}
    return Truth(frozenset(stored.pages), given, frozenset(stored.items))


def judge(truth: Truth, hits: Sequence[Asked], stored: Stored, *, refetched: int = 0) -> None:
    """Hold the log, the store and the ledger against the truth, and against one another.

    ``refetched`` is how many requests may have been made once more: kills x leases in flight.
    """
    found = [*fetched_as_planned(truth, hits, refetched), *stored_once(truth, stored)]
    found += told_by_ledger(truth, hits, stored.ledger, refetched)
    assert not found, f"{len(found)} complaints about {len(hits)} requests:\n" + "\n".join(found)


# --------------------------------------------------------------------------- the parts


def fetched_as_planned(truth: Truth, hits: Sequence[Asked], refetched: int) -> Iterator[str]:
    """The site's log against the truth."""
    asked = Counter(hit.url for hit in hits if hit.path != "/robots.txt")
    yield from complaint("never fetched", truth.answers.keys() - asked.keys())
    forbidden = asked.keys() & truth.denied
    yield from complaint("fetched although robots.txt forbids it", forbidden)
    yield from complaint("fetched, but no link leads there", asked.keys() - truth.answers.keys() - forbidden)
    extra = again(truth, hits)
    if (total := sum(extra.values())) > refetched:
        shown = [f"{url} ({count} more)" for url, count in extra.most_common()]
        yield from complaint(f"{total} requests were made again, {refetched} may be", shown)


def again(truth: Truth, hits: Iterable[Asked]) -> Counter[str]:
    """Requests that an undisturbed crawl would not have made, by URL."""
    asked = Counter(hit.url for hit in hits if hit.path != "/robots.txt")
    extra = {url: count - len(truth.answers[url]) for url, count in asked.items() if url in truth.answers}
    return Counter({url: count for url, count in extra.items() if count > 0})


def stored_once(truth: Truth, stored: Stored) -> Iterator[str]:
    """Pages and items against the truth."""
    pages, items = Counter(stored.pages), Counter(stored.items)
    yield from complaint("pages lost: not in the store", truth.pages - pages.keys())
    yield from complaint("pages in the store that are none", pages.keys() - truth.pages)
    yield from complaint("pages stored more than once", twice(pages))
    yield from complaint("items lost: not in the export", truth.items - items.keys())
    yield from complaint("items in the export that are none", items.keys() - truth.items)
    yield from complaint("items exported more than once", twice(items))


def told_by_ledger(
    truth: Truth, hits: Sequence[Asked], ledger: Sequence[Tried], refetched: int
) -> Iterator[str]:
    """The ledger against the site's log: no claim without a request, no end but the true one."""
    asked = Counter(hit.url for hit in hits)
    tries = [tried for tried in ledger if tried.status]
    told = Counter(tried.url for tried in tries)
    shown = [f"{url} ({told[url]} rows, {asked[url]} requests)" for url in told - asked]
    yield from complaint("answers in the ledger that the site never gave", shown)
    ends: dict[str, int] = {}
    for tried in tries:
        ends[tried.url] = tried.status
    wrong = {
        url: f"{url} ({ends.get(url, 'no row')})"
        for url, given in truth.answers.items()
        if ends.get(url) != given[-1]
    }
    yield from complaint("not the last answer of the site in the ledger", wrong.values())
    yield from complaint("dead letters", [tried.url for tried in ledger if tried.verdict == "dead"])
    untold = asked - told
    pages = {url: count for url, count in untold.items() if not url.endswith("/robots.txt")}
    if sum(pages.values()) > refetched:
        yield from complaint(
            f"more requests without a row in the ledger than the {refetched} that may be", pages
        )


def twice(counts: Counter[str]) -> list[str]:
    """Return the duplicates."""
    return [f"{name} ({count} times)" for name, count in counts.items() if count > 1]


def complaint(what: str, about: Iterable[str]) -> Iterator[str]:
    """One line for all that is wrong in one way, if anything is."""
    named = sorted(about)
    if named:
        rest = f" ... and {len(named) - SHOWN} more" if len(named) > SHOWN else ""
        yield f"- {what}, {len(named)}: " + ", ".join(named[:SHOWN]) + rest


# --------------------------------------------------------------------------- politeness


@dataclass(frozen=True)
class Pace:
    """The spacing of requests to hosts, and the used part of the allowed rate."""

    hosts: int
    requests: int
    gaps: int
    close: Sequence[
        tuple[float, Asked]
    ]  # the gaps that were too short, shortest first, and what came too soon
    used: float  # share of the allowed requests, from the last host's first to the first host's last
    used_overall: float  # the same from the very first request to the very last
    window_s: float

    @property
    def kept(self) -> float:
        """The share of gaps that were long enough."""
        return 1 - len(self.close) / self.gaps if self.gaps else 1.0

    def __str__(self) -> str:
        shortest = ", ".join(f"{gap * 1000:.0f} ms before {hit.url}" for gap, hit in self.close[:SHOWN])
        return (
            f"{self.requests} requests at {self.hosts} hosts: {self.used:.1%} of the allowed rate used in "
            f"{self.window_s:.1f} s ({self.used_overall:.1%} overall), {self.kept:.2%} of {self.gaps} gaps "
            "long enough" + (f"; too short: {shortest}" if shortest else "")
        )


def pace(hits: Iterable[Asked], delay_s: float, *, slack: float = 0.9) -> Pace:
    """Measure the pace at every host; robots.txt is a request like any other."""
    by_host: dict[str, list[Asked]] = defaultdict(list)
    for hit in sorted(hits, key=lambda hit: hit.at):
        by_host[hit.host].append(hit)
    assert by_host, "the site got no requests"
    gaps = [(b.at - a.at, b) for asked in by_host.values() for a, b in pairwise(asked)]
    close = sorted((gap for gap in gaps if gap[0] < delay_s * slack), key=lambda gap: gap[0])
    requests = sum(map(len, by_host.values()))
    begin = max(asked[0].at for asked in by_host.values())
    end = min(asked[-1].at for asked in by_host.values())
    steady = sum(begin < hit.at <= end for asked in by_host.values() for hit in asked)
    window_s = max(end - begin, 0.0)
    allowed = len(by_host) * window_s / delay_s
    span_s = max(asked[-1].at for asked in by_host.values()) - min(asked[0].at for asked in by_host.values())
    allowed_overall = len(by_host) * (span_s / delay_s + 1)
    return Pace(
        hosts=len(by_host),
        requests=requests,
        gaps=len(gaps),
        close=close,
        used=steady / allowed if allowed else 0.0,
        used_overall=requests / allowed_overall,
        window_s=window_s,
    )
