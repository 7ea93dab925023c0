"""Running a crawl for somebody who watches: views, log, signals, export, summary, exit code."""

from __future__ import annotations

import asyncio
import gc
import logging
import shlex
import sys
from collections.abc import Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field
from pathlib import Path

from gossamer.cli.errors import complain
from gossamer.cli.terminal.exports import Output, export
from gossamer.cli.terminal.live import LiveView, StderrHandler
from gossamer.cli.terminal.output import plain, plain_url, print_facts, print_json
from gossamer.cli.terminal.signals import Stopper
from gossamer.core.errors import OperatorError, Remark, StorageError
from gossamer.core.exits import Exit, exit_of
from gossamer.core.text import quantity
from gossamer.crawl.notes import by_reason
from gossamer.crawl.result import CrawlResult
from gossamer.crawl.run import Crawling, prepare
from gossamer.observe.log import LogFile, LogSink, attach
from gossamer.observe.progress import LineProgress
from gossamer.observe.tallies import Tallies
from gossamer.observe.units import duration, rate, size
from gossamer.spiders.spider import Spider
from gossamer.wiring.backends import open_desk

DEFAULT_DATA = ".gossamer"
SWITCH_S = 0.0005
"""How long the thread that parses may keep the interpreter from the one that writes to SQLite, in seconds.

With Python's own 5 ms a statement of many steps waits that long at every step beside a busy parser: the
same crawl of a documentation site took 1.4 times as long.
"""
GARBAGE = 700
"""Objects made between two searches for garbage, Python's own figure: 10,000 makes no crawl faster."""


@dataclass(frozen=True)
class Plan:
    """What was asked for."""

    target: str | type[Spider]
    arguments: dict[str, str] = field(default_factory=dict)
    overrides: Sequence[str] = ()
    outputs: tuple[Output, ...] = ()
    fresh: bool = False
    quiet: bool = False
    as_json: bool = False


def run_to_end(plan: Plan, *, strict: bool = False) -> Exit:
    """Run the crawl and say how the process is to end. Raises ``OperatorError``."""
    sys.setswitchinterval(SWITCH_S)
    gc.freeze()  # what was imported stays: neither the crawl nor Python's end has to search through it
    gc.set_threshold(GARBAGE)
    result = asyncio.run(run(plan))
    return exit_of(result.ending, strict=strict)


async def run(plan: Plan) -> CrawlResult:
    """Crawl, export, and tell."""
    tallies = Tallies()
    log = logging.getLogger("gossamer.crawl")
    # Lines that tell the progress are for logs; on a terminal the live view does.
    watched = sys.stderr.isatty() and not plan.quiet
    lines = () if watched or plan.quiet else (LineProgress(tallies, lambda line: log.info("%s", line)),)
    crawling = await prepare(
        plan.target,
        arguments=plan.arguments,
        overrides=plan.overrides,
        fresh=plan.fresh,
        sinks=(tallies, LogSink(), *lines),
    )
    tallies.max_pages = crawling.settings.max_pages
    stopper = Stopper(crawling)
    try:
        with ExitStack() as stack:
            terminal = StderrHandler()
            handlers = [terminal, *_log_file(crawling)]
            stack.enter_context(attach(_level(plan, crawling), handlers))
            stack.enter_context(stopper)
            async with LiveView(tallies, crawling, stopper, terminal, on=watched):
                result = await crawling.run()
    finally:
        await crawling.close()
    exported: list[tuple[Output, int]] = []
    try:
        await _export(plan, crawling, exported, skip=stopper.aborted)
    finally:  # a file that cannot be written takes nothing from the crawl
        _tell(plan, crawling, result, exported)
    return result


def _tell(
    plan: Plan, crawling: Crawling, result: CrawlResult, exported: Sequence[tuple[Output, int]]
) -> None:
    """What the crawl came to: for people, or for programs."""
    if not plan.quiet and not plan.as_json:
        summary(result, exported, data=crawling.settings.data)
    for note in result.notes if not plan.quiet else ():
        complain(note)
    if plan.as_json:
        print_json(result.as_json())


def _level(plan: Plan, crawling: Crawling) -> str:
    level = crawling.settings.log.level
    return "warning" if plan.quiet and level in ("debug", "info") else level


def _log_file(crawling: Crawling) -> list[logging.Handler]:
    if not crawling.settings.log.file:
        return []
    path = Path(crawling.settings.log.file).expanduser()
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        return [LogFile(path)]
    except OSError as error:
        raise StorageError(f"the log {path} cannot be written: {error.strerror}") from None


async def _export(plan: Plan, crawling: Crawling, exported: list[tuple[Output, int]], *, skip: bool) -> None:
    """Write the files asked for, also when the crawl was stopped early, and note what was written."""
    if not plan.outputs:
        return
    later = f"`gossamer export {crawling.job.id}{_where(crawling.settings.data)} -o FILE`"
    if skip:
        complain(f"nothing was exported; {later} does it later")
        return
    desk = await open_desk(crawling.settings)
    failed: list[OperatorError] = []
    try:
        data = Path(crawling.settings.data)
        for output in plan.outputs:
            try:
                exported.append((output, await export(output, desk.store, crawling.job, data)))
            except OperatorError as error:  # the other files are written nevertheless
                failed.append(error)
    finally:
        await desk.close()
    for another in failed[1:]:
        complain(str(another))
    if failed:
        raise type(failed[0])(f"{failed[0]}; the items are stored, {later} writes them") from failed[0]


def _where(data: str) -> str:
    """The option that names a data directory, where one has to be named."""
    return "" if data == DEFAULT_DATA else f" --data {shlex.quote(data)}"


def summary(
    result: CrawlResult, exported: Sequence[tuple[Output, int]] = (), *, data: str = DEFAULT_DATA
) -> None:
    """What the crawl came to, on stderr."""
    where = _where(data)
    codes = ", ".join(f"{plain(code)}: {count:,}" for code, count in sorted(result.by_status.items()))
    facts = [
        ("job", f"{result.job} ({result.finish_reason}, {duration(result.seconds)})"),
        ("pages", f"{result.pages:,} ({rate(result.pages_per_second)}, {size(result.bytes)})"),
        ("items", f"{result.items:,} ({result.duplicates:,} seen again)"),
        (
            "requests",
            f"{result.attempts:,} ({quantity(result.retries, 'retry', 'retries')}, {result.dead:,} dead)",
        ),
        ("status", codes or "no answer"),
    ]
    facts += _redirects(result, where)
    for label, kind in (("dropped", "item"), ("left out", "link")):
        reasons = {
            name.partition(":")[2]: n for name, n in result.left_out.items() if name.startswith(f"{kind}:")
        }
        if reasons:
            count = sum(reasons.values())
            facts.append((label, f"{quantity(count, kind)}: {plain(by_reason(reasons))}"))
    facts += [("exported", f"{quantity(count, 'item')} to {output.name}") for output, count in exported]
    for flag, count in result.cut_pages.items():
        step = f"`gossamer attempts {result.job}{where} --flag {flag}`"
        facts.append(("cut", f"{quantity(count, 'page')}: {step}"))
    steps = [f"gossamer export {result.job}{where} -o items.jsonl"] if result.items and not exported else []
    steps += [f"gossamer dead list {result.job}{where}"] if result.dead else []
    facts += [("" if place else "next", step) for place, step in enumerate(steps)]
    print_facts(facts, stream=sys.stderr)


def _redirects(result: CrawlResult, where: str) -> list[tuple[str, str]]:
    """Requests whose callbacks did not run, because they were redirected to a page of another request."""
    count = result.redirects_to_known
    if not count:
        return []
    most = plain_url(result.known_target)
    led = f"1 redirect led to a page that was known already: {most}"
    if count > 1:
        led = f"{quantity(count, 'redirect')} led to pages that were known already, most of them to {most}"
    listed = f"gossamer attempts {result.job}{where} --reason {Remark.KNOWN_TARGET}"
    return [("redirects", led), ("", listed)]
