"""``gossamer explain``: why a URL was, was not, or is not yet fetched."""

from __future__ import annotations

import re
import time
from typing import TYPE_CHECKING, Annotated, Any

import typer

from gossamer.cli import completion
from gossamer.cli.desk import NAMED, at_desk, job_of
from gossamer.cli.options import AsJson, Data, Set, settings_of
from gossamer.cli.output import attempt_json, iso, local, plain_url, print_facts, print_json
from gossamer.words.errors import Remark, UsageError

if TYPE_CHECKING:
    from gossamer.cli.lens import Lens, Lenses
    from gossamer.policy.explain import Explanation, Facts
    from gossamer.wiring.desk import Desk
    from gossamer.words.model import Entry, Job

EXAMPLES = """
  gossamer explain https://shop.example/a/1
  gossamer explain https://shop.example/a/1 --job shop-3 --spider shop.py
  gossamer explain https://shop.example/a/1 --json
"""
JOBS = 100
"""Jobs that are asked when none is named: the newest."""
TRIES = 20
_HOST = re.compile(r"^(localhost|[\w-]+(\.[\w-]+)+)(:\d+)?([/?#]|$)")


def explain(
    url: Annotated[str, typer.Argument(metavar="URL", help="The URL that is asked about.")],
    *,
    job: Annotated[
        str | None,
        typer.Option(
            metavar="JOB",
            help="A job's id or name [default: the newest that knows the URL].",
            autocompletion=completion.jobs,
        ),
    ] = None,
    spider: Annotated[
        str | None,
        typer.Option(
            metavar="SPIDER",
            help="The job's spider, by name or FILE.py, where it is not found.",
            autocompletion=completion.spiders,
        ),
    ] = None,
    data: Data = None,
    settings: Set = None,
    as_json: AsJson = False,
) -> None:
    """Say why a URL was, was not, or is not yet fetched.

    From the queue, the ledger, what is remembered of robots.txt, and the scope of the job's spider. No
    host is asked. Settings that the crawl got on its command line have to be given here too.
    """
    from gossamer.cli.lens import Lenses
    from gossamer.observe.units import duration, size
    from gossamer.policy.explain import Show
    from gossamer.policy.explain import explain as explained

    lenses = Lenses(spider, data, settings)
    wanted = (f"https://{url}", f"http://{url}") if _HOST.match(url) else (url,)

    async def work(desk: Desk) -> Facts:
        chosen, meant = await _choose(desk, lenses, wanted, job)
        return await _facts(desk, chosen, lenses.of(chosen), meant)

    facts = at_desk(settings_of(data, settings), work)
    explanation = explained(facts, Show(duration, local, size))
    if as_json:
        print_json(_json(facts, explanation))
        return
    first, *more = explanation.lines
    print_facts(
        [
            ("url", plain_url(facts.url, 1000)),
            ("job", f"{facts.job.id} ({plain_url(facts.job.target)})"),
            ("answer", explanation.answer.value.replace("_", " ")),
            ("why", plain_url(first, 2000)),
            *(("", plain_url(line, 2000)) for line in more),
        ]
    )


async def _choose(desk: Desk, lenses: Lenses, urls: tuple[str, ...], name: str | None) -> tuple[Job, str]:
    """The job that was named, or the newest that knows one of the URLs, or the newest; and that URL.

    Where only a spider was named, its jobs are meant.
    """
    jobs = (await desk.book.list())[:JOBS] if name is None else [await job_of(desk, name)]
    if not jobs:
        raise UsageError("there is no job yet; `gossamer crawl` starts one")
    if name is None and lenses.spider is not None:
        ids = ", ".join(job.id for job in jobs[:NAMED])
        jobs = [job for job in jobs if lenses.of(job).spider is not None]
        if not jobs:
            raise UsageError(f"no job is of --spider {lenses.spider}; the newest are: {ids}")
    for job in jobs:
        lens = lenses.of(job, strict=name is not None)
        for url in urls:
            entry = lens.entry(url, job.key)
            if entry is not None and await _knows(desk, job, entry):
                return job, url
    scheme = jobs[0].target.partition("://")[0]
    return jobs[0], next((url for url in urls if url.startswith(f"{scheme}://")), urls[0])


async def _knows(desk: Desk, job: Job, entry: Entry) -> bool:
    """By its requests or, when those are forgotten, by its pages."""
    if await desk.stats(job) is None:
        return await desk.ledger.page(job, entry.fingerprint) is not None
    return await desk.frontier(job).find(entry.fingerprint) is not None


async def _facts(desk: Desk, job: Job, lens: Lens, url: str) -> Facts:
    from gossamer.policy.explain import Facts
    from gossamer.words.lifecycle import State
    from gossamer.words.model import Found, FrontierStats

    entry = lens.entry(url, job.key)
    stats = await desk.stats(job)
    rules, place = await desk.place(job, entry.fingerprint if entry else 0)
    found: Found | None = None
    more: dict[str, Any] = {}
    if entry is not None:
        if stats:
            found = await desk.frontier(job).find(entry.fingerprint)
        elif await desk.store.attempts(job, entry.request.url, 1):
            found = Found(state=State.DONE)
        more = await _of_page(desk, job, entry)
        more["is_denied"] = await desk.robots_deny(entry.request.url) if lens.obeys_robots else False
    tally = await desk.store.tally(job)
    holder = await desk.at_work(job)
    return Facts(
        url=url,
        now=time.time(),
        canonical=entry.request.url if entry else "",
        scoping=lens.scoping(url, job.key),
        job=job,
        stats=stats or FrontierStats(state=job.state),
        is_forgotten=stats is None,
        rules=rules,
        is_at_work=holder is not None,
        process=holder or "",
        found=found,
        since=place.granted_at if found and found.state == "leased" else place.died_at,
        deadline=place.deadline,
        ahead=place.ahead,
        letter=place.number,
        left_out={
            name.removeprefix("link:"): count
            for name, count in tally.dropped.items()
            if name.startswith("link:")
        },
        **more,
    )


async def _of_page(desk: Desk, job: Job, entry: Entry) -> dict[str, Any]:
    """What the store has of it."""
    url = entry.request.url
    attempts = await desk.store.attempts(job, url, TRIES)
    is_known = bool(attempts) and attempts[0].reason == Remark.KNOWN_TARGET
    targets = await desk.store.attempts(job, attempts[0].detail, 1) if is_known else []
    return {
        "attempts": tuple(attempts),
        "target": next(iter(targets), None),
        "page": await desk.ledger.page(job, entry.fingerprint),
        "items": await desk.ledger.items_on(job, url),
    }


def _json(facts: Facts, explanation: Explanation) -> dict[str, Any]:
    found, last = facts.found, facts.attempts[0] if facts.attempts else None
    host = found.host if found else None
    return {
        "url": facts.url,
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
        "due_at": iso(found.due_at) if found and found.due_at else None,
        "host_next_at": iso(host.next_at) if host and host.next_at else None,
        **_lease_json(facts),
        "dead_letter": facts.letter if found and found.state == "dead" else None,
        "attempts": len(facts.attempts),
        "status": last.status if last else None,
        "reason": last.reason if last else "",
        "last_at": iso(last.at) if last else None,
        "items": facts.items,
        "left_out": facts.left_out,
        "tries": [attempt_json(tried) for tried in facts.attempts],
    }


def _lease_json(facts: Facts) -> dict[str, Any]:
    """Since when, until when and by whom; all empty when nobody has it."""
    is_leased = facts.found is not None and facts.found.state == "leased"
    return {
        "leased_at": iso(facts.since) if is_leased else None,
        "deadline": iso(facts.deadline) if is_leased else None,
        "process": int(facts.process) if is_leased and facts.process.isdigit() else None,
    }


COMMANDS = (("explain", explain, EXAMPLES),)
