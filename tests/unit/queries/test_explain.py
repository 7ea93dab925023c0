"""What the facts of one URL mean."""

import re

import pytest
from msgspec.structs import replace

from gossamer.core.errors import Fault
from gossamer.core.hosts import FrontierRules, HostState
from gossamer.core.jobs import FrontierStats, Job, KnownRequest
from gossamer.core.lifecycle import FinishReason, JobState, RequestState
from gossamer.core.requests import Entry, Request, RequestPreview
from gossamer.core.results import DEFERRED, EXTRACTED, Attempt, PageRecord, Verdict
from gossamer.policy.budget_status import BudgetStatus
from gossamer.policy.deferral import defer_entry
from gossamer.policy.ladder import LadderState
from gossamer.policy.sentences.errors import words_for
from gossamer.queries.explain.answer import explain_facts
from gossamer.queries.explain.facts import NumberFormatter, UrlFacts, UrlState
from gossamer.queries.explain.scope import ScopeFacts, scope_rule
from gossamer.queries.reasons import describe_refusal

NOW = 1000.0
URL = "http://shop.example/a"
SHOW = NumberFormatter(lambda s: f"{s:g} s", lambda at: f"t{at:g}", lambda b: f"{b:g} B")
JOB = Job(id="shop-1", name="shop", target="shop", created_at=0.0)


def facts(**more):
    given = {
        "url": URL,
        "canonical": URL,
        "job": JOB,
        "rules": FrontierRules(),
        "scoping": ScopeFacts(),
        "now": NOW,
    }
    return UrlFacts(**{**given, "stats": FrontierStats(state=JobState.RUNNING), **more})


def found(state, **more):
    entry = Entry(request=Request(URL), fingerprint=1, host="shop.example")
    return KnownRequest(state=state, entry=None if state is RequestState.DONE else entry, **more)


def tried(verdict, reason="", **more):
    return Attempt(
        **{"at": NOW - 60, "url": URL, "fingerprint": 1, "verdict": verdict, "reason": reason, **more}
    )


def said(**more):
    answer, lines, *_ = explain_facts(facts(**more), SHOW)
    assert all(line.endswith(".") and line[0].isprintable() for line in lines), lines
    return answer, " ".join(lines)


def test_a_bad_url_is_one_before_anything_else():
    assert said(url="nonsense", canonical="")[0] is UrlState.BAD_URL
    assert "longer than" in said(url="http://a/" + "x" * 9000, canonical="")[1]


def test_what_was_not_found_within_the_bound_of_a_search_is_told_as_that():
    beyond = found(RequestState.PENDING, beyond=100_000, host=HostState())
    answer, text = said(found=beyond, ahead=0)
    assert answer is UrlState.WAITING
    assert text == (
        "It is known, and not done as far as the ledger shows. It is none of the 100,000 requests that were "
        "looked at, so where it waits is not said."
    )
    answer, text = said(found=beyond, attempts=(tried(Verdict.RETRY, "server"),))
    assert "where it waits is not said. The last attempt" in text
    answer, text = said(found=beyond, stats=FrontierStats(state=JobState.PAUSED))
    assert (answer, "The job shop-1 is paused" in text, "100,000" in text) == (UrlState.STOPPED, True, True)


def test_never_seen_says_what_may_still_lead_to_it():
    answer, text = said()
    never = "It was never seen: no start URL and no link that the spider followed has led to it."
    assert (answer, text) == (UrlState.NEVER_SEEN, never)
    stats = FrontierStats(state=JobState.PAUSED, pending=1200)
    text = said(stats=stats, left_out={"nofollow": 3, "too_deep": 2}, is_denied=True)[1]
    for part in (
        "3 marked nofollow, 2 deeper than max_depth.",
        "still wait: 1,200.",
        "is paused",
        "robots.txt does not",
    ):
        assert part in text, text


@pytest.mark.parametrize(
    ("scoping", "rule"),
    [
        (ScopeFacts(refused="offsite", allowed_domains=("x.example",)), "allowed_domains (x.example)"),
        (ScopeFacts(refused="excluded", exclude=("no", r"/a$")), "exclude has '/a$'"),
        (
            ScopeFacts(refused="not_included", include=("/b",)),
            "none of the setting include matches it ('/b')",
        ),
        (ScopeFacts(refused="extension"), "deny_extensions"),
        (ScopeFacts(refused="lane"), "lane"),
        (ScopeFacts(refused="too_long"), "longer than"),
    ],
)
def test_out_of_scope_names_the_rule(scoping, rule):
    assert rule in scope_rule(scoping, URL)
    answer, text = said(scoping=scoping)
    assert answer is UrlState.OUT_OF_SCOPE
    assert rule in text
    # What is known is told first, whatever today's scope says.
    answer, text = said(
        scoping=scoping, found=found(RequestState.DONE), attempts=(tried(Verdict.SUCCESS, status=200),)
    )
    assert answer is UrlState.DONE
    assert f"By the current settings it would not be crawled: {scope_rule(scoping, URL)}." in text


def test_without_its_spider_nothing_is_said_of_the_scope():
    answer, text = said(scoping=None)
    assert answer is UrlState.NEVER_SEEN
    assert "--spider" in text


def test_of_links_left_out_only_those_are_told_that_it_may_be_among():
    left_out = {"offsite": 7, "too_deep": 1200, "near_copy": 1}
    text = said(left_out=left_out, rules=FrontierRules(max_depth=3))[1]
    assert "may be one of them: 1 near copy, 1,200 deeper than max_depth 3." in text
    assert "7 to other hosts, 1,200" in said(left_out=left_out, scoping=None)[1]
    assert "left out" not in said(left_out={"offsite": 7})[1]


@pytest.mark.parametrize("trap", ["trap_segments", "trap_repeats"])
def test_a_trap_is_told_by_its_url(trap):
    answer, text = said(scoping=ScopeFacts(refused=trap))
    assert answer is UrlState.TRAP
    assert "the setting traps.max_" in text


@pytest.mark.parametrize("more", ["?utm_source=x", "?utm_source=x#f", "#f"])
def test_another_form_of_a_page_is_a_duplicate_of_it(more):
    known = {"found": found(RequestState.DONE), "attempts": (tried(Verdict.SUCCESS, status=200),)}
    answer, lines, page, _ = explain_facts(facts(url=URL + more, **known), SHOW)
    assert (answer, page) == (UrlState.DUPLICATE, UrlState.DONE)
    assert f"the same page as {URL}," in lines[0]
    assert "It was fetched" in lines[1]
    assert said(url=URL + more)[0] is UrlState.NEVER_SEEN


@pytest.mark.parametrize(
    "spelling", [URL, "HTTP://Shop.Example:80/a", f"{URL}#", "http://u:p@shop.example/a"]
)
def test_another_spelling_is_the_same_url(spelling):
    assert said(url=spelling, found=found(RequestState.DONE))[0] is UrlState.DONE


# --------------------------------------------------------------------------- waiting


def test_politeness_tells_the_hosts_next_turn():
    host = HostState(next_at=NOW + 12, crawl_delay_s=20.0)
    answer, text = said(found=found(RequestState.PENDING, host=host), ahead=3)
    assert answer is UrlState.WAITING
    for part in (
        "next turn of the host shop.example is in 12 s (t1012)",
        "go before it: 3.",
        "20 s apart (robots.txt asks",
    ):
        assert part in text, text


@pytest.mark.parametrize(
    ("host", "rules", "part"),
    [
        (HostState(), FrontierRules(delay_s=2.0), "may be fetched now"),
        (HostState(), FrontierRules(delay_s=2.0), "2 s apart (as set)"),
        (HostState(delay_s=0.5), FrontierRules(), "0.5 s apart (it follows"),
        (HostState(in_flight=1, next_at=NOW + 5), FrontierRules(), "has 1 of 1 request in flight"),
        (
            HostState(in_flight=1, troubled_since=1.0),
            FrontierRules(per_host=8),
            "has 1 of 1 request in flight",
        ),
        (
            HostState(pace_s=4.0, limit_s=2.0),
            FrontierRules(delay_s=0.0),
            "4 s apart (it refused faster requests)",
        ),
        (
            HostState(next_at=NOW + 30, hold_until=NOW + 30),
            FrontierRules(),
            "asked for time, or was in trouble: it",
        ),
        (
            HostState(next_at=NOW + 30, hold_until=NOW + 30, is_held=True),
            FrontierRules(),
            "A person holds the host",
        ),
        (HostState(is_skipped=True), FrontierRules(), "is skipped by a person's order: `gossamer host"),
        (HostState(silences=8), FrontierRules(), "has not answered for so long"),
    ],
)
def test_a_waiting_request_says_what_it_waits_for(host, rules, part):
    answer, text = said(found=found(RequestState.PENDING, host=host), rules=rules)
    assert answer is UrlState.WAITING
    assert part in text


def test_budgets_of_the_job_and_of_the_host():
    waiting = found(RequestState.PENDING, host=HostState(pages=5))
    spent = FrontierStats(state=JobState.RUNNING, pending=1, budget_spent=True)
    answer, text = said(found=waiting, stats=spent, rules=FrontierRules(max_pages=1000))
    assert answer is UrlState.OVER_BUDGET
    assert "1,000 pages is spent" in text
    answer, text = said(found=waiting, rules=FrontierRules(max_pages_per_host=5))
    assert answer is UrlState.OVER_BUDGET
    assert "5 pages for the host shop.example" in text
    assert said(found=waiting, rules=FrontierRules(max_pages_per_host=6))[0] is UrlState.WAITING


@pytest.mark.parametrize("state", [JobState.PAUSED, JobState.CANCELLED, JobState.FINISHED])
def test_a_job_that_does_not_run_fetches_nothing(state):
    answer, text = said(found=found(RequestState.PENDING), stats=FrontierStats(state=state))
    assert answer is UrlState.STOPPED
    assert f"is {state}" in text


def test_nobody_at_work():
    answer, text = said(found=found(RequestState.PENDING), is_at_work=False)
    assert answer is UrlState.STOPPED
    assert "no process crawls" in text


def test_a_run_that_was_out_of_time():
    job = replace(JOB, end_reason=FinishReason.MAX_TIME)
    answer, text = said(found=found(RequestState.PENDING), is_at_work=False, job=job)
    assert answer is UrlState.OVER_BUDGET
    assert "budget of time" in text


def test_robots_denies_what_waits():
    assert said(found=found(RequestState.PENDING), is_denied=True)[0] is UrlState.ROBOTS


def test_a_retry_has_its_time_and_its_reason():
    last = tried(Verdict.RETRY, "server", status=503, attempt=2)
    waiting = found(RequestState.DELAYED, due_at=NOW + 8, attempts=2, reason="server")
    answer, text = said(found=waiting, attempts=(last,))
    assert answer is UrlState.RETRYING
    for part in ("in 8 s (t1008)", "an error of the server (server)", "number 2, was 60 s ago (status 503"):
        assert part in text, text
    assert (
        "as soon as its host's turn" in said(found=found(RequestState.DELAYED, due_at=NOW - 1, attempts=1))[1]
    )
    assert said(found=found(RequestState.DELAYED, due_at=NOW + 8))[0] is UrlState.DELAYED


def test_a_lease_has_a_deadline():
    leased = {"found": found(RequestState.LEASED), "since": NOW - 5}
    answer, text = said(**leased, deadline=NOW + 55)
    assert answer is UrlState.LEASED
    assert "has had it for 5 s, and has it until t1055 (in 55 s)" in text
    assert "worker of process 42 has" in said(**leased, deadline=NOW + 55, process="42")[1]
    assert "until 2 s ago and is late" in said(**leased, deadline=NOW - 2)[1]
    assert "its process ended" in said(**leased, deadline=NOW + 55, is_at_work=False)[1]


# --------------------------------------------------------------------------- settled


def test_a_dead_letter_says_how_to_retry():
    last = tried(Verdict.DEAD, "callback", status=200)
    dead = found(RequestState.DEAD, reason="callback", attempts=1)
    answer, text = said(found=dead, attempts=(last,), letter=17, since=NOW - 60)
    assert answer is UrlState.DEAD
    for part in ("given up 60 s ago after 1 attempt: the spider's code raised", "dead retry shop-1 17"):
        assert part in text, text


@pytest.mark.parametrize(
    ("attempt", "answer", "part"),
    [
        (tried(Verdict.SUCCESS, status=200, size_bytes=5, via="http://v"), UrlState.DONE, "status 200, 5 B"),
        (
            tried(Verdict.SUCCESS, status=200, via="http://v"),
            UrlState.DONE,
            "What led to it: a link on http://v.",
        ),
        (tried(Verdict.SUCCESS, status=200), UrlState.DONE, "Nothing on it was parsed"),
        (
            tried(Verdict.REDIRECT, status=301, detail="http://b/"),
            UrlState.REDIRECTED,
            "redirect to http://b/",
        ),
        (tried(Verdict.SKIPPED, "robots"), UrlState.ROBOTS, "without asking its host"),
        (tried(Verdict.SKIPPED, "gone", status=404), UrlState.SKIPPED, "no such page (gone)"),
        (tried(Verdict.SKIPPED, "out_of_scope", status=302, detail="to x"), UrlState.OUT_OF_SCOPE, "(to x)"),
        (tried(Verdict.DEAD, "server"), UrlState.DONE, "dead letter was dropped"),
    ],
)
def test_what_is_done_is_told_from_the_ledger(attempt, answer, part):
    given, text = said(found=found(RequestState.DONE), attempts=(attempt,))
    assert given is answer
    assert part in text


def test_what_led_to_a_page_is_not_called_a_link_when_it_was_a_redirect():
    led = RequestPreview(redirected_by="http://shop.example/old")
    done = {"found": found(RequestState.DONE)}
    text = said(**done, attempts=(tried(Verdict.SUCCESS, status=200, via="http://v", request=led),))[1]
    assert "What led to it: a redirect of http://shop.example/old, to which http://v has a link." in text
    text = said(**done, attempts=(tried(Verdict.SUCCESS, status=200, request=led),))[1]
    assert "What led to it: a redirect of http://shop.example/old." in text
    assert "What led" not in said(**done, attempts=(tried(Verdict.SUCCESS, status=200),))[1]


def test_an_unknown_url_is_not_said_to_wait():
    text = said(stats=FrontierStats(state=JobState.RUNNING, pending=3), is_at_work=False)[1]
    assert "It waits" not in text
    assert "Waiting requests are not fetched now: no process crawls the job shop-1" in text


def test_what_never_ended_and_what_is_forgotten_is_not_called_fetched():
    for verdict in (Verdict.RETRY, Verdict.EXPIRED):
        answer, text = said(found=found(RequestState.DONE), attempts=(tried(verdict, "expired"),))
        assert (answer, "It was fetched" in text) == (UrlState.DONE, False)
        assert "how it ended is not in the ledger. The last attempt" in text
    dead = {
        "found": found(RequestState.DONE),
        "attempts": (tried(Verdict.DEAD, "server"),),
        "is_forgotten": True,
    }
    answer, text = said(**dead)
    assert answer is UrlState.DEAD
    assert "dropped" not in text
    answer, text = said(is_forgotten=True)
    assert (answer, "It was never seen" in text) == (UrlState.NEVER_SEEN, False)
    assert "the ledger has no attempt at it" in text


def test_other_requests_to_the_url_are_told():
    posts = tuple(
        facts(
            method="POST",
            fingerprint=n,
            request=RequestPreview(body=f"page={n}", body_bytes=6),
            found=found(RequestState.DONE),
            attempts=(tried(Verdict.SUCCESS, status=200, method="POST"),),
        )
        for n in (3, 2)
    )
    answer, lines, page, others = explain_facts(facts(others=posts), SHOW)
    assert (answer, page, [other.answer for other in others]) == (
        UrlState.DONE,
        UrlState.DONE,
        [UrlState.DONE] * 2,
    )
    assert lines[0] == "No GET of it is known, but other requests to this URL are: 2."
    assert lines[1].startswith("POST (page=3): It was fetched 60 s ago")
    assert lines[2].startswith("POST (page=2): It was fetched")
    more = explain_facts(facts(others=posts, has_more_others=True), SHOW).lines[0]
    assert more.endswith("other requests to this URL are: more than 2, of which the latest are shown.")
    text = " ".join(explain_facts(facts(others=posts, found=found(RequestState.PENDING)), SHOW).lines)
    assert text.startswith("It may be fetched now")
    assert "Other requests to this URL: 2. POST (page=3)" in text


def test_a_link_that_the_built_in_spider_leaves_out_names_the_rule():
    pdf = {"url": f"{URL}.pdf", "canonical": f"{URL}.pdf", "scoping": ScopeFacts(refused="media")}
    answer, text = said(**pdf, left_out={"media": 1})
    assert answer is UrlState.OUT_OF_SCOPE
    assert "follows no links to files with the suffix .pdf. Links to it are not followed." in text
    seed = said(**pdf, found=found(RequestState.DONE), attempts=(tried(Verdict.SUCCESS, status=200),))[1]
    assert "would not be taken" not in seed  # a start URL is fetched whatever its suffix
    assert "to files that are not pages" in said(left_out={"media": 2}, scoping=None)[1]


def test_a_fleet_is_told_in_its_own_words():
    fleet = replace(JOB, plan=b"plan")
    waiting, dead = found(RequestState.PENDING), found(RequestState.DEAD, reason="server", attempts=1)
    gone = {"found": found(RequestState.LEASED), "since": NOW - 5, "deadline": NOW + 5, "is_at_work": False}
    for more in (
        {"found": waiting, "is_at_work": False},
        {"found": waiting, "stats": FrontierStats(state=JobState.CANCELLED)},
        {"found": waiting, "stats": FrontierStats(state=JobState.RUNNING, budget_spent=True)},
        {"found": dead, "letter": 3},
        gone,
    ):
        assert "gossamer crawl" not in said(job=fleet, rules=FrontierRules(max_pages=5), **more)[1], more
    leased = {**gone, "is_at_work": True, "process": "3 workers of the fleet"}
    assert "A worker has had it for 5 s" in said(job=fleet, **leased)[1]


@pytest.mark.parametrize("state", [RequestState.PENDING, RequestState.DELAYED])
def test_what_waits_in_a_cancelled_job_is_not_promised(state):
    stats = FrontierStats(state=JobState.CANCELLED, pending=3)
    waiting = found(state, due_at=NOW + 8, attempts=1, reason="server")
    answer, text = said(found=waiting, stats=stats, is_denied=True)
    assert answer is UrlState.STOPPED
    assert "in 8 s" not in text
    assert "will be" not in text
    assert "may lead to it" not in said(stats=stats)[1]


def test_a_page_has_its_title_and_items():
    page = PageRecord(url=URL, fingerprint=1, status=200, title="A")
    text = said(found=found(RequestState.DONE), attempts=(tried(Verdict.SUCCESS),), page=page, items=3)[1]
    assert "'A' was parsed. Items of this job that were last found at this URL: 3." in text
    assert "no row" in said(found=found(RequestState.DONE))[1]


@pytest.mark.parametrize("fault", Fault)
def test_every_fault_can_be_said(fault):
    text = words_for(fault.value)
    assert text
    assert "_" not in re.sub(r"\b[a-z]+\.[a-z_]+", "", text.partition(" (")[0])  # but in names of settings


def test_a_host_in_trouble_is_said_to_be():
    silent = HostState(troubled_since=NOW - 90, silences=2, answered_at=NOW - 100, next_at=NOW + 5)
    assert "has not answered since t910" in said(found=found(RequestState.PENDING, host=silent))[1]
    refusing = HostState(troubled_since=NOW - 90, answered_at=NOW - 100, next_at=NOW + 5)
    assert "has refused every request since t910" in said(found=found(RequestState.PENDING, host=refusing))[1]


class TestRungs:
    WHY = "climbs from http to browser: cloudflare"

    def test_a_host_that_climbed_says_why_and_when_it_is_probed(self):
        ladder = LadderState(rung="browser", since=NOW - 9, why=self.WHY, probe_at=NOW + 60)
        text = said(ladder=ladder)[1]
        since, later = f"t{NOW - 9:g}", f"60 s (t{NOW + 60:g})"
        assert f"The host shop.example has been on the rung browser since {since} ({self.WHY})." in text
        assert f"The next lower rung is tried again in {later}." in text
        due = said(ladder=LadderState(rung="browser", why=self.WHY, probe_at=NOW - 1))[1]
        assert "The next lower rung is tried again with its next request." in due

    def test_one_that_never_did_says_nothing(self):
        assert "rung" not in said(ladder=LadderState(suspects=(1,)))[1]


def reading(state, **more):
    """Of a page that was fetched, and that another worker reads."""
    entry = defer_entry(Entry(request=Request(URL), fingerprint=1, host="shop.example"), "j/w.warc.gz:0:1")
    return KnownRequest(state=state, entry=entry, **more)


FETCHED = tried(Verdict.SUCCESS, status=200, size_bytes=9, elapsed_ms=7.0, flags=(DEFERRED,), rung="http")


def test_a_page_that_waits_for_its_callback_is_not_said_to_wait_for_its_host():
    answer, text = said(found=reading(RequestState.PENDING), attempts=(FETCHED,), ahead=3, is_denied=True)
    assert answer is UrlState.WAITING
    assert text.startswith("It was fetched and archived, and waits for a worker of the lane 'extract'")
    assert "Pages of its host that go before it: 3." in text
    assert "robots.txt" not in text
    paused = said(
        found=reading(RequestState.PENDING), attempts=(FETCHED,), stats=FrontierStats(state=JobState.PAUSED)
    )
    assert (paused[0], "The job shop-1 is paused" in paused[1]) == (UrlState.STOPPED, True)


def test_a_callback_that_runs_on_the_archive_is_told_as_that():
    leased = {"since": NOW - 5, "deadline": NOW + 55, "attempts": (FETCHED,)}
    text = said(found=reading(RequestState.LEASED), **leased)[1]
    assert text.startswith("It was fetched and archived, and its callback runs. A worker has had it for 5 s")
    late = reading(RequestState.DELAYED, due_at=NOW - 1, reason="pipeline", attempts=1)
    assert "as soon as a worker has time for it" in said(found=late, attempts=(FETCHED,))[1]
    text = said(found=reading(RequestState.DEAD, reason="callback", attempts=1), attempts=(FETCHED,))[1]
    assert "its callback then runs on the archived answer" in text


def test_a_deferred_page_tells_of_its_fetch_and_of_its_callback():
    """The archive takes no milliseconds, and its answer is none of the site."""
    read = tried(Verdict.SUCCESS, at=NOW - 20, status=200, flags=(EXTRACTED,), rung="archive")
    page = PageRecord(url=URL, fingerprint=1, status=200, title="A")
    text = said(found=found(RequestState.DONE), attempts=(read, FETCHED), page=page)[1]
    assert text.startswith("It was fetched 60 s ago (t940): status 200, 9 B, 7 ms. Its callback ran 20 s ago")
    assert "What else" not in text


def over_budget(**more):
    given = {"budget": "products", "pattern": "/a", "used": {"pages": 20}, "limits": {"pages": 20}}
    return BudgetStatus(**{**given, "spent": ("pages",), "refused": 7, **more})


def test_a_url_over_the_budget_of_its_pattern_is_told_which():
    answer, lines = said(budget=over_budget())
    assert answer is UrlState.OVER_BUDGET
    assert lines.startswith("It is over the budget products (pages): links to it are not taken.")
    assert "20 of 20 pages, 7 requests refused (budgets.patterns.products, pattern '/a')" in lines
    deep = over_budget(spent=(), used={}, limits={"depth": 3})
    answer, lines = said(budget=deep)
    assert answer is UrlState.OVER_BUDGET
    assert "products: at most 3 links deep, 7 requests refused" in lines


def test_a_url_that_goes_last_was_not_refused():
    last = over_budget(over="last")
    assert said(budget=last)[0] is UrlState.NEVER_SEEN
    answer, lines = said(budget=last, found=found(RequestState.PENDING, host=HostState()))
    assert answer is UrlState.WAITING
    assert "It goes last, since a budget is spent: products: 20 of 20 pages, 7 requests put last." in lines


def test_what_was_skipped_over_a_budget_is_over_budget():
    tries = (tried(Verdict.SKIPPED, Fault.BUDGET, detail="the budget products is spent: pages"),)
    answer, lines = said(found=found(RequestState.DONE), attempts=tries)
    assert answer is UrlState.OVER_BUDGET
    assert "the budget products is spent: pages" in lines
    assert describe_refusal("budget_products") == "over the budget products (`gossamer report budgets`)"
