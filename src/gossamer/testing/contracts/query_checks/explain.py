"""Why a URL was, was not, or is not yet fetched."""

from __future__ import annotations

from msgspec.structs import replace

from gossamer.core.errors import Fault, UsageError
from gossamer.core.jobs import Job
from gossamer.core.lifecycle import JobCommand, JobState
from gossamer.core.requests import Entry, Request
from gossamer.core.results import Verdict
from gossamer.queries.explain.choice import possible_requests
from gossamer.queries.explain.facts import NumberFormatter, UrlState
from gossamer.queries.explain.job_scope import JobScopeCache
from gossamer.queries.explain.report import UrlReport, explain_url
from gossamer.testing.contracts.query_harness import QueryHarness, register_check
from gossamer.testing.contracts.store_harness import make_item
from gossamer.testing.contracts.suite import assert_equal, assert_holds

URL = "http://a.example/"
SHOW = NumberFormatter(lambda span_s: f"{span_s:.0f} s", lambda at: "then", lambda size: f"{size:.0f} B")


async def _explain(s: QueryHarness, url: str, job: str | None = None, **more: str) -> UrlReport:
    scopes = JobScopeCache(None, None, None)
    return await explain_url(s.backends, scopes, possible_requests(url, **more), SHOW, job=job)


async def _make_job(s: QueryHarness, name: str, *requests: Request) -> tuple[Job, list[Entry]]:
    """A job whose requests have the fingerprints that it gives them."""
    job = await s.make_job(name)
    scope = JobScopeCache(None, None, None).scope_of(job)
    entries = [scope.entry_for(request, job.key) for request in requests]
    known = [entry for entry in entries if entry is not None]
    await s.open_frontier(job).add(known)
    return job, known


@register_check
async def a_url_is_explained_by_what_became_of_it(s: QueryHarness) -> None:
    """Done, dead, to be tried again, waiting, never seen."""
    names = ("done", "dead", "late", "next")
    job, entries = await _make_job(s, "shop", *(Request(f"{URL}{name}") for name in names))
    done, dead, late, _ = (entry.fingerprint for entry in entries)
    ends = {
        done: (Verdict.SUCCESS, ""),
        dead: (Verdict.DEAD, Fault.CLIENT.value),
        late: (Verdict.RETRY, Fault.SERVER.value),
    }
    await s.end_visits(job, ends, items=[make_item("a", url=f"{URL}done")])
    async with s.backends.requests.lock_target(job.target):
        answers = {name: await _explain(s, f"{URL}{name}") for name in (*names, "none")}
    found = {name: report.answer for name, report in answers.items()}
    expected = {
        "done": UrlState.DONE,
        "dead": UrlState.DEAD,
        "late": UrlState.RETRYING,
        "next": UrlState.WAITING,
        "none": UrlState.NEVER_SEEN,
    }
    assert_equal(found, expected, "the answers")
    for report in answers.values():
        assert_equal(report.job, job.id, "in the job that knows it")
        assert_holds(all(line.endswith(".") for line in report.lines), "whole sentences")
    assert_equal((answers["done"].items, answers["done"].status), (1, 200), "the items of the page")
    assert_equal(len(answers["dead"].tries), 1, "every try at it")
    assert_holds(answers["dead"].dead_letter, "the number of its letter")
    assert_holds(answers["late"].due_at, "when it is tried again")


@register_check
async def a_lease_is_explained_with_its_deadline(s: QueryHarness) -> None:
    """Since when it is held, and until when."""
    job, _ = await _make_job(s, "shop", Request(f"{URL}1"))
    began_at = s.now()
    await s.lease_requests(job)
    report = await _explain(s, f"{URL}1")
    assert_equal(report.answer, UrlState.LEASED, "it is held")
    leased_at, deadline = report.leased_at, report.deadline
    assert_holds(leased_at is not None and began_at - 1 <= leased_at <= s.now(), "since when")
    assert_holds(deadline is not None and leased_at is not None and deadline > leased_at, "until when")


@register_check
async def a_held_up_job_explains_what_waits_in_it(s: QueryHarness) -> None:
    """The job has no worker, or is paused."""
    job, _ = await _make_job(s, "shop", Request(f"{URL}1"))
    report = await _explain(s, f"{URL}1")
    assert_equal(report.answer, UrlState.STOPPED, "the job has no worker")
    assert_holds("no process crawls the job" in report.lines[0], "and that is said")
    await s.open_frontier(job).apply_change(JobCommand.PAUSE)
    await s.backends.book.update(replace(job, state=JobState.PAUSED))
    report = await _explain(s, f"{URL}1")
    assert_equal((report.answer, report.job_state), (UrlState.STOPPED, JobState.PAUSED), "it is paused")


@register_check
async def the_way_to_a_page_and_its_items_are_told(s: QueryHarness) -> None:
    """Link by link from the seed, also for a waiting page; with the items found on it."""
    names = ("seed", "list", "page", "next")
    befores = ("", *(f"{URL}{name}" for name in names[:3]))
    ways = zip(names, befores, strict=True)
    job, entries = await _make_job(s, "shop", *(Request(f"{URL}{name}", via=via) for name, via in ways))
    ends = {entry.fingerprint: (Verdict.SUCCESS, "") for entry in entries[:3]}
    await s.end_visits(job, ends, items=[make_item("a", url=f"{URL}seed"), make_item("b", url=f"{URL}seed")])
    report = await _explain(s, f"{URL}next")
    told = [(step.url, step.how, step.at is not None) for step in report.via]
    expected = [(f"{URL}{name}", "link" if at else "seed", at < 3) for at, name in enumerate(names)]
    assert_equal(told, expected, "the way to it, itself last")
    seed = await _explain(s, f"{URL}seed")
    assert_equal(
        (seed.via, [item.key for item in seed.found_items]), ((), ["a", "b"]), "a seed, and its items"
    )
    assert_equal((seed.items, report.found_items), (2, ()), "of another page none")


@register_check
async def other_requests_to_a_url_are_told(s: QueryHarness) -> None:
    """A form that was sent is another request than the page."""
    form = Request(f"{URL}find", method="POST", body=b"q=1")
    job, (entry,) = await _make_job(s, "shop", form)
    await s.end_visits(job, {entry.fingerprint: (Verdict.SUCCESS, "")})
    report = await _explain(s, f"{URL}find")
    (other,) = report.other_requests
    assert_equal((other.method, other.fingerprint), ("POST", entry.fingerprint), "the form")
    assert_equal((report.page_answer, len(other.tries)), (UrlState.DONE, 1), "what became of it")
    asked = await _explain(s, f"{URL}find", method="POST", body="q=1")
    assert_equal((asked.answer, asked.other_requests), (UrlState.DONE, ()), "asked for as it is")


@register_check
async def the_newest_job_that_knows_a_url_is_meant(s: QueryHarness) -> None:
    """Unless one is named; a host alone is a URL, and other words are refused."""
    first, _ = await _make_job(s, "shop", Request(URL))
    await _make_job(s, "shop", Request("http://b.example/"))
    assert_equal((await _explain(s, "a.example")).job, first.id, "the one that knows it")
    named = await _explain(s, "a.example", job="shop")
    assert_equal((named.job, named.answer), ("shop-2", UrlState.NEVER_SEEN), "the one that is named")
    try:
        await _explain(s, "nonsense")
    except UsageError:
        return
    raise AssertionError("a text that is neither a URL nor a host is refused")
