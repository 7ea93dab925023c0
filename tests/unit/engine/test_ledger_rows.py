"""What a try leaves in the ledger of how its page was fetched: the answer says it, nobody beforehand."""

from __future__ import annotations

from msgspec.structs import replace

from gossamer.core.errors import Fault, FetchError
from gossamer.core.requests import Entry, Lease, Request
from gossamer.core.results import Attempt
from gossamer.engine.recorder import expired_attempt
from gossamer.engine.supervisor import Supervisor
from gossamer.engine.worker import Worker
from kit.engine import URL, Answer, Kit, virtually


def rows_of(kit: Kit) -> dict[str, Attempt]:
    return {attempt.url: attempt for result in kit.ledger.results for attempt in result.attempts}


def test_the_row_says_what_the_answer_says() -> None:
    async def main() -> dict[str, Attempt]:
        kit = Kit()
        kit.site.replies = {
            URL: replace(
                kit.site.page(URL),
                rung="browser",
                proxy="proxy.example:3128",
                cost=0.25,
                wire_bytes=7,
                address="192.0.2.1",
            ),
            URL + "refused": FetchError(Fault.TLS, "expired", proxy="proxy.example:8080"),
            URL + "missing": 404,
        }
        kit.gate.answers = {URL + "private": [Answer(allowed=False, reason="robots")]}
        urls = (URL, URL + "refused", URL + "missing", URL + "private")
        worker = Worker(kit.parts, kit.shift)
        await Supervisor(kit.parts, worker).run(kit.seeds_of(*urls, session="user 7"))
        return rows_of(kit)

    rows = virtually(main)
    got = rows[URL]
    assert (got.rung, got.proxy, got.cost, got.wire_bytes, got.address) == (
        *("browser", "proxy.example:3128", 0.25, 7, "192.0.2.1"),
    )
    assert (rows[URL + "missing"].rung, rows[URL + "missing"].status) == ("http", 404)
    failed = rows[URL + "refused"]
    assert (failed.rung, failed.reason, failed.address) == ("http", "tls", ""), "a failure says its rung, too"
    assert (failed.proxy, rows[URL + "missing"].proxy) == ("proxy.example:8080", ""), "and its proxy"
    assert rows[URL + "private"].rung == "", "nobody was asked for it"
    assert {row.session for row in rows.values()} == {"user 7"}


def test_a_row_of_an_expired_lease_has_the_session() -> None:
    entry = Entry(request=Request(URL, session="s"), fingerprint=1, host="site.test")
    lease = Lease(
        entry=entry, token=1, attempt=1, failures=0, throttled=0, granted_at=1.0, start_by=2.0, deadline=3.0
    )
    row = expired_attempt(lease, 4.0, "w")
    assert (row.session, row.rung) == ("s", "")
