"""Dead letters, and the tries at them."""

from __future__ import annotations

from msgspec.structs import replace

from gossamer.core.errors import Fault
from gossamer.core.jobs import DeadLetterFilter
from gossamer.core.requests import Entry, Request
from gossamer.core.results import Verdict
from gossamer.queries.dead_letters import list_letters, read_letters
from gossamer.testing.contracts.frontier_harness import make_entry
from gossamer.testing.contracts.query_harness import QueryHarness, register_check
from gossamer.testing.contracts.suite import assert_equal, assert_holds


@register_check
async def dead_letters_are_bounded_and_oldest_first(s: QueryHarness) -> None:
    """With a word when there are more, and chosen by reason and host."""
    hosts = {1: "a.example", 2: "b.example", 3: "a.example"}
    job = await s.make_job("shop", *(make_entry(number, host) for number, host in hosts.items()))
    for number, reason in ((1, Fault.CLIENT), (2, Fault.CLIENT), (3, Fault.SERVER)):
        await s.end_visits(job, {number: (Verdict.DEAD, reason.value)}, status=403)
    page = await list_letters(s.backends, job, DeadLetterFilter(), 2)
    assert_equal([letter.fingerprint for letter in page.letters], [1, 2], "the oldest come first")
    assert_equal(page.has_more, True, "there is a younger one")
    whole = await list_letters(s.backends, job, DeadLetterFilter(), 3)
    assert_equal((len(whole.letters), whole.has_more), (3, False), "a full page may be all")
    which = DeadLetterFilter(reason=Fault.CLIENT.value, host="a.example")
    (letter,) = (await list_letters(s.backends, job, which, 9)).letters
    shown = (letter.url, letter.host, letter.reason, letter.attempts)
    assert_equal(
        shown, ("http://a.example/1", "a.example", "client", 1), "the dead letters and their reasons"
    )
    assert_holds(job.created_at <= letter.died_at <= s.now(), "when it was given up")
    again = await list_letters(s.backends, job, DeadLetterFilter(ids=(letter.id,)), 9)
    assert_equal([found.id for found in again.letters], [letter.id], "found by its id")


@register_check
async def a_letter_has_the_tries_of_its_own_request(s: QueryHarness) -> None:
    """There may be other requests to its URL."""
    page = make_entry(1)
    form = replace(page, fingerprint=2, request=Request(page.request.url, method="POST", body=b"q=1"))
    job = await s.make_job("shop", page, form)
    ends = dict.fromkeys((1, 2), (Verdict.DEAD, Fault.CLIENT.value))
    await s.end_visits(job, ends, status=403)
    found = await read_letters(s.backends, job, DeadLetterFilter(), 5)
    assert_equal(len(found.letters), 2, "both were given up")
    for letter in found.letters:
        methods = {tried.method for tried in letter.tries}
        assert_equal((len(letter.tries), methods), (1, {letter.method}), "its own tries")


@register_check
async def a_letter_shows_no_secret(s: QueryHarness) -> None:
    """Neither of a header nor of a body, and it says what tells it from others."""
    request = Request(
        "http://a.example/login",
        method="POST",
        headers={"authorization": "Bearer hunter2", "x-kind": "plain"},
        body=b"user=me&password=hunter2",
    )
    job = await s.make_job("shop", Entry(request=request, fingerprint=7, host="a.example"))
    await s.end_visits(job, {7: (Verdict.DEAD, Fault.CLIENT.value)}, status=403)
    (letter,) = (await list_letters(s.backends, job, DeadLetterFilter(), 5)).letters
    assert_holds("hunter2" not in repr(letter), "no secret is shown")
    assert_equal((letter.method, letter.headers["x-kind"]), ("POST", "plain"), "the rest is")
    assert_equal(letter.body_bytes, len(request.body), "how long the body is")
    assert_holds("user=me" in letter.details, "what tells it from others")
