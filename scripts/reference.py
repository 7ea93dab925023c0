"""Write the reference pages of the documentation from the code: `python scripts/reference.py`.

With `--check` it writes nothing; the exit code is 1 when a page differs from the code. A name without a
meaning in the code (a setting without a description, a state without a comment) is an error, so every
addition has to be documented.
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
    """Return a table of an enum's members, by value."""
    said = meanings(kind)
    return table((head, "meaning"), [(code(member.value), said[member.name]) for member in kind])


def record_table(kind: type, *, upto: type = Record, without: tuple[str, ...] = ()) -> str:
    """Return a table of a record's fields."""
    said = inherited(kind, upto)
    names = [field for field in kind.__struct_fields__ if field not in without]
    annotations = {name: text for base in kind.__mro__ for name, text in _annotations(base).items()}
    return table(
        ("field", "type", "meaning"), [(code(name), code(annotations[name]), said[name]) for name in names]
    )


def _annotations(base: type) -> dict[str, str]:
    """Return the annotations of a class as text; an ``ItemCount`` is shown as a number."""
    found = vars(base).get("__annotations__", {})
    return {name: str(text).replace("ItemCount", "int") for name, text in found.items()}


# --------------------------------------------------------------------------- pages


def logs_page() -> str:
    """Return the page of the log's fields and events."""
    parts = [
        "# Logs",
        "A crawl, a worker and a supervisor log to stderr, and to [`log.file`](settings.md#log.file) if it "
        "is set: one event per line, from the level [`log.level`](settings.md#log.level) on. `fetch`, "
        "`parse`, `shell`, `submit` and `wait` log to stderr only.",
        "[`log.format`](settings.md#log.format) sets the format:",
        "- `text`: further lines of an event (a traceback) are indented.\n- `json`: every line is one "
        "object with the fields below. Control characters are escaped. Python's own output (warnings, "
        "errors of threads) becomes a line as well. The command draws no live view and prints no final "
        "table.",
        "Errors in the settings themselves are always plain text.",
        "## Secrets",
        "Both formats show user names and passwords in URLs as `***`. They also hide secrets that the "
        "process knows: passwords of servers and proxies, keys of gateways, URLs of webhooks, headers in "
        "the settings that carry credentials, and spider arguments that are named like a secret. Values "
        "under such names in the current request's headers, `meta`, `cb_kwargs` and body are hidden as "
        "well. Values of fewer than six characters are not replaced.",
        "A spider's `self.logger` writes to the log. Output that your code prints to stdout or stderr is not "
        "part of the log and is never changed.",
        "## Fields",
        record_table(LogLine),
        "## Values of `event`",
        enum_table(LogEvent, "event"),
    ]
    return "\n\n".join(parts) + "\n"


def events_page() -> str:
    """Return the page of all events that sinks receive."""
    kinds = [
        kind
        for kind in vars(events).values()
        if isinstance(kind, type) and issubclass(kind, events.Event) and kind is not events.Event
    ]
    parts = [
        "# Events",
        "A crawl sends its events to sinks: objects with a method `emit(event)`, passed to `crawl(..., "
        "sinks=[...])`. Sinks receive each event once and in order. `emit` must be quick and must not "
        "raise. After `start_crawl()`, `async for event in crawling.events()` yields the same events ([how "
        "to](../how-to/use-as-a-library.md)). Import all events from `gossamer`.",
    ]
    for kind in kinds:
        parts += [f"## {kind.__name__}", docstring(kind), record_table(kind, upto=msgspec.Struct)]
    return "\n\n".join(parts)


SAID_ABOUT_HOST = {
    HostSignalKind.UNUSED: "nothing",
    HostSignalKind.FAULT: "the host has answered",
    HostSignalKind.THROTTLED: "the host needs a slower pace",
    HostSignalKind.UNREACHABLE: "the host does not answer",
}
"""The meaning of a fault for its host."""


def errors_page() -> str:
    """Return the page of faults and exceptions."""
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
            "A fault is the reason why an attempt at a request failed. Its name is the `reason` in "
            "`gossamer attempts`, `gossamer dead` and `gossamer explain`. A dead letter stays until you run "
            "`gossamer dead retry` or `drop`.",
            table(("fault", "meaning", "the request is", "meaning for the host"), faults),
            "A request becomes a dead letter after at most `max_retries` retries; `retry_backoff` and "
            "`retry_backoff_cap` set the pauses ([settings](settings.md)). While the host answers other "
            f"requests, at most {FrontierRules().max_throttled} attempts do not count. A single page that "
            "always answers 503 is therefore given up after 15 minutes. With a long delay of its host, "
            f"this takes at most {FrontierRules().max_throttled * LONGEST_PAUSE_S / 60:.0f} minutes, or "
            "longer if Retry-After requires it.",
            "Two more reasons are not faults:",
            table(("reason", "meaning"), [(code(one.value), remarks[one.name]) for one in LedgerReason]),
            "## Exceptions",
            "All exceptions derive from `GossamerError` and are in `gossamer.core.errors`. A command that "
            "fails with one of them returns its exit code.",
            table(("exception", "is a", "exit code", "meaning"), rows),
        ]
    )  # fmt: skip


def _doc(kind: type) -> str:
    return sentence(docstring(kind).partition("\n\nArgs:")[0].replace("\n\n", " "))


def _lower(text: str) -> str:
    return text[:1].lower() + text[1:]


def job_table() -> str:
    """Return a table of the state that each command leads to, from each state of a job."""
    said = meanings(JobCommand)
    rows = [
        (code(one.value), *(JOB_TABLE.get((state, one), "-") for state in (None, *JobState)), said[one.name])
        for one in JobCommand
    ]
    return table(("command", "(new)", *JobState, "when"), rows)


def states_page() -> str:
    """Return the page of the states of requests and jobs."""
    moves = meanings(RequestTransition)
    edges = [
        (code(state.value) if state else "(new)", code(move.value), code(to.value), moves[move.name])
        for (state, move), to in REQUEST_TABLE.items()
    ]
    return "\n\n".join(
        [
            "# States and moves",
            "## States of a request",
            "Every accepted request is in exactly one state. `gossamer status` counts the requests in each "
            "state.",
            enum_table(RequestState, "state"),
            "## Moves",
            "A request changes its state only by these moves.",
            table(("from", "move", "to", "when"), edges),
            "## Verdicts",
            "A verdict is the outcome of one attempt; `gossamer attempts` shows it in a column.",
            enum_table(Verdict, "verdict"),
            "## States of a job",
            "If the last run of a `running` job ended with work left, `gossamer jobs`, `status` (also with "
            "`--json`) and the HTTP API show the job as `unfinished`, with the "
            "[finish reason](results.md#finish-reasons) of that run.",
            enum_table(JobState, "state"),
            "## In short",
            "`gossamer status`, `gossamer top`, the dashboard and the HTTP API (`say`) describe a job with a "
            "sentence about its situation: the first row below that applies. If an active alert needs a "
            "person and the sentence does not name it already, the sentence begins with `shop-1 needs you:` "
            "and the subject of the alert.",
            job_sentences(),
            "The overview and `gossamer top` begin with a sentence about all jobs: the first row below that "
            "applies.",
            overview_sentences(),
            "## Commands of a job",
            "The table shows the new state after each command, for each state before it; `-` means that the "
            "command is refused and changes nothing. After the end of a job is recorded, `gossamer pause`, "
            "`resume` and `cancel` also refuse the job.",
            job_table(),
        ]
    )


def results_page() -> str:
    """Return the page of the summary of a crawl and of its stored data."""
    exits = meanings(ExitCode)
    left_out = [(code(reason), sentence(words)) for reason, words in LEFT_OUT.items()]
    return "\n\n".join(
        [
            "# Results",
            "## Finish reasons",
            "The finish reason says why a run ended. It is `finish_reason` in `crawl --json` and `jobs "
            "--json`, and the argument of a spider's `closed()`. For the reason `error`, the field `error` "
            "of `jobs --json` describes the problem.",
            enum_table(FinishReason, "reason"),
            "## Exit codes",
            table(("code", "meaning"), [(str(member.value), exits[member.name]) for member in ExitCode]),
            "## The summary",
            "`gossamer crawl --json` prints one object with these fields on stdout; `await crawl(...)` "
            f"returns them as a `CrawlResult`. {prose(docstring(CrawlResult).partition('. ')[2])}",
            record_table(CrawlResult, without=NOT_IN_JSON),
            "These fields of `CrawlResult` are not part of the JSON object:",
            table(
                ("field", "meaning"),
                [(code(name), meanings(CrawlResult)[name]) for name in NOT_IN_JSON],
            ),
            "## Notes",
            "Each note has a `kind`, a `text` and `is_warning`. `gossamer crawl` prints all notes on stderr; "
            "with `-q`, it prints only the warnings: all kinds except `left` and `nothing_to_do`.",
            enum_table(NoteKind, "kind"),
            "## Links left out",
            "The crawl does not follow these links. The summary counts them as `left out`, and "
            "`gossamer status` as `link:REASON`.",
            table(("reason", "meaning"), left_out),
            "## Items",
            "The store keeps these fields of each item.",
            record_table(StoredItem),
            "## Attempts",
            f"{docstring(Attempt)} `gossamer attempts` lists these rows.",
            record_table(Attempt),
            "## Flags of pages",
            "Flags record findings about a page from fetching and parsing. They are in `response.flags` "
            "and in the ledger (`gossamer attempts JOB --flag FLAG`). The summary counts pages with "
            "`truncated` or `parse_truncated`.",
            table(("flag", "meaning"), [(code(flag), sentence(words)) for flag, words in FLAGS.items()]),
            "## Answers of explain",
            "`gossamer explain URL` answers with one of these words; the lines below it give the reasons.",
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
    """Return every generated page by its file name. Raises ``Undocumented``."""
    made = {name: make() for name, make in REFERENCE.items()} | api_pages()
    return {name: f"{MADE}\n\n{text}\n" for name, text in made.items()}


def main(arguments: list[str]) -> int:
    """Write the pages, or list those that differ from the code."""
    parser = argparse.ArgumentParser(
        prog="reference.py", description="Write the reference pages of the documentation from the code."
    )
    parser.add_argument(
        "--check", action="store_true", help="write nothing; end with 1 when a page differs from the code"
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
            print(f"docs/reference/{name} differs from the code: run scripts/reference.py")
        return 1 if stale else 0
    for name in stale:
        (PAGES / name).parent.mkdir(parents=True, exist_ok=True)
        (PAGES / name).write_text(made[name])
        print(f"wrote docs/reference/{name}")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
