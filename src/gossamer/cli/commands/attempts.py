"""``gossamer attempts``: the ledger, try by try."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Annotated

import typer

from gossamer.cli import completion
from gossamer.cli.options import AsJson, Data, JobName, Set
from gossamer.cli.terminal.backends import at_desk
from gossamer.cli.terminal.output import LONG, attempt_json, local_short, plain_url, print_json, print_table
from gossamer.cli.terminal.requests import RARE, method_cell, preview_cell
from gossamer.config.overrides import settings_of
from gossamer.core.errors import UsageError

if TYPE_CHECKING:
    from gossamer.core.results import Attempt
    from gossamer.wiring.backends import Backends

EXAMPLES = """
  gossamer attempts shop                          the latest tries of the latest crawl
  gossamer attempts shop --verdict retry --host shop.example
  gossamer attempts shop-3 --status 503 --limit 1000 --json
  gossamer attempts shop --method POST --flag truncated
"""


def list_attempts(
    name: JobName,
    *,
    url: Annotated[str | None, typer.Option(metavar="URL", help="Only those of this URL.")] = None,
    host: Annotated[
        str | None, typer.Option(metavar="HOST", help="Only those of this host (HOST or HOST:PORT).")
    ] = None,
    status: Annotated[
        int | None, typer.Option(metavar="N", min=0, help="Only those with this status; 0 is no answer.")
    ] = None,
    verdict: Annotated[
        str | None,
        typer.Option(
            metavar="VERDICT",
            help="success, redirect, skipped, retry, dead or expired.",
            autocompletion=completion.complete_words(of=completion.known_verdicts),
        ),
    ] = None,
    reason: Annotated[
        str | None,
        typer.Option(
            metavar="REASON",
            help="Only those that ended so: server, robots, dns ...",
            autocompletion=completion.complete_words(of=completion.known_reasons),
        ),
    ] = None,
    method: Annotated[
        str | None, typer.Option(metavar="METHOD", help="Only requests with this method: GET, POST ...")
    ] = None,
    flag: Annotated[
        str | None,
        typer.Option(metavar="FLAG", help="Only pages with this flag: truncated, parse_truncated ..."),
    ] = None,
    limit: Annotated[int, typer.Option("--limit", "-n", metavar="N", min=1, help="The N newest.")] = 50,
    data: Data = None,
    settings: Set = None,
    as_json: AsJson = False,
) -> None:
    """List every try at fetching, newest first.

    The ledger of a crawl: when, what, with which result and how long it took.
    """
    _check_filters(verdict, reason)
    spellings = _spellings_of(url) if url else ()

    async def work(desk: Backends) -> list[Attempt]:
        from gossamer.queries.jobs import find_job

        return await desk.ledger.find_attempts(
            await find_job(desk, name),
            limit,
            urls_=spellings,
            host=host.lower() if host else None,
            status=status,
            verdict=verdict,
            reason=reason,
            method=method.upper() if method else None,
            flag=flag,
        )

    found = at_desk(settings_of(data, settings), work)
    if as_json:
        print_json([attempt_json(tried) for tried in found])
        return
    columns = {name: show for name, show in COLUMNS.items() if name not in RARE or any(map(show, found))}
    print_table(
        tuple(columns),
        ([show(tried) for show in columns.values()] for tried in found),
        right=("try", "status", "ms", "bytes"),
        wide="url",
    )


COLUMNS: dict[str, Callable[[Attempt], object]] = {
    "at": lambda tried: local_short(tried.at, seconds=True),
    "try": lambda tried: tried.attempt,
    "status": lambda tried: tried.status or "-",
    "verdict": lambda tried: tried.verdict.value,
    "reason": lambda tried: tried.reason,
    "ms": lambda tried: f"{tried.elapsed_ms:,.0f}",
    "bytes": lambda tried: tried.size_bytes,
    "flags": lambda tried: " ".join(tried.flags),
    "method": lambda tried: method_cell(tried.method),
    "request": lambda tried: preview_cell(tried.request),
    "url": lambda tried: plain_url(tried.url, LONG),
}


def _check_filters(verdict: str | None, reason: str | None) -> None:
    """A word that the ledger never has would just find nothing."""
    from gossamer.core.errors import Fault, LedgerReason
    from gossamer.core.results import Verdict

    for option, value, known in (
        ("--verdict", verdict, [*Verdict]),
        ("--reason", reason, [*Fault, *LedgerReason]),
    ):
        if value is not None and value not in set(known):
            raise UsageError(f"{option} {value!r} is unknown; known are {', '.join(sorted(known))}")


def _spellings_of(url: str) -> tuple[str, ...]:
    """The URL as typed and in its canonical form, which the ledger has."""
    from gossamer.policy.urls import canonicalise_url

    return tuple({url, canonicalise_url(url) or url})


COMMANDS = (("attempts", list_attempts, EXAMPLES),)
