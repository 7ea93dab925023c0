"""Fetches one page by every rung of a ladder, one after the other at the host's pace."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

from gossamer.config.settings import Settings
from gossamer.core.errors import FetchError, MissingServiceError, SettingError, UsageError
from gossamer.core.record import Record
from gossamer.core.rungs import explain_wrong_rung, way_of
from gossamer.crawl.single_page import PageCommand, PageFetcher, PageVisit
from gossamer.observe.text import shown_url
from gossamer.spiders.response import Response

BLOCK_FLAG = "block:"


class RungVisit(Record, frozen=True, kw_only=True):
    """The result of one rung."""

    rung: str
    seen_as: str = ""  # identity that the rung presents
    url: str = ""  # after redirects
    status: int = 0  # 0: no answer
    size_bytes: int = 0
    wire_bytes: int = 0
    elapsed_s: float = 0.0
    proxy: str = ""
    cost: float = 0.0
    block: str = ""  # the sign of a refusal, if the page refuses us
    links: int = 0
    title: str = ""
    fault: str = ""  # why no answer came
    error: str = ""  # for people: why there is none, or why the rung cannot be used


def split_rungs(text: str) -> tuple[str, ...]:
    """Parse the typed rungs. Raises ``UsageError`` for an unknown rung, with the nearest."""
    rungs = tuple(dict.fromkeys(rung.strip() for rung in text.split(",") if rung.strip()))
    for rung in rungs:
        if wrong := explain_wrong_rung(rung):
            raise UsageError(f"--rungs {text!r}: {wrong}")
    if not rungs:
        raise UsageError("--rungs names no rung; write for instance --rungs http,browser")
    return rungs


def visit_by_rungs(
    command: PageCommand, rungs: Sequence[str], tell: Callable[[str], None]
) -> Iterator[RungVisit]:
    """Yield the result of each rung, by default of those of the settings. ``tell`` receives lines for people.

    Raises ``UsageError`` if robots.txt does not allow the page.
    """
    with PageFetcher(command, tell) as pages:
        for rung in rungs or command.settings.ladder.rungs:
            seen_as = _describe_rung(rung, command.settings)
            try:
                visit = pages.visit_page(command.make_request(), rung)
            except FetchError as error:
                yield RungVisit(rung=rung, seen_as=seen_as, fault=error.fault, error=error.detail)
            except (MissingServiceError, SettingError) as error:
                yield RungVisit(rung=rung, seen_as=seen_as, error=str(error))
            else:
                yield _report_visit(visit, rung, seen_as)


def _report_visit(visit: PageVisit, rung: str, seen_as: str) -> RungVisit:
    fetched, (row,) = visit.fetched, visit.result.attempts
    response = Response(visit.request, fetched)
    blocks = [flag.removeprefix(BLOCK_FLAG) for flag in row.flags if flag.startswith(BLOCK_FLAG)]
    return RungVisit(
        rung=rung,
        seen_as=seen_as,
        url=shown_url(fetched.url),
        status=fetched.status,
        size_bytes=len(fetched.body),
        wire_bytes=fetched.wire_bytes,
        elapsed_s=round(fetched.elapsed_s, 4),
        proxy=fetched.proxy,
        cost=fetched.cost,
        block=", ".join(blocks),
        links=len(list(response.links())) if response.is_html else 0,
        title=response.page.title if response.is_html else "",
    )


def _describe_rung(rung: str, settings: Settings) -> str:
    """Return the client's identity as the server can see it."""
    way = way_of(rung).partition(":")[0]
    if way == "http" or (way == "browser" and settings.browser.profile == "honest"):
        return settings.user_agent
    if way == "impersonate":
        return settings.impersonate.profile
    return "the browser itself" if way == "browser" else ""
