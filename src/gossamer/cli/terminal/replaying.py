"""Replay a job at a terminal: the live view, and the differences of items."""

from __future__ import annotations

import logging
import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack
from itertools import islice
from typing import Any

import msgspec

from gossamer.cli.errors import print_message, print_notes
from gossamer.cli.terminal.live import LiveView, StderrHandler
from gossamer.cli.terminal.output import plain, print_json
from gossamer.cli.terminal.signals import StopHandler
from gossamer.cli.terminal.tables import print_facts, print_table
from gossamer.config.option import SettingOption
from gossamer.core.errors import Fault
from gossamer.core.exits import ExitCode, exit_of
from gossamer.core.item_diff import DiffCounts, ItemDifference
from gossamer.core.jobs import Job
from gossamer.core.record import Record
from gossamer.core.text import by_reason, format_count
from gossamer.crawl.replay import ReplayResult, open_version, prepare_replay
from gossamer.observe.log_setup import attach_handlers
from gossamer.observe.progress import ProgressSink
from gossamer.observe.run_stats import RunStats
from gossamer.observe.text import json_line
from gossamer.observe.units import format_duration
from gossamer.queries.item_diff import ItemDiff
from gossamer.queries.jobs import find_job
from gossamer.wiring.backends import Backends

SHOWN = 20
"""Maximum differences in a table; JSON has all of them."""
LONGEST = 60
"""Maximum characters of a value in it."""


class ReplayCommand(Record, frozen=True):
    """The options of ``gossamer replay``."""

    job: str
    spider: str = ""
    arguments: dict[str, str] = {}
    options: Sequence[SettingOption] = ()
    shows_diff: bool = False
    as_json: bool = False


async def replay_job(backends: Backends, command: ReplayCommand) -> ExitCode:
    """Make a version of a job, and say how it differs. Raises ``OperatorError``."""
    job = await find_job(backends, command.job)
    result = await _watch_replay(backends, job, command)
    if result.crawled.ending.is_early:
        print_message(f"stopped: nothing of the replay is kept, {job.id} is as it was")
        return ExitCode.STOPPED
    made, made_job = await open_version(backends, result.version, job)
    diff = ItemDiff()
    try:
        await diff.read_items(backends.store.read_items(job), made.store.read_items(made_job))
        if command.as_json:
            _write_document(diff, result, lists_all=command.shows_diff)
        else:
            _print_result(diff, result, shows_diff=command.shows_diff)
        for warning in result.crawled.warnings:
            print_message(warning, logging.WARNING)
        print_notes(result.crawled.notes)
    finally:
        diff.close()
        await made.close()
    return exit_of(result.ending)


async def _watch_replay(backends: Backends, job: Job, command: ReplayCommand) -> ReplayResult:
    """Run the replay with a live view or lines of progress. The version counts and lists failures."""
    tallies, is_watched = RunStats(), False

    def log_progress(line: str) -> None:
        if not is_watched:
            logging.getLogger("gossamer.crawl").info("%s", line)

    replay = await prepare_replay(
        backends,
        job,
        target=command.spider,
        arguments=command.arguments,
        options=command.options,
        sinks=(tallies, ProgressSink(tallies, log_progress)),
    )
    crawling = replay.crawling
    log = crawling.settings.log
    stopper, terminal = StopHandler(crawling), StderrHandler()
    is_watched = sys.stderr.isatty() and not command.as_json and log.format == "text"
    try:
        with ExitStack() as stack:
            stack.enter_context(attach_handlers(log.level, [terminal], log.format))
            stack.enter_context(stopper)
            async with LiveView(tallies, crawling, stopper, terminal, on=is_watched):
                return await replay.run()
    finally:
        await replay.close()


# --------------------------------------------------------------------------- for people


def _print_result(diff: ItemDiff, result: ReplayResult, *, shows_diff: bool) -> None:
    differences = diff.differences()
    if shows_diff:
        _print_differences(differences)
        sys.stdout.flush()  # before messages on stderr
    for _ in differences:
        pass  # they are counted
    print_facts(_facts_of(result, diff.counts, shows_diff=shows_diff), stream=sys.stderr)


def _print_differences(differences: Iterator[ItemDifference]) -> None:
    rows = [row for difference in islice(differences, SHOWN) for row in _rows_of(difference)]
    if rows:
        print_table(("change", "item", "field", "before", "after"), rows, wide="after")
    rest = sum(1 for _ in differences)
    if rest:
        sys.stdout.write(f"... and {format_count(rest, 'more item', 'more items')}; --json lists all\n")


def _rows_of(difference: ItemDifference) -> Iterator[Sequence[str]]:
    item = difference.item
    name = plain(f"{item.type} {item.key}", LONGEST)
    if not difference.fields:
        sides = (difference.before, difference.after)
        yield difference.kind, name, "", *("" if side is None else _shown(side.data) for side in sides)
    for field, values in difference.fields.items():
        yield difference.kind, name, plain(field, LONGEST), _shown(values.before), _shown(values.after)


def _shown(value: Any) -> str:
    """Return a value as JSON; a missing field is not ``null``."""
    return "" if value is msgspec.UNSET else plain(json_line(value), LONGEST)


def _facts_of(result: ReplayResult, counts: DiffCounts, *, shows_diff: bool) -> Iterator[tuple[str, str]]:
    crawled, version = result.crawled, result.version
    yield "version", f"{version.job} of {version.base} ({format_duration(crawled.seconds)})"
    yield "pages", f"{crawled.pages:,}"
    yield "items", f"{crawled.items:,} ({_format_counts(counts)})"
    if counts.fields:
        yield "fields", plain(by_reason(counts.fields))
    if result.missing:
        yield "missing", f"{format_count(result.missing, 'request')} to pages that are not in the archive"
    if result.refused:
        yield "refused", f"{format_count(result.refused, 'request')} that robots.txt did not allow"
    if result.left_out:
        yield (
            "left out",
            f"{format_count(result.left_out, 'request')} to pages that were not sent again",
        )
    failed = dict(result.failures)
    if gone := failed.pop(Fault.GONE, 0):  # an answer, and no failure of the spider
        yield "gone", f"{format_count(gone, 'request')} to pages that the site did not have"
    if failed:
        yield "failed", plain(by_reason(failed))
        yield "", f"gossamer attempts {crawled.job} --data {result.data} --verdict dead"
    steps = [] if shows_diff or not (counts.added or counts.changed or counts.lost) else ["--diff"]
    steps += [f"--promote {version.job}"] if counts.added or counts.changed else []
    for place, step in enumerate((*steps, f"--discard {version.job}")):
        yield "" if place else "next", f"gossamer replay {version.base} {step}"


def _format_counts(counts: DiffCounts) -> str:
    kinds = {"added": counts.added, "changed": counts.changed, "lost": counts.lost}
    said = [f"{count:,} {kind}" for kind, count in kinds.items() if count]
    return ", ".join([*said, f"{counts.unchanged:,} as before"])


# --------------------------------------------------------------------------- for programs


def _write_document(diff: ItemDiff, result: ReplayResult, *, lists_all: bool) -> None:
    """Write one object on one line; differences are written one by one, before their totals."""
    differences = diff.differences()
    if lists_all:
        sys.stdout.write('{"changes":[')
        for place, difference in enumerate(differences):
            sys.stdout.write(f"{',' if place else ''}{json_line(_document_of(difference))}")
        sys.stdout.write(f"],{json_line(_summary_of(diff, result))[1:]}\n")
        return
    for _ in differences:
        pass  # they are counted
    print_json(_summary_of(diff, result))


def _document_of(difference: ItemDifference) -> Mapping[str, Any]:
    item = difference.item
    said: dict[str, Any] = {"change": difference.kind, "type": item.type, "key": item.key, "url": item.url}
    if difference.fields:
        return {**said, "fields": msgspec.to_builtins(difference.fields)}
    return {**said, "item": item.data}


def _summary_of(diff: ItemDiff, result: ReplayResult) -> Mapping[str, Any]:
    crawled = result.crawled
    return {
        "job": result.version.base,
        "version": result.version.job,
        "data": result.data,
        "pages": crawled.pages,
        "items": crawled.items,
        **msgspec.to_builtins(diff.counts),
        "missing": result.missing,
        "refused": result.refused,
        "left_out": result.left_out,
        "failed": result.failures,
        "seconds": crawled.seconds,
    }
