"""Run a crawl at a terminal: views, log, signals, export, summary, exit code."""

from __future__ import annotations

import asyncio
import gc
import logging
import shlex
import sys
from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import Any

from gossamer.cli.errors import print_message, print_notes, write_messages_with
from gossamer.cli.terminal.live import LiveView, StderrHandler
from gossamer.cli.terminal.output import plain, plain_url, print_json, stat_facts
from gossamer.cli.terminal.process_log import summary_details
from gossamer.cli.terminal.signals import StopHandler
from gossamer.config.option import SettingOption
from gossamer.core.drops import DropKind
from gossamer.core.errors import LedgerReason, OperatorError
from gossamer.core.exits import ExitCode, exit_of
from gossamer.core.logs import LogEvent
from gossamer.core.record import Record
from gossamer.core.results import JAVASCRIPT_SHELL, NOT_READ
from gossamer.core.text import by_reason, format_count
from gossamer.crawl.result import CrawlResult
from gossamer.crawl.run import CrawlRun, prepare_crawl
from gossamer.export.fields import FieldChoice
from gossamer.observe.log import LogSink
from gossamer.observe.log_lines import message_formatter_of
from gossamer.observe.log_setup import attach_handlers, open_log_file
from gossamer.observe.progress import ProgressSink
from gossamer.observe.run_stats import RunStats
from gossamer.observe.units import format_costs, format_duration, format_rate, format_rungs, format_size
from gossamer.queries.export_files import ExportFile, check_continuation, write_output
from gossamer.runtime.log_context import line_details
from gossamer.spiders.spider import Spider

DEFAULT_DATA = ".gossamer"
SWITCH_S = 0.0005
"""How long the thread that parses may keep the interpreter from the one that writes to SQLite, in seconds.

With Python's own 5 ms a statement of many steps waits that long at every step beside a busy parser: the
same crawl of a documentation site took 1.4 times as long.
"""
GARBAGE = 700
"""Objects made between two searches for garbage, Python's own figure: 10,000 makes no crawl faster."""


class CrawlCommand(Record, frozen=True):
    """The options of ``gossamer crawl``."""

    target: str | type[Spider]
    arguments: dict[str, str] = {}
    overrides: Mapping[str, Any] | Sequence[SettingOption] = ()
    outputs: tuple[ExportFile, ...] = ()
    fresh: bool = False
    key: bytes = b""  # of the one job that this is
    quiet: bool = False
    as_json: bool = False


def run_to_end(plan: CrawlCommand, *, strict: bool = False) -> ExitCode:
    """Run the crawl and say how the process is to end. Raises ``OperatorError``."""
    sys.setswitchinterval(SWITCH_S)
    gc.freeze()  # keeps the garbage collector off imported objects, in the crawl and at exit
    gc.set_threshold(GARBAGE)
    result = asyncio.run(run_crawl(plan))
    return exit_of(result.ending, strict=strict)


async def run_crawl(plan: CrawlCommand) -> CrawlResult:
    """Crawl, export and print the result."""
    tallies = RunStats()
    is_watched = False

    def log_progress(line: str) -> None:
        if not is_watched:  # on a terminal the live view tells it
            logging.getLogger("gossamer.crawl").info("%s", line, extra=line_details(event=LogEvent.PROGRESS))

    crawling = await prepare_crawl(
        plan.target,
        arguments=plan.arguments,
        overrides=plan.overrides,
        fresh=plan.fresh,
        key=plan.key,
        sinks=(tallies, LogSink(), ProgressSink(tallies, log_progress)),
    )
    settings = crawling.settings.log
    is_watched = sys.stderr.isatty() and not plan.quiet and settings.format == "text"
    write_messages_with(message_formatter_of(settings.format))
    tallies.max_pages = crawling.settings.max_pages
    stopper = StopHandler(crawling)
    try:
        for output in plan.outputs:
            data, is_new = Path(crawling.settings.data), crawling.settings.memory
            check_continuation(output, crawling.job, data, is_new=is_new)
        with ExitStack() as stack:
            terminal = StderrHandler()
            handlers = [terminal, *open_log_file(settings.file)]
            stack.enter_context(attach_handlers(_log_level(plan, crawling), handlers, settings.format))
            stack.enter_context(stopper)
            async with LiveView(tallies, crawling, stopper, terminal, on=is_watched):
                result = await crawling.run()
    finally:
        await crawling.close()
    exported: list[tuple[str, int]] = []
    try:
        await _write_exports(plan, crawling, exported, skip=stopper.is_aborted)
    finally:  # a file that cannot be written takes nothing from the crawl
        _report_result(plan, crawling, result, exported)
    return result


def _report_result(
    plan: CrawlCommand, crawling: CrawlRun, result: CrawlResult, exported: Sequence[tuple[str, int]]
) -> None:
    """Print the result of the crawl for people, or for programs."""
    if not plan.quiet and crawling.settings.log.format == "json":
        print_message(f"{result.job} ended ({result.finish_reason})", logging.INFO, **summary_details(result))
    elif not plan.quiet and not plan.as_json:
        settings = crawling.settings
        print_summary(result, exported, data=settings.data, is_kept=not settings.memory)
    for warning in result.warnings:
        print_message(warning, logging.WARNING)
    print_notes(result.notes, quiet=plan.quiet)
    if plan.as_json:
        print_json(result.as_json())


def _log_level(plan: CrawlCommand, crawling: CrawlRun) -> str:
    level = crawling.settings.log.level
    return "warning" if plan.quiet and level in ("debug", "info") else level


async def _write_exports(
    plan: CrawlCommand, crawling: CrawlRun, exported: list[tuple[str, int]], *, skip: bool
) -> None:
    """Write the requested files, also when the crawl was stopped early, and note them."""
    if not plan.outputs:
        return
    is_kept = not crawling.settings.memory
    later = f"`gossamer export {crawling.job.id}{_data_option(crawling.settings.data)} -o FILE`"
    if skip:
        print_message(f"nothing was exported; {later} does it later" if is_kept else "nothing was exported")
        return
    backends = await crawling.open_backends()
    failed: list[OperatorError] = []
    fields = FieldChoice(crawling.spider.export_fields)
    try:
        for output in plan.outputs:
            try:
                exported += await write_output(output, backends, crawling.job, sys.stdout, fields)
            except OperatorError as error:  # the other files are written nevertheless
                failed.append(error)
    finally:
        await backends.close()
    for another in failed[1:]:
        print_message(str(another))
    if failed:
        way = f"the items are stored, {later} writes them" if is_kept else "the items are lost"
        raise type(failed[0])(f"{failed[0]}; {way}") from failed[0]


def _data_option(data: str) -> str:
    """Return the option for the data directory, if a command needs it."""
    return "" if data == DEFAULT_DATA else f" --data {shlex.quote(data)}"


def print_summary(
    result: CrawlResult,
    exported: Sequence[tuple[str, int]] = (),
    *,
    data: str = DEFAULT_DATA,
    is_kept: bool = True,
) -> None:
    """Print the result on stderr, and the commands that continue with it, if it is kept."""
    from gossamer.cli.terminal.tables import print_facts  # Rich: a quiet crawl does without

    where = _data_option(data)
    codes = ", ".join(f"{plain(code)}: {count:,}" for code, count in sorted(result.by_status.items()))
    facts = [
        ("job", f"{result.job} ({result.finish_reason}, {format_duration(result.seconds)})"),
        ("pages", f"{result.pages:,} ({format_rate(result.pages_per_second)}, {format_size(result.bytes)})"),
        ("items", f"{result.items:,} ({result.duplicates:,} seen again)"),
        *(("listed", plain(goal.to_text())) for goal in result.goals),
        *stat_facts(result.stats),
        *(("budget", plain(budget.to_text())) for budget in result.budgets),
        (
            "requests",
            f"{result.attempts:,} ({format_count(result.retries, 'retry', 'retries')}, {result.dead:,} dead)",
        ),
        ("status", codes or "no answer"),
    ]
    paid = (
        ("rungs", format_rungs(result.by_rung)),
        ("cost", format_costs(result.cost, result.cost_by_rung)),
    )
    facts += [fact for fact in paid if fact[1]]
    facts += _redirect_facts(result, where)[: None if is_kept else 1]
    for label, kind in (("dropped", DropKind.ITEM), ("left out", DropKind.LINK), ("damaged", DropKind.FILE)):
        reasons = kind.select_from(result.left_out)
        if reasons:
            count = sum(reasons.values())
            facts.append((label, f"{format_count(count, kind)}: {plain(by_reason(reasons))}"))
    facts += [("exported", f"{format_count(count, 'item')} to {name}") for name, count in exported]
    for flag, count in result.cut_pages.items() if is_kept else ():
        step = f"`gossamer attempts {result.job}{where} --flag {flag}`{_PAGE_HINTS.get(flag, '')}"
        facts.append((_PAGE_LABELS.get(flag, "cut"), f"{format_count(count, 'page')}: {step}"))
    steps = [f"gossamer export {result.job}{where} -o items.jsonl"] if result.items and not exported else []
    steps += [f"gossamer dead list {result.job}{where}"] if result.dead else []
    steps = steps if is_kept else []
    facts += [("" if place else "next", step) for place, step in enumerate(steps)]
    print_facts(facts, stream=sys.stderr)


_PAGE_LABELS = {"near_duplicate": "alike", NOT_READ: "not read", JAVASCRIPT_SHELL: "empty"}
"""Labels of pages that were not taken as they are; others were truncated."""
_PAGE_HINTS = {JAVASCRIPT_SHELL: ": they are made by scripts, which `--set fetch=browser` runs"}


def _redirect_facts(result: CrawlResult, where: str) -> list[tuple[str, str]]:
    """Requests whose callbacks did not run, because they were redirected to a page of another request."""
    count = result.redirects_to_known
    if not count:
        return []
    most = plain_url(result.known_target)
    led = f"1 redirect led to a page that was known already: {most}"
    if count > 1:
        led = (
            f"{format_count(count, 'redirect')} led to pages that were known already, most of them to {most}"
        )
    listed = f"gossamer attempts {result.job}{where} --reason {LedgerReason.KNOWN_TARGET}"
    return [("redirects", led), ("", listed)]
