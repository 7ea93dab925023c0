"""A declarative spider for a page that is fetched as a crawl would fetch it, and tried on that page."""

from __future__ import annotations

import tomllib
from collections.abc import Callable
from typing import NamedTuple

from gossamer.core.errors import UsageError
from gossamer.core.requests import Request
from gossamer.crawl.single_page import PageCommand, PageFetcher
from gossamer.spiders.declarative.guessing import propose_spider
from gossamer.spiders.declarative.reading import parse_document
from gossamer.spiders.declarative.spider import make_spider
from gossamer.spiders.response import Response
from gossamer.targets.start_url import allowed_domain_of


class GuessResult(NamedTuple):
    """A spider for a page, and its results on the page."""

    text: str  # of the file, in TOML
    found: tuple[str, ...]  # the repeated elements of the page, in words
    items: int  # that the spider finds on the page
    requests: int  # that it would make from there


def guess_spider(command: PageCommand, tell: Callable[[str], None], name: str = "") -> GuessResult:
    """Fetch a page and propose a spider for it. ``tell`` receives lines for people.

    Raises ``FetchError`` if the page cannot be fetched, and ``UsageError`` if robots.txt does not allow it
    or no spider can be proposed.
    """
    with PageFetcher(command, tell) as pages:
        return guess_on(pages.fetch(command.url), name)


def guess_on(response: Response, name: str = "") -> GuessResult:
    """Propose a spider for a response."""
    if response.status >= 400:
        raise UsageError(
            f"{response.url} answered with status {response.status}: no spider is proposed for that"
        )
    proposal = propose_spider(response, allowed_domain_of(response.url), name)
    if proposal is None:
        raise UsageError(
            f"nothing on {response.url} repeats, and the page does not describe a single thing: "
            "`gossamer genspider --declarative NAME DOMAIN` writes a spider to start from, "
            "`gossamer shell URL` tries selectors"
        )
    spider = make_spider(parse_document(proposal.text, tomllib.loads(proposal.text), "the proposal"))()
    results = list(spider.parse(response))
    requests = sum(isinstance(result, Request) for result in results)
    return GuessResult(proposal.text, proposal.found, len(results) - requests, requests)
