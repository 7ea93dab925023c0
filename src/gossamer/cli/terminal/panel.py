"""The live view of a crawl: a panel for a terminal. Apart from the line for logs, which needs no rich."""

from __future__ import annotations

import sys
from collections.abc import Sequence

from rich.console import Group, RenderableType
from rich.live import Live
from rich.progress_bar import ProgressBar
from rich.table import Table
from rich.text import Text

from gossamer.cli.terminal.tables import make_console
from gossamer.core.jobs import HostReport
from gossamer.core.text import format_count
from gossamer.observe.run_stats import RunStats
from gossamer.observe.silent_hosts import waiting_for
from gossamer.observe.text import one_line
from gossamer.observe.units import format_duration, format_rate, format_size, format_statuses

LABEL_WIDTH = 9


def open_live() -> Live:
    """Return a view on stderr that is drawn on request; output of a spider appears above it."""
    return Live(
        console=make_console(sys.stderr),
        auto_refresh=False,
        transient=True,
        redirect_stdout=sys.stdout.isatty(),
    )


def render_panel(
    tallies: RunStats,
    now: float,
    *,
    hosts: Sequence[HostReport] = (),
    goals: str = "",
    delay_s: float | None = None,
    status: str = "",
) -> RenderableType:
    """Return the crawl as a panel of at most a dozen lines.

    ``goals`` are the numbers that the site announces, ``delay_s`` is the fixed delay of the crawl, if any.
    """
    facts = Table.grid(padding=(0, 2))
    facts.add_column(style="bold", width=LABEL_WIDTH)
    facts.add_column(overflow="ellipsis", no_wrap=True)
    listed = [("listed", Text(one_line(goals, 120)))] if goals else []
    for label, text in (*_crawl_facts(tallies, now), *listed):
        facts.add_row(label, text)
    bar = _progress_bar(tallies)
    parts: list[RenderableType] = [_head_line(tallies, now, status), bar, facts]
    if hosts:
        parts.append(_hosts_table(hosts, now, delay_s))
    if silent := waiting_for(hosts, now):
        parts.append(Text(silent, style="yellow", no_wrap=True, overflow="ellipsis"))
    return Group(*parts)


def _head_line(tallies: RunStats, now: float, status: str) -> Text:
    head = Text(no_wrap=True, overflow="ellipsis")
    head.append(one_line(tallies.job or "starting", 60), style="bold cyan")
    head.append(f"  {format_duration(tallies.elapsed_s(now))}")
    if status:
        head.append(f"  {one_line(status, 120)}", style="bold yellow")
    return head


def _progress_bar(tallies: RunStats) -> RenderableType:
    """Return a bar: the finished share of all known requests, which grow while links are found."""
    stats, max_pages = tallies.stats, tallies.max_pages
    done, known = stats.done + stats.dead, stats.done + stats.dead + stats.waiting
    label = f"{done:,} of {format_count(known, 'known request')}"
    if max_pages is not None and stats.pages + stats.waiting > max_pages:
        done, known, label = stats.pages, max_pages, f"{stats.pages:,} of {format_count(max_pages, 'page')}"
    left = f"; {tallies.left_text}" if tallies.left_text else ""
    bar = Table.grid(padding=(0, 2))
    bar.add_row(
        ProgressBar(total=max(known, 1), completed=done, width=28),
        Text(f"{label}{left}"),
    )
    return bar


def _crawl_facts(tallies: RunStats, now: float) -> list[tuple[str, Text]]:
    stats = tallies.stats
    trouble = Text(format_count(tallies.retries, "retry", "retries"))
    trouble.append(f"   {stats.dead:,} dead", style="red" if stats.dead else "")
    if tallies.reasons:
        reasons = ", ".join(f"{one_line(name, 30)} {n:,}" for name, n in tallies.reasons.most_common(4))
        trouble.append(f"   ({reasons})", style="dim")
    return [
        (
            "pages",
            Text(
                f"{stats.pages:,}   {format_rate(tallies.current_rate(now))} now   "
                f"{format_rate(tallies.mean_rate(now))} mean"
                f"   {format_size(tallies.bytes)}"
            ),
        ),
        ("items", Text(f"{tallies.items:,}{' in this run' if tallies.resumed else ''}")),
        (
            "queue",
            Text(
                f"{stats.pending:,} pending   {stats.delayed:,} delayed   {stats.leased:,} in flight"
                f"   {format_count(stats.hosts, 'host')}"
            ),
        ),
        ("trouble", trouble),
        ("status", Text(format_statuses(tallies.classes))),
    ]


def _hosts_table(hosts: Sequence[HostReport], now: float, delay_s: float | None) -> Table:
    table = Table(box=None, padding=(0, 2, 0, 0), header_style="dim", pad_edge=False)
    table.add_column("busiest hosts", no_wrap=True, overflow="ellipsis", max_width=40)
    for name in ("pending", "in flight", "delay", "next turn"):
        table.add_column(name, justify="right", no_wrap=True)
    for report in hosts:
        state = report.state
        wait_s = state.next_at - now
        table.add_row(
            Text(one_line(report.host, 60)),
            f"{report.pending:,}",
            f"{state.in_flight:,}",
            format_duration(max(state.delay_s, delay_s or 0.0, state.crawl_delay_s or 0.0)),
            f"in {format_duration(wait_s)}" if wait_s > 0 else "now",
        )
    return table
