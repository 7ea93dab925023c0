"""``gossamer attempts``: the ledger, try by try."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Annotated, Any

import typer

from gossamer.cli import completion
from gossamer.cli.options import AsJson, Data, JobName, Set
from gossamer.cli.terminal.backends import run_with_backends
from gossamer.cli.terminal.output import LONG, local_short, plain_url, print_json
from gossamer.cli.terminal.requests import RARE, details_cell, method_cell
from gossamer.cli.terminal.tables import print_table
from gossamer.config.command_settings import settings_of
from gossamer.core.errors import Fault, LedgerReason, UsageError
from gossamer.core.results import Attempt, AttemptFilter, Verdict
from gossamer.queries import jobs, ledger
from gossamer.queries.documents import to_document
from gossamer.queries.ledger import AttemptPage, describe_request, spellings_of
from gossamer.wiring.backends import Backends

PLAIN_RUNG = "http"
EXAMPLES = """
  gossamer attempts shop                          the latest attempts of the latest crawl
  gossamer attempts shop --verdict retry --host shop.example
  gossamer attempts shop-3 --status 503 --limit 1000 --json
  gossamer attempts shop --method POST --flag truncated
  gossamer attempts shop --rung browser
"""


Url = Annotated[str | None, typer.Option(metavar="URL", help="Only attempts at this URL.")]
Host = Annotated[
    str | None, typer.Option(metavar="HOST", help="Only those of this host (HOST or HOST:PORT).")
]
Status = Annotated[
    int | None, typer.Option(metavar="N", min=0, help="Only attempts with this status; 0 means no answer.")
]
VerdictName = Annotated[
    str | None,
    typer.Option(
        metavar="VERDICT",
        help="success, redirect, skipped, retry, dead or expired.",
        autocompletion=completion.complete_words(of=completion.known_verdicts),
    ),
]
Reason = Annotated[
    str | None,
    typer.Option(
        metavar="REASON",
        help="Only attempts with this reason: server, robots, dns ...",
        autocompletion=completion.complete_words(of=completion.known_reasons),
    ),
]
Method = Annotated[
    str | None, typer.Option(metavar="METHOD", help="Only requests with this method: GET, POST ...")
]
Flag = Annotated[
    str | None, typer.Option(metavar="FLAG", help="Only pages with this flag: truncated, parse_truncated ...")
]
Rung = Annotated[
    str | None,
    typer.Option(metavar="RUNG", help="Only attempts by this rung: http, browser, http+datacenter ..."),
]
ProxyName = Annotated[
    str | None,
    typer.Option(
        "--proxy", metavar="NAME", help="Only attempts through this proxy, as `gossamer proxies` has it."
    ),
]
Limit = Annotated[int, typer.Option("--limit", "-n", metavar="N", min=1, help="Show the N newest.")]


def list_attempts(
    name: JobName,
    *,
    url: Url = None,
    host: Host = None,
    status: Status = None,
    verdict: VerdictName = None,
    reason: Reason = None,
    method: Method = None,
    flag: Flag = None,
    rung: Rung = None,
    proxy: ProxyName = None,
    limit: Limit = 50,
    data: Data = None,
    settings: Set = None,
    as_json: AsJson = False,
) -> None:
    """List every attempt, newest first.

    The ledger of a crawl: when, what, with which result and how long it took.
    """
    urls = spellings_of(url) if url else None
    more = {"host": host, "status": status, "method": method, "flag": flag, "rung": rung, "proxy": proxy}
    which = _make_filter(verdict, reason, urls=urls, **more)

    async def work(backends: Backends) -> AttemptPage:
        return await ledger.find_attempts(backends, await jobs.find_job(backends, name), which, limit)

    found = run_with_backends(settings_of(data, settings), work).attempts
    if as_json:
        print_json(to_document(found))
        return
    columns = {name: show for name, show in COLUMNS.items() if _is_worth_showing(name, show, found)}
    print_table(
        tuple(columns),
        ([show(tried) for show in columns.values()] for tried in found),
        right=("try", "status", "ms", "bytes"),
        wide="url",
    )


def _is_worth_showing(name: str, show: Callable[[Attempt], object], found: Sequence[Attempt]) -> bool:
    """Whether a column tells these attempts apart: some are empty or the same for most crawls."""
    if name == "rung":
        return any(tried.rung not in ("", PLAIN_RUNG) for tried in found)
    return name not in (*RARE, "proxy") or any(map(show, found))


def _request_cell(tried: Attempt) -> str:
    return details_cell(describe_request(tried))


COLUMNS: dict[str, Callable[[Attempt], object]] = {
    "at": lambda tried: local_short(tried.at, seconds=True),
    "try": lambda tried: tried.attempt,
    "status": lambda tried: tried.status or "-",
    "verdict": lambda tried: tried.verdict.value,
    "reason": lambda tried: tried.reason,
    "ms": lambda tried: f"{tried.elapsed_ms:,.0f}",
    "bytes": lambda tried: tried.size_bytes,
    "rung": lambda tried: tried.rung,
    "proxy": lambda tried: tried.proxy,
    "flags": lambda tried: " ".join(tried.flags),
    "method": lambda tried: method_cell(tried.method),
    "request": _request_cell,
    "url": lambda tried: plain_url(tried.url, LONG),
}


def _make_filter(verdict: str | None, reason: str | None, **more: Any) -> AttemptFilter:
    """A word that the ledger never has would just find nothing."""
    verdicts = [known.value for known in Verdict]
    reasons = [known.value for known in (*Fault, *LedgerReason)]
    given = {name: value for name, value in more.items() if value is not None}
    return AttemptFilter(
        verdict=_known_word("--verdict", verdict, verdicts),
        reason=_known_word("--reason", reason, reasons),
        **given,
    )


def _known_word(option: str, value: str | None, known: Sequence[str]) -> str:
    if value is not None and value not in known:
        raise UsageError(f"{option} {value!r} is unknown; known are {', '.join(sorted(known))}")
    return value or ""


COMMANDS = (("attempts", list_attempts, EXAMPLES),)
