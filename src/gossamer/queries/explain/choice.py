"""Which job and which request are meant when a URL is asked about."""

from __future__ import annotations

import re
from collections.abc import Sequence

from msgspec.structs import replace

from gossamer.core.errors import UsageError
from gossamer.core.jobs import Job
from gossamer.core.requests import Entry, Request
from gossamer.core.results import AttemptFilter
from gossamer.observe.text import shown_url
from gossamer.policy import urls
from gossamer.queries.explain.job_scope import JobScopeCache
from gossamer.queries.jobs import NAMED, NO_JOB, find_job
from gossamer.wiring.backends import Backends

JOBS = 100
"""Jobs that are asked when none is named: the newest."""
_HOST = re.compile(r"^(localhost|[\w-]+(\.[\w-]+)+)(:\d+)?([/?#]|$)")


def possible_requests(
    url: str, *, method: str | None = None, body: str | None = None, session: str = ""
) -> tuple[Request, ...]:
    """Return the candidate requests: a host alone may mean https or http.

    Raises ``UsageError`` unless the text is a URL or a host.
    """
    forms = (f"https://{url}", f"http://{url}") if _HOST.match(url) else (url,)
    if ":" not in forms[0]:
        raise UsageError(
            f"{shown_url(url)!r} is neither a URL nor a host: write it in full, http://... or https://..."
        )
    made = method or ("POST" if body is not None else "GET")
    return tuple(Request(form, method=made, body=(body or "").encode(), session=session) for form in forms)


async def choose_job(
    backends: Backends, scopes: JobScopeCache, wanted: Sequence[Request], name: str | None
) -> tuple[Job, Request]:
    """The job that was named, or the newest that knows one of the requests, or its URL, or the newest.

    Where only a spider was named, its jobs are meant.
    """
    jobs = (await backends.book.list_jobs())[:JOBS] if name is None else [await find_job(backends, name)]
    if not jobs:
        raise UsageError(NO_JOB)
    if name is None and scopes.spider is not None:
        ids = ", ".join(job.id for job in jobs[:NAMED])
        jobs = [job for job in jobs if scopes.scope_of(job).spider is not None]
        if not jobs:
            raise UsageError(f"no job is of --spider {scopes.spider}; the newest are: {ids}")
    for knows in (_knows_request, _knows_url):
        for job in jobs:
            scope = scopes.scope_of(job, strict=name is not None)
            for request in wanted:
                entry = scope.entry_for(request, job.key)
                if entry is not None and await knows(backends, job, entry):
                    return job, request
    scheme = jobs[0].target.partition("://")[0]
    meant = (request for request in wanted if request.url.startswith(f"{scheme}://"))
    return jobs[0], next(meant, wanted[0])


async def _knows_request(backends: Backends, job: Job, entry: Entry) -> bool:
    """By its requests or, when those are forgotten, by its pages."""
    if await backends.read_stats(job) is None:
        return await backends.ledger.find_page(job, entry.fingerprint) is not None
    on_purpose = replace(entry, fingerprint=urls.again_twin_of(entry.fingerprint))
    return any(await backends.open_frontier(job).are_known([entry, on_purpose]))


async def _knows_url(backends: Backends, job: Job, entry: Entry) -> bool:
    """By the ledger: another request to the URL was tried."""
    return bool(await backends.ledger.find_attempts(job, 1, AttemptFilter(urls=(entry.request.url,))))
