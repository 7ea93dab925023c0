"""A visit behind a log-in: the page waits for it, and is tried again when it came for visitors."""

from __future__ import annotations

import pytest

from gossamer.core.errors import Fault, FetchError, LogInError
from gossamer.core.hosts import HostSignal, HostSignalKind
from gossamer.core.requests import Request
from gossamer.core.results import ExtractResult, Verdict
from gossamer.core.routes import BlockKind
from gossamer.engine.fixed_router import FixedRouter
from gossamer.engine.visit import Visitor
from gossamer.engine.worker import Worker
from gossamer.policy.log_in import find_log_out
from kit.engine import URL, Kit, virtually

LOGIN = "http://site.test/login"


class Gate:
    """A gate whose answers are told; it notes what it hears."""

    def __init__(self, *answers):
        self.answers = list(answers)
        self.heard = []
        self.is_worth_it = True

    async def prepare_session(self, request, route):
        answer = self.answers.pop(0) if self.answers else 7
        if isinstance(answer, BaseException):
            raise answer
        return answer

    def find_log_out(self, request, status, location):
        return find_log_out(request.url, LOGIN, status, location)

    def confirm_log_in(self, request, route):
        self.heard.append("for members")

    async def handle_log_out(self, request, route, number, page):
        self.heard.append((number, page))
        return self.is_worth_it


class Learner(FixedRouter):
    """A router that keeps what it is told."""

    is_fixed = False

    def __init__(self):
        super().__init__()
        self.reports = []

    async def learn_from(self, report):
        self.reports.append(report)


async def visit(kit, gate, url=URL, router=None):
    """One lease of a request, and what its visit ends with."""
    entry = kit.admission.admit_request(Request(url))
    await kit.frontier.add([entry])
    [lease] = (await kit.frontier.lease("http", 1, 60.0)).leases
    visitor = Visitor(kit.with_parts(login=gate, router=router or FixedRouter()), kit.shift)
    return await visitor.visit(visitor.open_attempt(lease))


def virtual(test):
    def run():
        async def main():
            await test(Kit())

        virtually(main)

    run.__name__ = test.__name__
    return run


@virtual
async def test_the_lease_is_given_back_with_what_the_log_in_says_of_the_host(kit):
    signal = HostSignal(kind=HostSignalKind.OK, started_at=kit.clock.now(), latency_s=0.3)
    assert await visit(kit, Gate(signal)) is signal
    assert kit.site.log == []


@virtual
async def test_a_page_for_members_is_confirmed(kit):
    gate = Gate()
    assert (await visit(kit, gate)).outcome.verdict is Verdict.SUCCESS
    assert gate.heard == ["for members"]


@pytest.mark.parametrize(
    "reply",
    [401, (302, {"location": "/login?next=/"}), (200, {"refresh": "/login"}), (200, {"is_logged_in": "no"})],
)
@pytest.mark.parametrize("is_worth_it", [True, False])
def test_a_page_for_visitors_is_tried_again_at_no_charge_or_given_up(reply, is_worth_it):
    @virtual
    async def test(kit):
        gate = Gate()
        gate.is_worth_it = is_worth_it
        kit.site.replies[URL] = reply
        if isinstance(reply, tuple) and "refresh" in reply[1]:
            kit.pages.yields[URL] = ExtractResult(refresh_to="/login")
        if isinstance(reply, tuple) and "is_logged_in" in reply[1]:
            kit.pages.yields[URL] = ExtractResult(fault=Fault.LOGGED_OUT, error="no")
        result = await visit(kit, gate)
        outcome, row = result.outcome, result.attempts[0]
        assert gate.heard == [(7, outcome.lease.entry.fingerprint)]
        assert (row.reason, row.verdict) == (Fault.LOGGED_OUT, outcome.verdict)
        assert row.flags == (), "it is no refusal that another way to fetch would help against"
        assert outcome.outlinks == ()
        if is_worth_it:
            assert (outcome.verdict, outcome.charged, outcome.is_excused) == (Verdict.RETRY, False, True)
        else:
            assert outcome.verdict is Verdict.DEAD

    test()


@virtual
async def test_a_router_does_not_take_it_for_a_refusal(kit):
    kit.site.replies[URL] = (302, {"location": "/login"})
    router = Learner()
    await visit(kit, Gate(), router=router)
    await visit(kit, Gate(0), URL + "public", router=router)
    kit.site.replies[URL + "other"] = (302, {"location": "/login"})
    await visit(kit, Gate(0), URL + "other", router=router)
    told = [(str(one.result.outcome.reason), one.block and one.block.kind) for one in router.reports]
    assert told == [("logged_out", None), ("", None), ("", BlockKind.LOG_IN)]


@pytest.mark.parametrize("reply", [401, (302, {"location": "/login"})])
def test_a_page_that_needs_no_log_in_is_judged_as_ever(reply):
    @virtual
    async def test(kit):
        gate = Gate(0)
        kit.site.replies[URL] = reply
        assert (await visit(kit, gate)).outcome.reason != Fault.LOGGED_OUT
        assert gate.heard == []

    test()


@virtual
async def test_a_site_that_does_not_answer_its_log_in_is_a_failure_like_any_other(kit):
    error = FetchError(Fault.TIMEOUT_HEADERS, "logging in")
    error.rung = "http"
    result = await visit(kit, Gate(error))
    assert (result.outcome.reason, result.attempts[0].rung) == (Fault.TIMEOUT_HEADERS, "http")
    assert result.outcome.signal.kind is HostSignalKind.UNREACHABLE


@virtual
async def test_a_log_in_that_cannot_be_done_stops_the_worker_and_keeps_the_request(kit):
    entry = kit.admission.admit_request(Request(URL))
    await kit.frontier.add([entry])
    with pytest.raises(LogInError, match="wrong password"):
        await Worker(kit.with_parts(login=Gate(LogInError("wrong password"))), kit.shift).run()
    assert (await kit.frontier.read_stats()).pending == 1
    assert kit.ledger.results == []
