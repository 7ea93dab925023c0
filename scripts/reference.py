"""Write the reference pages of the documentation from the code: `python scripts/reference.py`.

With `--check` nothing is written; the exit code is 1 when a page differs from what the code says. What has
no meaning in the code (a setting without a description, a state without a comment) is an error: nothing
can be added without being documented.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable
from enum import Enum
from pathlib import Path

import msgspec
from meanings import code, docstring, inherited, meanings, prose, sentence, table
from reference_api import api_pages
from reference_commands import commands_page
from reference_in_short import job_sentences, overview_sentences
from reference_metrics import metrics_page
from reference_settings import settings_page

from gossamer.core import errors, events
from gossamer.core.errors import Fault, GossamerError, LedgerReason
from gossamer.core.exits import ExitCode
from gossamer.core.hosts import FrontierRules, HostSignalKind
from gossamer.core.jobs import StoredItem
from gossamer.core.lifecycle import (
    JOB_TABLE,
    REQUEST_TABLE,
    FinishReason,
    JobCommand,
    JobState,
    RequestState,
    RequestTransition,
)
from gossamer.core.logs import LogEvent, LogLine
from gossamer.core.notes import NoteKind
from gossamer.core.record import Record
from gossamer.core.results import Attempt, Verdict
from gossamer.crawl.result import NOT_IN_JSON, CrawlResult
from gossamer.policy.faults import FAULTS, FaultKind
from gossamer.policy.retry import LONGEST_PAUSE_S
from gossamer.queries.explain.facts import UrlState
from gossamer.queries.reasons import FLAGS, LEFT_OUT

PAGES = Path(__file__).parents[1] / "docs" / "reference"
MADE = "<!-- Made from the code by scripts/reference.py: do not edit. -->"


def enum_table(kind: type[Enum], head: str) -> str:
    """The members of an enum, by value."""
    said = meanings(kind)
    return table((head, "meaning"), [(code(member.value), said[member.name]) for member in kind])


def record_table(kind: type, *, upto: type = Record, without: tuple[str, ...] = ()) -> str:
    """The fields of a record."""
    said = inherited(kind, upto)
    names = [field for field in kind.__struct_fields__ if field not in without]
    annotations = {name: text for base in kind.__mro__ for name, text in _annotations(base).items()}
    return table(
        ("field", "type", "meaning"), [(code(name), code(annotations[name]), said[name]) for name in names]
    )


def _annotations(base: type) -> dict[str, str]:
    """An ``ItemCount`` is a number for everybody who does not call it."""
    found = vars(base).get("__annotations__", {})
    return {name: str(text).replace("ItemCount", "int") for name, text in found.items()}


# --------------------------------------------------------------------------- pages


def logs_page() -> str:
    """What a line of the log says to programs."""
    parts = [
        "# Logs",
        "A crawl, a worker and a supervisor log to stderr, and to [`log.file`](settings.md#log.file) if it "
        "is set: one event a line, from the level [`log.level`](settings.md#log.level) on. "
        "[`log.format`](settings.md#log.format) says how. In `text`, further lines of an event (a traceback) "
        "are indented. In `json` every line is one object, whatever a page, a spider or a library says: its "
        "fields are those below, control characters are escaped, and what Python would write by itself "
        "(warnings, errors of threads) is a line as well. Then no live view is drawn and no table is printed "
        "at the end. `fetch`, `parse`, `shell`, `submit` and `wait` log to stderr alone, in the same form. "
        "What is wrong with the settings themselves is said in plain text.",
        "In both forms, user names and passwords in URLs are shown as `***`, and so are secrets that the "
        "process was told, wherever they turn up: passwords of servers and proxies, keys of gateways, URLs "
        "of webhooks, headers of the settings that carry credentials, spider arguments that are named like a "
        "secret, and what the "
        "request in hand has under such names in its headers, `meta`, `cb_kwargs` and body. A value of fewer "
        "than six characters is not looked for. What your own code prints to stdout or stderr goes there as "
        "it is; `self.logger` of a spider is part of the log.",
        "## Fields",
        record_table(LogLine),
        "## Values of `event`",
        enum_table(LogEvent, "event"),
    ]
    return "\n\n".join(parts) + "\n"


def events_page() -> str:
    """Every event that a sink gets."""
    kinds = [
        kind
        for kind in vars(events).values()
        if isinstance(kind, type) and issubclass(kind, events.Event) and kind is not events.Event
    ]
    parts = [
        "# Events",
        "A crawl reports what happens to sinks: objects with a method `emit(event)`, passed to "
        "`crawl(..., sinks=[...])`. Each event comes once and in order. "
        "`emit` must be quick and must not raise. `async for event in crawling.events()` of a crawl that "
        "`start_crawl()` began gives the same events ([how to](../how-to/use-as-a-library.md)). All are "
        "imported from `gossamer`.",
    ]
    for kind in kinds:
        parts += [f"## {kind.__name__}", docstring(kind), record_table(kind, upto=msgspec.Struct)]
    return "\n\n".join(parts)


SAID_ABOUT_HOST = {
    HostSignalKind.UNUSED: "nothing",
    HostSignalKind.FAULT: "it has answered",
    HostSignalKind.THROTTLED: "it is to be asked more slowly",
    HostSignalKind.UNREACHABLE: "it does not answer",
}
"""What a fault says about its host."""


def errors_page() -> str:
    """Faults and exceptions."""
    said, remarks = meanings(Fault), meanings(LedgerReason)
    endings = {kind: _lower(text.rstrip(".")) for kind, text in meanings(FaultKind).items()}
    faults = [
        (code(fault.value), said[fault.name], endings[row.kind.name], SAID_ABOUT_HOST[row.signal])
        for fault, row in FAULTS.items()
    ]
    classes = [
        kind
        for kind in dict.fromkeys(kind for kind in vars(errors).values() if isinstance(kind, type))
        if isinstance(kind, type) and issubclass(kind, GossamerError) and kind is not GossamerError
    ]
    rows = [
        (
            code(kind.__name__),
            code(kind.__bases__[0].__name__),
            str(getattr(kind, "exit_code", "")),
            _doc(kind),
        )
        for kind in classes
    ]
    return "\n\n".join(
        [
            "# Faults and errors",
            "## Faults",
            "What went wrong in one attempt at a request. The name is the `reason` in `gossamer attempts`, "
            "`gossamer dead` and `gossamer explain`. "
            "A dead letter stays until `gossamer dead retry` or `drop`.",
            table(("fault", "meaning", "the request is", "what it says about the host"), faults),
            "A request is retried `max_retries` times at most before it becomes a dead letter; "
            "`retry_backoff` and `retry_backoff_cap` set the pauses ([settings](settings.md)). "
            f"While its host is well, {FrontierRules().max_throttled} times at most are at no charge: a lone "
            "page that answers 503 for ever is given up after 15 minutes, and with a long delay of its host "
            f"after {FrontierRules().max_throttled * LONGEST_PAUSE_S / 60:.0f} at most, unless Retry-After "
            "asks for more.",
            "Two more reasons are not faults:",
            table(("reason", "meaning"), [(code(one.value), remarks[one.name]) for one in LedgerReason]),
            "## Exceptions",
            "All derive from `GossamerError` and are in `gossamer.core.errors`. A command that ends with one "
            "of them ends with its exit code.",
            table(("exception", "is a", "exit code", "meaning"), rows),
        ]
    )  # fmt: skip


def _doc(kind: type) -> str:
    return sentence(docstring(kind).partition("\n\nArgs:")[0].replace("\n\n", " "))


def _lower(text: str) -> str:
    return text[:1].lower() + text[1:]


def job_table() -> str:
    """Where each command leads a job from each state."""
    said = meanings(JobCommand)
    rows = [
        (code(one.value), *(JOB_TABLE.get((state, one), "-") for state in (None, *JobState)), said[one.name])
        for one in JobCommand
    ]
    return table(("command", "(new)", *JobState, "when"), rows)


def states_page() -> str:
    """The life of a request and of a job."""
    moves = meanings(RequestTransition)
    edges = [
        (code(state.value) if state else "(new)", code(move.value), code(to.value), moves[move.name])
        for (state, move), to in REQUEST_TABLE.items()
    ]
    return "\n\n".join(
        [
            "# States and moves",
            "## States of a request",
            "Every request that was accepted is in exactly one state. `gossamer status` counts them.",
            enum_table(RequestState, "state"),
            "## Moves",
            "A request moves along these edges and no others.",
            table(("from", "move", "to", "when"), edges),
            "## Verdicts",
            "How one attempt ended; a column of `gossamer attempts`.",
            enum_table(Verdict, "verdict"),
            "## States of a job",
            "A job that is `running`, and whose last run has ended with work left, is shown as `unfinished`: "
            "by `gossamer jobs` and `status`, with the [finish reason](results.md#finish-reasons) of that "
            "run, in their `--json`, and by the HTTP API.",
            enum_table(JobState, "state"),
            "## In short",
            "What `gossamer status`, `gossamer top`, the dashboard and the HTTP API (`say`) say of a job "
            "begins with a sentence about its situation: the first of these that holds. If an alert is on "
            "that needs a person, and the sentence does not name it already, `shop-1 needs you:` and the "
            "subject of the alert come before it.",
            job_sentences(),
            "The first sentence about all jobs (the overview, `gossamer top`) is that of the first of these:",
            overview_sentences(),
            "## Commands of a job",
            "Where each command leads from each state; - means that it is refused, and changes nothing. "
            "Once the end of a job is recorded, `gossamer pause`, `resume` and `cancel` refuse it as well.",
            job_table(),
        ]
    )


def results_page() -> str:
    """What a crawl says at its end, and what it leaves behind."""
    exits = meanings(ExitCode)
    left_out = [(code(reason), sentence(words)) for reason, words in LEFT_OUT.items()]
    return "\n\n".join(
        [
            "# Results",
            "## Finish reasons",
            "Why a run ended: `finish_reason` of `crawl --json` and `jobs --json`, the argument of "
            "`closed()` of a spider. Of an `error` the field `error` of `jobs --json` says what happened.",
            enum_table(FinishReason, "reason"),
            "## Exit codes",
            table(("code", "meaning"), [(str(member.value), exits[member.name]) for member in ExitCode]),
            "## The summary",
            "`gossamer crawl --json` prints one object with these fields on stdout; `await crawl(...)` "
            f"returns them as a `CrawlResult`. {prose(docstring(CrawlResult).partition('. ')[2])}",
            record_table(CrawlResult, without=NOT_IN_JSON),
            "The `CrawlResult` has some more fields, which are not part of the JSON object.",
            table(
                ("field", "meaning"),
                [(code(name), meanings(CrawlResult)[name]) for name in NOT_IN_JSON],
            ),
            "## Notes",
            "Each note has a `kind`, a `text` and `is_warning`. `gossamer crawl` prints all notes on stderr; "
            "with `-q`, it prints the warnings alone: all kinds but `left` and `nothing_to_do`.",
            enum_table(NoteKind, "kind"),
            "## Links left out",
            "Links on pages that the crawl does not follow, by reason: `left out` in the summary, "
            "`link:REASON` in `gossamer status`. These links are:",
            table(("reason", "meaning"), left_out),
            "## Items",
            "What the store keeps of an item.",
            record_table(StoredItem),
            "## Attempts",
            f"{docstring(Attempt)} `gossamer attempts` lists these rows.",
            record_table(Attempt),
            "## Flags of pages",
            "What fetching and parsing found out about a page: `response.flags`, and in the ledger "
            "(`gossamer attempts JOB --flag FLAG`). "
            "The summary counts pages with `truncated` or `parse_truncated`.",
            table(("flag", "meaning"), [(code(flag), sentence(words)) for flag, words in FLAGS.items()]),
            "## Answers of explain",
            "The answer of `gossamer explain URL` in one word; the lines below it say why.",
            enum_table(UrlState, "answer"),
        ]
    )


REFERENCE: dict[str, Callable[[], str]] = {
    "settings.md": settings_page,
    "commands.md": commands_page,
    "events.md": events_page,
    "logs.md": logs_page,
    "metrics.md": metrics_page,
    "errors.md": errors_page,
    "states.md": states_page,
    "results.md": results_page,
}


def pages() -> dict[str, str]:
    """Every generated page by its file name. Raises ``Undocumented``."""
    made = {name: make() for name, make in REFERENCE.items()} | api_pages()
    return {name: f"{MADE}\n\n{text}\n" for name, text in made.items()}


def main(arguments: list[str]) -> int:
    """Write the pages, or say which are not what the code says."""
    parser = argparse.ArgumentParser(
        prog="reference.py", description="Write the reference pages of the documentation from the code."
    )
    parser.add_argument(
        "--check", action="store_true", help="write nothing; end with 1 when a page is not what the code says"
    )
    is_check = parser.parse_args(arguments).check
    made = pages()
    stale = [
        name
        for name, text in made.items()
        if not (PAGES / name).exists() or (PAGES / name).read_text() != text
    ]
    if is_check:
        for name in stale:
            print(f"docs/reference/{name} is not what the code says: run scripts/reference.py")
        return 1 if stale else 0
    for name in stale:
        (PAGES / name).parent.mkdir(parents=True, exist_ok=True)
        (PAGES / name).write_text(made[name])
        print(f"wrote docs/reference/{name}")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
