"""Scrapy's statistics of requests and responses, made from Gossamer's report of each attempt."""

from __future__ import annotations

from gossamer.adapters.scrapy.crawler import AdaptedCrawler
from gossamer.adapters.scrapy.failures import exception_name
from gossamer.core.errors import Fault
from gossamer.core.events import Event, PageDoneEvent
from gossamer.core.results import Attempt, Verdict


class StatisticsSink:
    """Port ``Sink``: counts attempts under Scrapy's names, as soon as they are stored."""

    def __init__(self, crawler: AdaptedCrawler) -> None:
        self._crawler = crawler
        self._deepest = 0

    def emit(self, event: Event) -> None:
        """See :class:`~gossamer.ports.sink.Sink`."""
        if isinstance(event, PageDoneEvent):
            if event.attempt.rung:
                self._count_attempt(event.attempt)
            elif event.attempt.reason == Fault.ROBOTS:
                self._crawler.count("robotstxt/forbidden")
            for reason, count in event.dropped.items():
                if reason == "link:offsite":
                    self._crawler.count("offsite/filtered", count)

    def _count_attempt(self, attempt: Attempt) -> None:
        count = self._crawler.count
        count("downloader/request_count")
        count(f"downloader/request_method_count/{attempt.method}")
        if attempt.status:
            count("downloader/response_count")
            count(f"downloader/response_status_count/{attempt.status}")
            count("downloader/response_bytes", attempt.size_bytes)
        else:
            count("downloader/exception_count")
            count(f"downloader/exception_type_count/{exception_name(attempt.reason)}")
        if attempt.verdict is Verdict.RETRY:
            reason = f"{attempt.status}" if attempt.status >= 400 else exception_name(attempt.reason)
            count("retry/count")
            count(f"retry/reason_count/{reason}")
        elif attempt.status and attempt.verdict is not Verdict.REDIRECT:
            count("response_received_count")
            if attempt.depth > self._deepest:
                self._deepest = attempt.depth
                self._crawler.stats.max_value("request_depth_max", attempt.depth)
            if attempt.status >= 400 and attempt.verdict in (Verdict.SKIPPED, Verdict.DEAD):
                count("httperror/response_ignored_count")
                count(f"httperror/response_ignored_status_count/{attempt.status}")
