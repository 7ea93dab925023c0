"""Crawls of endless sites without a network: their cost follows from the counts alone."""

from __future__ import annotations

import re
from collections import deque
from collections.abc import Iterator
from functools import partial
from urllib.parse import urljoin

from gossamer.callbacks.page_text import read_html
from gossamer.core.requests import Entry, Request
from gossamer.core.results import ItemRecord
from gossamer.engine.trap_counts import TrapCountStore
from gossamer.engine.trap_meter import ReadPage, TrapMeter
from gossamer.parse.html import HtmlPage
from gossamer.policy.content_memory import ContentMemory
from gossamer.policy.trap_budgets import TrapBudgetRules
from gossamer.policy.traps import DEFAULT_RULES, path_trap
from gossamer.ports.shared_state import SharedState
from gossamer.shared.memory import MemorySharedState
from gossamer.testing.answers import App
from gossamer.testing.clock import ManualClock

_LINK = re.compile(rb'<a href="([^"]*)"')
_SKU = re.compile(rb'<article data-sku="([^"]*)"')


class TrapCrawl:
    """One job of some workers, each with its own meter and memory, on counts that they share.

    ``slots`` are each worker's requests in flight; all workers together fetch ``pace`` pages a second. The
    hosts of ``linked`` are only linked from the home page of the first host; the others are named.
    """

    def __init__(
        self,
        sites: dict[str, App],
        budget: int,
        *,
        workers: int = 1,
        slots: int = 8,
        pace: float = 500,
        linked: tuple[str, ...] = (),
    ) -> None:
        self.sites = sites
        self.visited: dict[str, list[str]] = {host: [] for host in sites}
        self.clock = ManualClock()
        shared: SharedState = MemorySharedState(self.clock)
        rules = TrapBudgetRules(max_worthless=budget)
        store = TrapCountStore(shared, "job-1")
        self.meters = [
            TrapMeter(store, self.clock, rules, ContentMemory(), is_alone=workers == 1)
            for _ in range(workers)
        ]
        self._slots = slots
        self._round_s = workers * slots / pace
        # Hosts take turns, as in a frontier.
        first = f"http://{next(iter(sites))}/"
        self._queues = {
            host: deque([Request(f"http://{host}/", via=first if host in linked else "")]) for host in sites
        }
        self._known = {request.url for queue in self._queues.values() for request in queue}

    async def run(self, most: int) -> dict[str, int]:
        """Crawl until nothing waits; pages by site. A site of more than ``most`` pages ends it."""
        while any(self._queues.values()) and max(map(len, self.visited.values())) <= most:
            leased = [(meter, list(self._lease(meter))) for meter in self.meters]
            for meter, requests in leased:
                for request in requests:
                    self._visit(meter, request)
            self.clock.advance(self._round_s)
            for meter in self.meters:
                await meter.save_if_due()
        return {host: len(urls) for host, urls in self.visited.items()}

    def _lease(self, meter: TrapMeter) -> Iterator[Request]:
        for host, queue in self._queues.items():
            left = self._slots
            while queue and left:
                request = queue.popleft()
                if request.is_trap_probe or meter.refuse_url(request.url, request.via) is None:
                    self.visited[host].append(request.url)
                    left -= 1
                    yield request

    def _visit(self, meter: TrapMeter, request: Request) -> None:
        host = request.url.split("/")[2]
        answer = self.sites[host](request.url[len(f"http://{host}") :], {})
        links = (
            urljoin(request.url, link.decode().replace("&amp;", "&")) for link in _LINK.findall(answer.body)
        )
        entries = []
        for url in dict.fromkeys(links):
            if url in self._known or path_trap(url, DEFAULT_RULES):
                continue
            trap = meter.find_trap(url, request.url)
            if trap is not None and not meter.claim_probe(trap):
                continue
            self._known.add(url)
            child = Request(url, via=request.url, is_trap_probe=trap is not None)
            entries.append(Entry(request=child, fingerprint=0, host=host))
        items = tuple(
            ItemRecord(type="product", key=sku.decode(), data=b"{}", hash=0)
            for sku in _SKU.findall(answer.body)
        )
        if answer.status == 200:
            read_text = partial(read_html, HtmlPage(answer.body, request.url))
            size = len(answer.body)
            page = ReadPage(request.url, answer.body, size, request.via, items, entries, read_text)
            meter.observe_page(page)
        self._queues[host].extend(entry.request for entry in entries)
