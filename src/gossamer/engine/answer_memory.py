"""By which URL a host in trouble is probed: one that it has answered before."""

from __future__ import annotations

from gossamer.core.requests import Lease, Request
from gossamer.core.results import FetchResult
from gossamer.policy.urls import origin_of

MOST_HOSTS = 10_000
"""Hosts whose latest answer is remembered."""
MOST_JOBS = 8
"""Jobs for which a process keeps that from one shift to the next, those that it worked on last."""


class AnswerMemory:
    """The latest request of each host that was answered well, as far as this process has seen."""

    def __init__(self) -> None:
        self._latest: dict[str, Request] = {}  # by host

    def __repr__(self) -> str:
        return f"AnswerMemory({len(self._latest)} hosts)"

    def note_answer(self, host: str, request: Request, fetched: FetchResult) -> None:
        """Remember a request that can be sent again, if its answer is a page."""
        if fetched.status != 200 or request.method != "GET" or request.body:
            return
        if request.browser is not None or request.saves is not None:  # a probe is small
            return
        self._latest[host] = request
        if len(self._latest) > MOST_HOSTS:
            del self._latest[next(iter(self._latest))]

    def forget(self, host: str) -> None:
        """Forget the latest answer of a host: a probe with it has failed."""
        self._latest.pop(host, None)

    def choose(self, lease: Lease) -> Request | None:
        """Return a request that probes the host of a lease instead of its page; ``None``: none is known.

        By default it is the latest page. If none is known, or a probe with it has failed, the page that led
        to the lease's or robots.txt shows whether the host answers at all. For a host that refuses, neither
        proves anything, since a cache may answer it; the former counts only if pages were proven to be the
        cause before.
        """
        request = lease.entry.request
        if (latest := self._latest.get(lease.entry.host)) is not None and latest.url != request.url:
            return latest.replace(session=request.session)
        if not (lease.host_silent or lease.blames_pages):
            return None
        origin = origin_of(request.url)
        if request.via and origin_of(request.via) == origin:
            return Request(request.via, session=request.session)
        return Request(f"{origin}/robots.txt", session=request.session) if lease.host_silent else None


class AnswerTable:
    """Answer memories by job: a shift of a process is shorter than a host's pauses."""

    def __init__(self) -> None:
        self._by_job: dict[str, AnswerMemory] = {}

    def __repr__(self) -> str:
        return f"AnswerTable({', '.join(self._by_job)})"

    def open_memory(self, job: str) -> AnswerMemory:
        """Open the memory of a job, which becomes the latest."""
        memory = self._by_job[job] = self._by_job.pop(job, AnswerMemory())
        if len(self._by_job) > MOST_JOBS:
            del self._by_job[next(iter(self._by_job))]
        return memory
