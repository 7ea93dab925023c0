"""``gossamer report``: the quality of items, failures, the freshness of pages, traps and budgets."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Annotated

import typer

from gossamer.cli.errors import print_message
from gossamer.cli.options import AsJson, Data, LatestJob, Set
from gossamer.cli.terminal.backends import run_with_backends
from gossamer.cli.terminal.output import LONG, local_short, local_time, plain, plain_url, print_json
from gossamer.cli.terminal.tables import print_facts, print_table
from gossamer.config.command_settings import settings_of
from gossamer.core.text import format_count
from gossamer.observe.units import format_duration
from gossamer.queries import budgets, failures, freshness, jobs, quality, traps
from gossamer.queries.budgets import BudgetReport
from gossamer.queries.documents import to_document
from gossamer.queries.drops import DropReport
from gossamer.queries.failures import FailureCounts, FailureReport
from gossamer.queries.freshness import FreshnessReport
from gossamer.queries.quality import FieldReport, QualityReport
from gossamer.queries.traps import TrapReport, TrapView
from gossamer.wiring.backends import Backends

HELP = "Report quality, failures, freshness, traps and budgets."
EXAMPLES = """
  gossamer report quality shop
  gossamer report failures shop --by host,reason
  gossamer report traps shop
"""
QUALITY_EXAMPLES = """
  gossamer report quality                   of the latest job
  gossamer report quality shop-3 --full     looks at all of its items now
  gossamer report quality shop --json
"""
FAILURE_EXAMPLES = """
  gossamer report failures                  of the latest job, by reason
  gossamer report failures shop --by host
  gossamer report failures shop --by hour,rung
  gossamer report failures shop-3 --by host,proxy --limit 100 --json
"""
FRESHNESS_EXAMPLES = """
  gossamer report freshness                 of the spider of the latest job
  gossamer report freshness shop --json
"""
TRAP_EXAMPLES = """
  gossamer report traps                     of the latest job
  gossamer report traps shop --all          also patterns that are still open
  gossamer report traps shop-3 --json
"""
BUDGET_EXAMPLES = """
  gossamer report budgets                   of the latest job
  gossamer report budgets shop-3 --json
"""


def show_quality(
    name: LatestJob = None,
    *,
    full: Annotated[
        bool, typer.Option("--full", help="Look at all items now, not at those of the job's end.")
    ] = False,
    data: Data = None,
    settings: Set = None,
    as_json: AsJson = False,
) -> None:
    """Show how good the items of a job are, field by field.

    Also shows fields that are worse than in earlier jobs, and since which page; the items that lack most
    fields; and dropped items, with an example for each reason.
    """

    async def work(backends: Backends) -> QualityReport:
        job = await jobs.find_latest(backends, name)
        return await quality.report_quality(backends, job, full=full)

    found = run_with_backends(settings_of(data, settings), work)
    if as_json:
        print_json(to_document(found))
        return
    print_facts(_quality_facts(found))
    if found.fields:
        print_facts([("", "")])
        _print_fields(found.fields)
    if found.worst:
        print_facts([("", "")])
        _print_worst(found)
    if found.drops:
        print_facts([("", "")])
        _print_drops(found.drops)
    for one in found.findings:
        print_message(plain(one.text, LONG))
    print_message(_acceptance_of(found))


def _acceptance_of(found: QualityReport) -> str:
    """Return a sentence: which job later ones are compared with, or that nothing is worse."""
    if found.accepted_at:
        last = "later jobs are compared with the job that was accepted last"
        return f"accepted on {local_time(found.accepted_at)}; {last}"
    if found.findings:
        return f"the usual values stay; if the site has changed: `gossamer accept {found.job}`"
    return "nothing is worse than usual" if found.jobs else "nothing became worse within the job"


def _print_drops(drops: Sequence[DropReport]) -> None:
    """Print the drops; ``by`` is the stage of the pipeline, or the item's own type."""
    rows = []
    for one in drops:
        sample = one.sample
        found = (sample.stage or sample.type, sample.value, plain_url(sample.url, LONG)) if sample else ()
        rows.append((one.items, one.reason, *(found or ("", "", ""))))
    print_table(("dropped", "because of", "by", "value", "page"), rows, right=("dropped",), wide="page")


def _print_worst(found: QualityReport) -> None:
    rows = (
        (_per_cent(one.score), f"{one.type} {one.key}", ", ".join(one.lacks), plain_url(one.url, LONG))
        for one in found.worst
    )
    print_table(("score", "item", "lacks", "page"), rows, right=("score",), wide="page")


def _quality_facts(found: QualityReport) -> list[tuple[str, object]]:
    per_page = f" ({(found.items + found.dropped) / found.pages:.2g} a page)" if found.pages else ""
    pages = f"{format_count(found.pages, 'page')}{per_page}"
    return [
        ("job", f"{found.job} (looked at on {local_time(found.at)})"),
        ("score", f"{_per_cent(found.score)} of the usual" if found.items else "no items"),
        ("items", f"{found.items:,} of {pages}; {found.sampled:,} looked at"),
        ("dropped", format_count(found.dropped, "item")),
        (
            "usual",
            f"as in {', '.join(found.jobs)}" if found.jobs else "unknown: no earlier job to compare with",
        ),
    ]


def _print_fields(fields: Sequence[FieldReport]) -> None:
    """Print the fields without columns that are empty."""
    columns = {name: show for name, show in COLUMNS.items() if any(show(one) != "" for one in fields)}
    print_table(
        tuple(columns),
        ([show(one) for show in columns.values()] for one in fields),
        right=set(columns).difference(LEFT),
        wide="field",
    )


def _per_cent(share: float) -> str:
    """Return a share in per cent; 100% only for the whole."""
    return "99%" if 0.995 <= share < 1 else f"{share:.0%}"


def _format_number(value: float | None) -> str:
    return "" if value is None else f"{value:,.10g}"


def _format_length(one: FieldReport) -> str:
    if one.shortest is None or one.kind not in ("text", "list", "object"):
        return ""
    return f"{one.shortest:,}" if one.shortest == one.longest else f"{one.shortest:,}-{one.longest:,}"


COLUMNS: dict[str, Callable[[FieldReport], object]] = {
    "field": lambda one: f"{one.type}.{one.field}",
    "fill": lambda one: _per_cent(one.fill),
    "usual": lambda one: "" if one.usual_fill is None else _per_cent(one.usual_fill),
    "values": lambda one: one.kind or "-",
    "wrong": lambda one: one.wrong or "",
    "dropped": lambda one: one.dropped or "",
    "different": lambda one: one.distinct,
    "least": lambda one: _format_number(one.least),
    "most": lambda one: _format_number(one.most),
    "length": _format_length,
}
LEFT = ("field", "values")


# --------------------------------------------------------------------------- failures


def show_failures(
    name: LatestJob = None,
    *,
    by: Annotated[
        str,
        typer.Option(metavar="LIST", help="By what: host, proxy, hour, reason, rung; several with commas."),
    ] = "reason",
    limit: Annotated[int, typer.Option("--limit", "-n", metavar="N", min=1, help="Show the N largest.")] = 50,
    data: Data = None,
    settings: Set = None,
    as_json: AsJson = False,
) -> None:
    """Show failed attempts by host, proxy, hour, reason or rung.

    Grouping by host, proxy or rung (optionally with hour and reason) counts every failed attempt; hosts and
    proxies are remembered for 48 hours. Grouping by several of them counts the latest rows of the ledger.
    """
    wanted = failures.split_dimensions(by)

    async def work(backends: Backends) -> FailureReport:
        return await failures.report_failures(backends, await jobs.find_latest(backends, name), wanted, limit)

    found = run_with_backends(settings_of(data, settings), work)
    if as_json:
        print_json(to_document(found))
        return
    if found.rows:
        has_attempts = found.rows[0].attempts is not None
        print_table(
            (*found.by, "failed", *(("attempts", "share") if has_attempts else ())),
            (_failure_cells(one, found.by) for one in found.rows),
            right=("failed", "attempts", "share"),
        )
    for line in failures.describe_report(found):
        print_message(line)


def _failure_cells(one: FailureCounts, by: Sequence[str]) -> list[object]:
    cells: list[object] = []
    for name in by:
        value = getattr(one, name)
        cells.append(local_short(value) if name == "hour" else value or "-")
    cells.append(one.failed)
    if one.attempts is not None:
        cells += [one.attempts, _per_cent(one.failed / one.attempts) if one.attempts else ""]
    return cells


# --------------------------------------------------------------------------- freshness


def show_freshness(
    name: LatestJob = None, *, data: Data = None, settings: Set = None, as_json: AsJson = False
) -> None:
    """Show how many pages of a spider are due, changed or gone.

    Crawls with freshness.on or --recrawl keep it.
    """

    async def work(backends: Backends) -> FreshnessReport:
        return await freshness.report_freshness(backends, await jobs.find_latest(backends, name))

    found = run_with_backends(settings_of(data, settings), work)
    if as_json:
        print_json(to_document(found))
        return
    median = found.median_interval_s
    facts = [
        ("spider", f"{plain(found.spider)} (latest job {found.job})"),
        ("known", format_count(found.known, "page")),
        ("due", format_count(found.due, "page")),
        ("changed", f"{format_count(found.changed, 'page')} at the latest check"),
        ("unchanged", f"{format_count(found.unchanged, 'page')} at the latest check"),
        ("new", f"{format_count(found.new, 'page')} checked once"),
        ("waiting", f"{format_count(found.waiting, 'page')} not seen yet"),
        ("gone", format_count(found.gone, "page")),
        ("checks", f"{found.checks:,}, which found {format_count(found.changes, 'change')}"),
        ("interval", "unknown" if median is None else f"{format_duration(median)} (median)"),
    ]
    print_facts(facts)


# --------------------------------------------------------------------------- traps


def show_traps(
    name: LatestJob = None,
    *,
    shows_open: Annotated[
        bool, typer.Option("--all", help="Also show groups of URLs that are open.")
    ] = False,
    limit: Annotated[int, typer.Option("--limit", "-n", metavar="N", min=1, help="Show the N largest.")] = 50,
    data: Data = None,
    settings: Set = None,
    as_json: AsJson = False,
) -> None:
    """Show the traps of a job and their cost.

    Traps are endless series of URLs that brought nothing new. Each line is a group of URLs: a pattern (# is
    a part with digits), one path with any query (?*), a directory (*), a host (**) or a domain. Once a group
    has spent half of traps.max_worthless, more than its good pages make up for, links to it are refused.
    """

    async def work(backends: Backends) -> TrapReport:
        job = await jobs.find_latest(backends, name)
        return await traps.report_traps(backends, job, limit, shows_open=shows_open)

    found = run_with_backends(settings_of(data, settings), work)
    if as_json:
        print_json(to_document(found))
        return
    if found.traps:
        numbers = ("pages", "nothing new", "bytes", "refused")
        print_table(("rule", "urls", *numbers), map(_trap_cells, found.traps), right=numbers, wide="urls")
    print_message(traps.describe_report(found))


def _trap_cells(one: TrapView) -> Sequence[object]:
    counts = (one.pages, one.worthless, one.size_bytes, one.refused)
    return (one.rule or "-", plain_url(one.urls, LONG), *counts)


# --------------------------------------------------------------------------- budgets


def show_budgets(
    name: LatestJob = None, *, data: Data = None, settings: Set = None, as_json: AsJson = False
) -> None:
    """Show the budgets of a job's URL patterns and hosts.

    Each line is a budget (budgets.patterns.NAME, or of a host that is over its own): what of it is used, and
    how many requests were skipped and links not taken since it is spent.
    """

    async def work(backends: Backends) -> BudgetReport:
        return await budgets.report_budgets(backends, await jobs.find_latest(backends, name))

    found = run_with_backends(settings_of(data, settings), work)
    if as_json:
        print_json(to_document(found))
        return
    if found.budgets:
        columns = ("budget", "pattern", "used", "spent", "refused")
        rows = (
            (
                plain(one.budget),
                plain(one.pattern, LONG) or "-",
                one.uses,
                ", ".join(one.spent) or "-",
                one.refused,
            )
            for one in found.budgets
        )
        print_table(columns, rows, right=("refused",), wide="pattern")
    print_message(budgets.describe_report(found))


COMMANDS = (
    ("quality", show_quality, QUALITY_EXAMPLES),
    ("failures", show_failures, FAILURE_EXAMPLES),
    ("freshness", show_freshness, FRESHNESS_EXAMPLES),
    ("traps", show_traps, TRAP_EXAMPLES),
    ("budgets", show_budgets, BUDGET_EXAMPLES),
)
