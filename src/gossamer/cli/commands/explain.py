"""``gossamer explain``: why a URL was, was not, or is not yet fetched."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Annotated, Any

import typer

from gossamer.cli import completion
from gossamer.cli.options import AsJson, Data, Set
from gossamer.cli.terminal.backends import at_desk
from gossamer.cli.terminal.output import local_time, plain_url, print_json
from gossamer.cli.terminal.tables import print_facts
from gossamer.config.overrides import settings_of
from gossamer.core.text import iso_time

if TYPE_CHECKING:
    from gossamer.queries.explain import UrlExplanation, UrlFacts
    from gossamer.wiring.backends import Backends

EXAMPLES = """
  gossamer explain https://shop.example/a/1
  gossamer explain https://shop.example/a/1 --job shop-3 --spider shop.py
  gossamer explain https://shop.example/a/1 --json
  gossamer explain https://shop.example/find --method POST --body 'q=shoes'
"""
_HOST = re.compile(r"^(localhost|[\w-]+(\.[\w-]+)+)(:\d+)?([/?#]|$)")


def show_explanation(
    url: Annotated[str, typer.Argument(metavar="URL", help="The URL that is asked about.")],
    *,
    job: Annotated[
        str | None,
        typer.Option(
            metavar="JOB",
            help="A job's id or name [default: the newest that knows the URL].",
            autocompletion=completion.complete_jobs,
        ),
    ] = None,
    spider: Annotated[
        str | None,
        typer.Option(
            metavar="SPIDER",
            help="The job's spider, by name or FILE.py, where it is not found.",
            autocompletion=completion.complete_spiders,
        ),
    ] = None,
    method: Annotated[
        str | None, typer.Option("-X", "--method", metavar="METHOD", help="Of a request that is no GET.")
    ] = None,
    body: Annotated[
        str | None, typer.Option("--body", metavar="BODY", help="The body of the request (a POST).")
    ] = None,
    data: Data = None,
    settings: Set = None,
    as_json: AsJson = False,
) -> None:
    """Say why a URL was, was not, or is not yet fetched.

    From the queue, the ledger, what is remembered of robots.txt, and the scope of the job's spider. No
    host is asked. Settings that the crawl got on its command line have to be given here too.

    Other requests to the URL (a POST, another body) are told of once they were tried; one that waits is found
    with --method and --body.
    """
    from gossamer.cli.facts import choose_job, facts_of
    from gossamer.core.errors import UsageError
    from gossamer.core.requests import Request
    from gossamer.observe.text import shown_url
    from gossamer.observe.units import format_duration, format_size
    from gossamer.queries.explain import NumberFormatter
    from gossamer.queries.explain import explain_facts as explained
    from gossamer.queries.job_scope import JobScopeCache

    lenses = JobScopeCache(spider, data, settings)
    forms = (f"https://{url}", f"http://{url}") if _HOST.match(url) else (url,)
    if ":" not in forms[0]:
        raise UsageError(
            f"{shown_url(url)!r} is neither a URL nor a host: write it in full, http://... or https://..."
        )
    made = method or ("POST" if body is not None else "GET")
    wanted = tuple(Request(form, method=made, body=(body or "").encode()) for form in forms)

    async def work(desk: Backends) -> UrlFacts:
        chosen, meant = await choose_job(desk, lenses, wanted, job)
        return await facts_of(desk, chosen, lenses.scope_of(chosen), meant)

    facts = at_desk(settings_of(data, settings), work)
    explanation = explained(facts, NumberFormatter(format_duration, local_time, format_size))
    if as_json:
        print_json(_explanation_json(facts, explanation))
        return
    first, *more = explanation.lines
    print_facts(
        [
            ("url", plain_url(facts.url, 1000)),
            *([("method", facts.method)] if facts.method != "GET" else []),
            ("job", f"{facts.job.id} ({plain_url(facts.job.target)})"),
            ("answer", explanation.answer.value.replace("_", " ")),
            ("why", plain_url(first, 2000)),
            *(("", plain_url(line, 2000)) for line in more),
        ]
    )


def _explanation_json(facts: UrlFacts, explanation: UrlExplanation) -> dict[str, Any]:
    from gossamer.queries.documents import to_document

    found, last = facts.found, facts.attempts[0] if facts.attempts else None
    host = found.host if found else None
    return {
        "url": facts.url,
        "method": facts.method,
        "canonical": facts.canonical or None,
        "duplicate_of": facts.canonical if explanation.answer == "duplicate" else None,
        "job": facts.job.id,
        "job_state": facts.stats.state.value,
        "answer": explanation.answer.value,
        "page_answer": explanation.page.value,
        "lines": list(explanation.lines),
        "state": found.state.value if found else None,
        "scope_known": facts.scoping is not None,
        "refused": facts.scoping.refused if facts.scoping else "",
        "due_at": iso_time(found.due_at) if found and found.due_at else None,
        "host_next_at": iso_time(host.next_at) if host and host.next_at else None,
        **_lease_json(facts),
        "dead_letter": facts.letter if found and found.state == "dead" else None,
        "attempts": len(facts.attempts),
        "status": last.status if last else None,
        "reason": last.reason if last else "",
        "last_at": iso_time(last.at) if last else None,
        "items": facts.items,
        "left_out": facts.left_out,
        "tries": to_document(facts.attempts),
        "other_requests": [
            _other_json(other, said) for other, said in zip(facts.others, explanation.others, strict=True)
        ],
    }


def _other_json(facts: UrlFacts, explanation: UrlExplanation) -> dict[str, Any]:
    """Another request to the URL, and what became of it."""
    from gossamer.queries.documents import fingerprint_text, to_document

    return {
        "method": facts.method,
        "fingerprint": fingerprint_text(facts.fingerprint),
        "request": to_document(facts.request),
        "answer": explanation.answer.value,
        "lines": list(explanation.lines),
        "tries": to_document(facts.attempts),
    }


def _lease_json(facts: UrlFacts) -> dict[str, Any]:
    """Since when, until when and by whom; all empty when nobody has it."""
    is_leased = facts.found is not None and facts.found.state == "leased"
    return {
        "leased_at": iso_time(facts.since) if is_leased else None,
        "deadline": iso_time(facts.deadline) if is_leased else None,
        "process": int(facts.process) if is_leased and facts.process.isdigit() else None,
    }


COMMANDS = (("explain", show_explanation, EXAMPLES),)
