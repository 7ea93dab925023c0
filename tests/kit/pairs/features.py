"""The features that are crossed with each other, one entry each: to add a feature, add an entry.

An entry says how a feature is switched on and how it changes the outcome of a crawl. Each change comes with
the sentence of the documentation that announces it; whatever has none must be as in the plain crawl.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from kit.pairs import changes
from kit.pairs.outcome import Outcome
from kit.pairs.spider import NO_PARTS, Parts


@dataclass(frozen=True)
class Difference:
    """How a feature changes the outcome, and where the documentation says so.

    ``change`` is applied to the expected outcome; entries about one of the ``paths`` may differ.
    """

    page: str  # below docs/
    sentence: str
    change: Callable[[Outcome], Outcome] = changes.nothing
    paths: tuple[str, ...] = ()
    is_again: bool = False  # of the second crawl alone
    spiders: str = "native scrapy"  # whose


@dataclass(frozen=True)
class Feature:
    """One entry. ``parts`` are for Gossamer's spider, ``for_scrapy`` for Scrapy's."""

    name: str
    flags: tuple[str, ...] = ()  # ``{proxies}`` stands for a list of two proxies that work
    parts: Parts = NO_PARTS
    for_scrapy: Parts = NO_PARTS
    differences: tuple[Difference, ...] = ()
    again: tuple[str, ...] = ()  # options of a second crawl, which must come to the same
    is_scrapy: bool = False
    is_stored: bool = True  # whether pages and dead letters can be read afterwards, and a crawl continues
    waits_s: int = 0  # what looks refused is looked at again after so long, through proxies several times


@dataclass(frozen=True)
class Refusal:
    """The command's message for two features that exclude each other."""

    words: str
    page: str  # of the documentation, below docs/
    sentence: str
    is_again: bool = False  # the second crawl alone


_LOG_IN = """
login_url = "{url}/login"

async def log_in(self, login):
    page = await login.get(self.login_url)
    await login.submit(page, {"user": "me", "password": "tea4two"})
"""
_SCRAPY_LOG_IN = """
async def start(self):
    yield Request("{url}/login", callback=self.log_in)

def log_in(self, response):
    sent = {"user": "me", "password": "tea4two"}
    yield FormRequest.from_response(response, formcss="form.login", formdata=sent, callback=self.logged_in)

def logged_in(self, response):
    yield from self.parse(response)
    yield Request("{url}/", callback=self.parse)
"""
_HOOKS = """
hooks = ["signing:Sign"]

def on_request(self, request):
    request.headers["X-Spider"] = "everything"

def on_response(self, response):
    return None

async def on_output(self, response, output):
    for thing in output:
        yield thing
"""
_MIDDLEWARE = """
custom_settings = {"DOWNLOADER_MIDDLEWARES": {"signing.Middleware": 500}}
"""
_MANUAL = """
yield response.file(response.css("a.manual")[0])
"""
_FILES_PIPELINE = """
custom_settings = {"ITEM_PIPELINES": {"scrapy.pipelines.files.FilesPipeline": 1}, "FILES_STORE": "files"}
"""
_FILE_FIELDS = "file_urls: list = None\n    files: list = None"
_FILE_VALUES = ", file_urls=[image, response.urljoin(response.css('a.manual::attr(href)').get())]"
_BUDGETS = {
    "max_pages": 5000,
    "max_items": 5000,
    "max_errors": 500,
    "max_time": 600,
    "max_pages_per_host": 4000,
    "budgets.bytes": 1_000_000_000,
    "budgets.bytes_per_host": 900_000_000,
    "budgets.cost": 100,
    "budgets.items_per_host": 4000,
    "budgets.errors_per_host": 400,
    "budgets.seconds_per_host": 3600,
    "budgets.patterns.products.pattern": "/product/",
    "budgets.patterns.products.pages": 1000,
    "budgets.patterns.all.pattern": ".",
    "budgets.patterns.all.depth": 30,
}
_COOKIES_ARE_FORGOTTEN = Difference(
    "how-to/when-blocked.md",
    "An identity is also replaced when it is refused for certain, or when doubts add up",
    paths=("/cookie/tasted",),
)


def _settings(**values: object) -> tuple[str, ...]:
    return tuple(part for name, value in values.items() for part in ("-s", f"{name}={value}"))


FEATURES = {
    feature.name: feature
    for feature in (
        Feature(
            "ladder",
            flags=("-s", 'ladder.rungs=["http", "impersonate"]', "-s", "ladder.climb_after=2"),
            differences=(
                Difference(
                    "how-to/when-blocked.md",
                    "When it refuses, it climbs to the next one, and the refused requests are tried again",
                    changes.read_guarded_pages,
                ),
                Difference(
                    "how-to/when-blocked.md",
                    "- **A redirect to a log-in or to a test of visitors is a refusal**, and a ladder never",
                    changes.refuse_log_in_pages,
                ),
                _COOKIES_ARE_FORGOTTEN,
            ),
            waits_s=5,
        ),
        Feature(
            "proxies",
            flags=("-s", "proxies.urls={proxies}"),
            differences=(_COOKIES_ARE_FORGOTTEN,),
            waits_s=30,
        ),
        Feature(
            "log-in",
            parts=Parts(more=_LOG_IN),
            for_scrapy=Parts(more=_SCRAPY_LOG_IN),
            differences=(
                Difference(
                    "how-to/log-in.md",
                    "A spider that has a `login_url` and a method `log_in` is logged in before its first",
                    changes.read_members_pages,
                ),
                Difference(
                    "how-to/log-in.md",
                    "- it has status 401;",
                    changes.close_page_of_visitors,
                    spiders="native",
                ),
                Difference(
                    "how-to/move-from-scrapy.md",
                    "A spider that was written for Scrapy runs as it is",
                    changes.read_log_in_page,
                    spiders="scrapy",
                ),
            ),
        ),
        Feature(
            "sessions",
            flags=("-s", "sessions.per_host=2"),
            differences=(
                Difference(
                    "how-to/when-blocked.md",
                    "followed by the visitor who was redirected, if the same process fetches its target",
                    paths=("/cookie/tasted",),
                ),
            ),
        ),
        Feature(
            "freshness",
            flags=("-s", "freshness.on=true"),
            again=("--recrawl", "-s", "freshness.recrawl=all"),
            differences=(
                Difference(
                    "reference/errors.md",
                    "A redirect to a page that was known already.",
                    changes.miss_the_circle,
                    is_again=True,
                    spiders="native",
                ),
            ),
        ),
        Feature("archive", flags=("-s", "archive.on=true")),
        Feature("budgets", flags=_settings(**_BUDGETS)),
        Feature("traps", flags=_settings(**{"traps.max_worthless": 500, "traps.max_same_body": 1000})),
        Feature("cache", flags=("-s", "cache.on=true"), again=("--fresh",)),
        Feature("hooks", parts=Parts(more=_HOOKS), for_scrapy=Parts(more=_MIDDLEWARE)),
        Feature(
            "files",
            parts=Parts(image="FileRef", files=_MANUAL),
            for_scrapy=Parts(more=_FILES_PIPELINE, fields=_FILE_FIELDS, values=_FILE_VALUES),
            differences=(
                Difference(
                    "how-to/files.md",
                    "- It becomes **an item of the type `File`**",
                    changes.add_files,
                    spiders="native",
                ),
                Difference(
                    "how-to/move-from-scrapy.md",
                    "are downloaded within the visit of",
                    changes.name_files_in_items,
                    spiders="scrapy",
                ),
            ),
        ),
        Feature("processes", flags=("-s", "processes=2")),
        Feature(
            "scrapy",
            is_scrapy=True,
            differences=(
                Difference(
                    "how-to/move-from-scrapy.md", '`rel="nofollow"` is followed', changes.follow_everything
                ),
                Difference(
                    "how-to/move-from-scrapy.md",
                    "ends as in Scrapy, where the request is a duplicate of itself",
                    changes.end_the_circle,
                ),
            ),
        ),
        Feature("memory", flags=("-s", "memory=true"), is_stored=False),
    )
}
DEFERRED = Feature(
    "deferred extraction", flags=("-s", "extract.deferred=true", "-s", "archive.url={archive}")
)
"""Only a fleet has it."""


def _in_memory(setting: str) -> Refusal:
    return Refusal(
        f"memory = true does not go with {setting}: a crawl in memory is of one process and writes nothing",
        "how-to/use-as-a-library.md",
        "other processes (`processes`, `archive`, `cache`, `freshness`, `outputs`) is refused",
    )


REFUSALS = {
    frozenset({"memory", "freshness"}): _in_memory("freshness"),
    frozenset({"memory", "archive"}): _in_memory("archive"),
    frozenset({"memory", "cache"}): _in_memory("cache.on"),
    frozenset({"memory", "processes"}): _in_memory("processes"),
    frozenset({"log-in", "cache"}): Refusal(
        "logs in, and the cache keeps no cookies: crawl without --cache",
        "how-to/replay.md",
        "Cookies are not kept, so a spider that logs in is refused.",
    ),
    frozenset({"freshness", "cache"}): Refusal(
        "a re-crawl asks sites for changes, and the cache would answer in their place",
        "how-to/recrawl.md",
        "so `--recrawl` with `--cache` is refused.",
        is_again=True,
    ),
}
"""Pairs that the command refuses."""
FLEET_REFUSALS = {"memory": _in_memory("archive")}
"""Features that a fleet refuses."""
