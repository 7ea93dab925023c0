"""The pages that led to a page, one after the other."""

from gossamer.core.jobs import Job
from gossamer.core.requests import RequestPreview
from gossamer.core.results import Attempt, Verdict
from gossamer.queries.explain import chain
from gossamer.queries.explain.chain import read_chain

JOB = Job(id="shop-1", name="shop", target="shop", created_at=0.0)


def tried(number, via="", redirected_by=""):
    preview = RequestPreview(redirected_by=redirected_by) if redirected_by else None
    return Attempt(
        at=float(number),
        url=f"u{number}",
        fingerprint=number,
        verdict=Verdict.SUCCESS,
        via=via,
        request=preview,
    )


class Ledger:
    """The tries at some URLs; counts the looks into it."""

    def __init__(self, *tries):
        self.tries = {one.url: one for one in tries}
        self.looks = 0

    async def find_attempts(self, job, limit, which):
        self.looks += 1
        return [self.tries[url] for url in which.urls if url in self.tries]


async def told(ledger, last):
    steps = await read_chain(ledger, JOB, last.url, None, [last])
    return [(step.url, step.how, step.at) for step in steps]


async def test_a_redirect_comes_before_the_link_to_it():
    ledger = Ledger(tried(1), tried(2, via="u1"))
    assert await told(ledger, tried(3, via="u1", redirected_by="u2")) == [
        ("u1", "seed", 1.0),
        ("u2", "link", 2.0),
        ("u3", "redirect", 3.0),
    ]


async def test_what_the_ledger_has_forgotten_is_named_and_no_more():
    assert await told(Ledger(), tried(3, via="u2")) == [("u2", "", None), ("u3", "link", 3.0)]


async def test_pages_that_lead_to_each_other_end_the_way():
    ledger = Ledger(tried(1, via="u2"), tried(2, via="u1"))
    assert [url for url, *_ in await told(ledger, tried(1, via="u2"))] == ["u2", "u1"]


async def test_a_long_way_is_told_from_its_end():
    ledger = Ledger(*(tried(n, via=f"u{n - 1}") for n in range(2, 50)))
    steps = await told(ledger, tried(50, via="u49"))
    assert [url for url, *_ in steps] == [f"u{n}" for n in range(51 - chain.STEPS, 51)]
    assert ledger.looks == chain.STEPS - 1


async def test_a_seed_has_no_way():
    assert await told(Ledger(), tried(1)) == []
