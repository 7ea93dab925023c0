"""Admits requests to the frontier: canonical form, scope, fingerprint and politeness key.

Seeding and the worker share it, so that a seed, a link and a redirect pass the same checks. Pages of a site
repeat most of their links, so it remembers the decision on each URL, and the fingerprints that are certainly
in the frontier: those need not be offered again.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Sequence

from gossamer.core.drops import DropKind
from gossamer.core.requests import LAST, Entry, Request
from gossamer.core.results import FetchResult, ItemRecord, PageReading
from gossamer.core.shifts import PAGE_LANE
from gossamer.engine.trap_meter import GROUPS_WITH_LIMITS, ReadPage, TrapMeter
from gossamer.policy import urls
from gossamer.policy.budgets import BudgetOverrun
from gossamer.policy.credentials import claim_credentials
from gossamer.policy.scope import OFFSITE, Scope
from gossamer.policy.traps import TrapCounter
from gossamer.policy.urls import UrlOptions
from gossamer.runtime.clock import SystemClock

REMEMBERED = 100_000
"""URLs and fingerprints kept in memory (about 25 MB of each at most); beyond it, memory starts anew."""

Place = tuple[str, int, str]
"""Canonical URL, fingerprint and politeness key."""


class Admission:
    """Decides which requests of one job are accepted.

    ``key`` keys its fingerprints; ``lanes`` are the kinds of worker the job has, since a request that no
    worker takes would wait forever; ``max_depth`` is the frontier's own bound. ``lane_for`` chooses among the
    lanes by a request and its host. Without ``takes_files`` requests for files are refused. ``find_overrun``
    names the spent budget for which a link is not taken, or goes last, by its URL, its depth, and whether it
    is to a file. ``now`` is the frontier's time, from which requests with a delay wait.
    ``authorized`` are origins that get the credentials of start URLs anyway.
    """

    def __init__(
        self,
        scope: Scope,
        options: UrlOptions,
        key: bytes,
        *,
        lanes: Collection[str] = (PAGE_LANE,),
        max_depth: int | None = None,
        traps: TrapCounter | None = None,
        meter: TrapMeter | None = None,
        find_overrun: Callable[[str, int, bool], BudgetOverrun | None] | None = None,
        lane_for: Callable[[Request, str], str] | None = None,
        takes_files: bool = True,
        now: Callable[[], float] | None = None,
        authorized: Collection[str] = (),
    ) -> None:
        self._scope = scope
        self.traps = traps or TrapCounter()
        self.meter = meter  # None: no pattern has a budget that all workers share
        self._lanes = frozenset(lanes)
        self.max_depth = max_depth
        self._options = options
        self._key = key
        self._lane_for = lane_for
        self._find_overrun = find_overrun
        self._takes_files = takes_files
        self._authorized = authorized
        self._now = now or SystemClock().now
        self._places: dict[str, Place | str] = {}
        self._inside: set[int] = set()

    def __repr__(self) -> str:
        return f"<Admission by {self._scope!r}, {len(self._inside)} known to be inside>"

    def fingerprint_of(self, request: Request) -> int | None:
        """Return the fingerprint of a request in the job; ``None`` if the request does not belong to it."""
        place = self.place_of(request)
        return None if isinstance(place, str) else place[1]

    def admit_request(self, request: Request) -> Entry | str:
        """Return the entry to add, or the reason (a short word) why not."""
        place = self.place_of(request)
        if isinstance(place, str):
            return place
        url, fingerprint, host = place
        if "@" in request.url:
            request = claim_credentials(request, self._authorized)
        if url != request.url or request.meta or request.cb_kwargs or request.headers:
            request = request.replace(url=url)  # with its own dicts: `start()` may continue to use the others
        if self._lane_for is not None:
            request = request.replace(lane=self._lane_for(request, host))
        return self._make_entry(request, fingerprint, host)

    def admit_links(
        self, parent: Request, requests: Iterable[Request], dropped: dict[str, int]
    ) -> tuple[Entry, ...]:
        """Return the entries of a page's requests, one hop deeper than the page, each fingerprint once.

        Refusals are counted into ``dropped``. Requests that are certainly in the frontier are skipped.
        """
        entries: list[Entry] = []
        taken: set[int] = set()
        depth, via = parent.depth + 1, parent.url
        meter = self._find_meter(parent)
        refused: dict[str, int] = {}
        if self.max_depth is not None and depth > self.max_depth:
            requests = _leave_out_pages(requests, dropped)
        for request in requests:
            place = self.place_of(request)
            if isinstance(place, str):
                self._note_refusal(request.url, place, refused)
                continue
            url, fingerprint, host = place
            if not request.dont_filter:
                if fingerprint in taken or fingerprint in self._inside:
                    continue
                taken.add(fingerprint)
            is_file = request.saves is not None
            trap = None if meter is None or is_file else meter.find_trap(url, via)
            if meter is not None and trap is not None and not meter.claim_probe(trap):
                _count_drops(dropped, trap.counts.rule)
                continue
            own_depth = parent.depth if is_file else depth  # a file is a part of its page
            overrun = None if self._find_overrun is None else self._find_overrun(url, own_depth, is_file)
            if overrun is not None and not overrun.is_last:
                _count_drops(dropped, f"budget_{overrun.name}")
                continue
            if "@" in request.url:
                request = claim_credentials(request, self._authorized)  # noqa: PLW2901 - the same one
            lane = request.lane if self._lane_for is None else self._lane_for(request, host)
            priority = request.priority if overrun is None else LAST
            child = request.replace(
                url=url, depth=own_depth, via=via, lane=lane, priority=priority, is_trap_probe=bool(trap)
            )
            entries.append(self._make_entry(child, fingerprint, host))
        for reason, count in refused.items():
            _count_drops(dropped, reason, count)
        return tuple(entries)

    def _note_refusal(self, url: str, reason: str, refused: dict[str, int]) -> None:
        refused[reason] = refused.get(reason, 0) + 1
        if self.meter is not None and reason in GROUPS_WITH_LIMITS:
            self.meter.note_refusal(urls.canonicalise_url(url, self._options) or "", reason)

    def _find_meter(self, parent: Request) -> TrapMeter | None:
        """Return the meter, if it may refuse links of a page. It learns which hosts a person has named."""
        if self.meter is not None and not parent.via:
            self.meter.note_seed(parent.url)
        return self.meter if self.meter is not None and self.meter.has_traps else None

    def count_page(
        self,
        request: Request,
        fetched: FetchResult,
        items: Sequence[ItemRecord],
        entries: Sequence[Entry],
        read_text: Callable[[], PageReading] | None,
    ) -> None:
        """Learn the value of URLs from the results of a page."""
        if self.meter is not None and request.method == "GET":
            body, size, is_probe = fetched.body, fetched.wire_bytes, request.is_trap_probe
            page = ReadPage(request.url, body, size, request.via, items, entries, read_text, is_probe)
            self.meter.observe_page(page)

    def remember_entries(self, entries: Iterable[Entry]) -> None:
        """Remember that these entries are in the frontier now, durably."""
        if len(self._inside) > REMEMBERED:
            self._inside.clear()
        self._inside.update(entry.fingerprint for entry in entries if not entry.request.dont_filter)

    def place_of(self, request: Request) -> Place | str:
        """Return the place of a request in the job, or the reason (a short word) why it has none."""
        if request.lane not in self._lanes:
            return "lane"
        if request.saves is not None:
            return self._place_file(request)
        if (
            request.method != "GET"
            or request.body
            or request.unique_key
            or request.is_anywhere
            or request.session
        ):
            return self._check_request(request)
        place = self._places.get(request.url)
        if place is None:
            place = self._check_request(request)
            if "#" in request.url:  # whether it counts is the request's to say
                return place
            if len(self._places) > REMEMBERED:
                self._places.clear()
            self._places[request.url] = place
        return place

    def _place_file(self, request: Request) -> Place | str:
        """Place a file, which belongs to the page that names it, on any host."""
        if not self._takes_files:
            return "file"
        canonical = urls.canonicalise_url(request.url, self._options, keep_fragment=False)
        if canonical is None:
            return "bad_url"
        fingerprint = urls.fingerprint_of(request.method, canonical, request.body, self._key, request.session)
        return canonical, urls.file_twin_of(fingerprint), urls.host_key(canonical)

    def _make_entry(self, request: Request, fingerprint: int, host: str) -> Entry:
        """Make the entry, with the time at which the page changed, and the delay of its request."""
        if not (request.lastmod or request.delay):
            return Entry(request=request, fingerprint=fingerprint, host=host)
        return Entry(
            request=request.replace(lastmod=0.0, delay=None),
            fingerprint=fingerprint,
            host=host,
            due_at=self._now() + request.delay if request.delay else 0.0,
            lastmod=request.lastmod,
        )

    def canonicalise(self, request: Request) -> str | None:
        """Return the canonical URL of a request of the job; ``None``: it has none."""
        if "#" not in request.url:
            return urls.canonicalise_url(request.url, self._options)
        return urls.canonicalise_request(request, self._options)

    def _check_request(self, request: Request) -> Place | str:
        canonical = self.canonicalise(request)
        if canonical is None:
            return "bad_url"
        refused = self._scope.check_url(canonical)
        if refused is not None and not (request.is_anywhere and refused == OFFSITE):
            return refused
        known_as = request.unique_key or canonical
        fingerprint = urls.fingerprint_of(request.method, known_as, request.body, self._key)
        place = canonical.partition("#")[0] if "#" in canonical else canonical
        trap = self.traps.check_url(place, fingerprint)
        if trap is not None:
            return trap
        if request.session and not request.unique_key:  # a key of the spider's is the whole identity
            fingerprint = urls.fingerprint_of(
                request.method, canonical, request.body, self._key, request.session
            )
        return canonical, fingerprint, urls.host_key(canonical)


def _leave_out_pages(requests: Iterable[Request], dropped: dict[str, int]) -> list[Request]:
    """Return the files among requests that are too deep: they belong to a page that is not.

    The frontier does not decide this, since refused requests must not be remembered as being inside.
    """
    files = []
    for request in requests:
        if request.saves is None:
            _count_drops(dropped, "too_deep")
        else:
            files.append(request)
    return files


def _count_drops(dropped: dict[str, int], reason: str, count: int = 1) -> None:
    key = DropKind.LINK.key_of(reason)
    dropped[key] = dropped.get(key, 0) + count
