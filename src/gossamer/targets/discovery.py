"""Find the spider for a target: a URL, a spider's name, a file, or a class.

Spiders are found in the ``spiders/`` folder of the project, in Python or TOML, and through the entry-point
group ``gossamer.spiders``. A failed import is one clear message, without a traceback of Gossamer.
"""

from __future__ import annotations

import inspect
import logging
import re
import shlex
from collections.abc import Callable, Mapping, Sequence
from difflib import get_close_matches
from importlib.metadata import entry_points
from pathlib import Path
from typing import Any

from gossamer.compat.scrapy import hints as scrapy
from gossamer.config.names import suggest_name
from gossamer.core.errors import UsageError
from gossamer.core.record import Record
from gossamer.core.redaction import hide_userinfo
from gossamer.core.requests import Request
from gossamer.core.rungs import AUTO, explain_wrong_rung
from gossamer.core.text import describe_error
from gossamer.observe.text import shown_url
from gossamer.parse.selectors import Selector
from gossamer.policy import urls
from gossamer.policy.credentials import authorizations_for, passwords_in
from gossamer.policy.scope import Scope
from gossamer.runtime.known_secrets import remember_secrets
from gossamer.spiders.generic import GenericSpider
from gossamer.spiders.rules import check_rules
from gossamer.spiders.spider import Spider, may_have_hooks
from gossamer.targets.arguments import read_arguments, target_text
from gossamer.targets.scrapy_files import adapt_class, find_project_spiders, give_options
from gossamer.targets.slips import find_overridden
from gossamer.targets.spider_files import class_in_file, spiders_in_file
from gossamer.targets.start_url import (
    absolute_url,
    allowed_domain_of,
    explain_wrong_url,
    find_start_url,
    find_wrong_url,
    is_site,
    mend_scheme,
)

ENTRY_POINTS = "gossamer.spiders"
_NO_SITES = frozenset({".csv", ".htm", ".html", ".ipynb", ".json", ".jsonl", ".txt", ".xml", ".yaml", ".yml"})
"""Suffixes of files with which no name of a host ends."""
_TARGETS = "a target is a URL, the name of a spider, or its file (.py, .toml)"
log = logging.getLogger("gossamer.crawl")
_FILE = re.compile(r"(?P<path>.+\.py)(?::(?P<name>\w+))?|(?P<toml>.+\.toml)")


class CrawlTarget(Record, frozen=True):
    """The target of a crawl."""

    text: str  # the spider with its arguments, or the URL: the same text is the same crawl
    name: str  # whose items these are: the spider's name, or the host of a URL
    spider: Spider
    choose: Callable[[Request], Spider]
    authorizations: Mapping[str, str] = {}
    """``Authorization`` headers by origin, from credentials in start URLs, which no other field has."""
    logs_in: bool = False
    """Whether a spider that may be chosen has ``log_in()``."""
    has_hooks: bool = False  # whether one of them may have hooks

    def __repr__(self) -> str:  # without the authorizations
        return f"<CrawlTarget {self.text}>"


def find_target(
    target: str | type[Spider],
    arguments: Mapping[str, str],
    project: Path | None,
    options: Callable[[], Mapping[str, Any]] = dict,
) -> CrawlTarget:
    """The spider that a target means, made with its arguments. Raises :class:`UsageError`.

    ``options`` reads settings that are given to spiders of another framework alone.
    """
    if not isinstance(target, str):
        if not isinstance(target, type):
            raise UsageError(
                f"a {type(target).__name__} cannot be crawled: give a spider's class, name or URL"
            )
        is_ours = issubclass(target, Spider)
        return _of_class(target if is_ours else _adapt_target(target), arguments, options)
    file = file_of(target)
    if file is not None:
        return _of_class(class_in_file(*file), arguments, options)
    if "://" in target:
        return _of_url(absolute_url(target), arguments, project)
    found = discover_spiders(project)
    if target in found.spiders:
        return _of_class(found.spiders[target], arguments, options)
    if target == GenericSpider.name:  # for pages that are named one by one: `gossamer seeds`
        return _of_class(GenericSpider, arguments)
    refuse_file(target)
    if is_url(target):
        return _of_url(absolute_url(target), arguments, project)
    raise UsageError(_not_found(target, found, project))


def file_of(target: str) -> tuple[Path, str | None] | None:
    """Return the file that a target names, and the class in it, if any; ``None`` for other targets.

    Code that restricts targets must use this function to recognise files.
    """
    file = None if "://" in target else _FILE.fullmatch(target)
    return None if file is None else (Path(file["path"] or file["toml"]), file["name"])


def is_url(target: str) -> bool:
    """Return whether a target, neither a file nor a spider's name, is a site or a page."""
    return "://" in target or is_site(target)


def refuse_file(target: str, advice: str = _TARGETS) -> None:
    """Raise ``UsageError`` for a target that looks like a URL, but is or would be a local file."""
    is_page = is_url(target) and not set("/?#").isdisjoint(target)  # shop.example/index.html
    if not is_page and Path(target).suffix in _NO_SITES and not Path(target).exists():
        raise UsageError(f"there is no file {target}; {advice}")
    if "://" in target:
        return
    if Path(target).is_dir() and not is_url(target):
        raise UsageError(f"{target} is a folder; {advice}")
    if not Path(target).is_file():
        return
    file = Path(target).absolute()
    raise UsageError(
        f"{target} is a file, and a URL is needed: serve its folder with `python -m http.server --bind "
        f"127.0.0.1 --directory {shlex.quote(str(file.parent))}`, and write http://127.0.0.1:8000/{file.name}"
    )


def spiders_in(target: str, project: Path | None) -> list[type[Spider]]:
    """The spiders of a file, or the one of a name. Raises :class:`UsageError`; there is at least one."""
    file = file_of(target)
    if file is None:
        found = discover_spiders(project)
        if target not in found.spiders:
            raise UsageError(_not_found(target, found, project))
        return [found.spiders[target]]
    path, name = file
    every = spiders_in_file(path) if path.is_file() and not name else []
    return every or [class_in_file(path, name)]


# --------------------------------------------------------------------------- by class


def _of_class(
    spider_class: type[Spider],
    arguments: Mapping[str, str],
    options: Callable[[], Mapping[str, Any]] = dict,
) -> CrawlTarget:
    spider_class = give_options(spider_class, options)
    if not spider_class.name or not isinstance(spider_class.name, str):
        held = (
            f", but the {type(spider_class.name).__name__} {spider_class.name!r}" if spider_class.name else ""
        )
        raise UsageError(f'the spider {spider_class.__name__} has no name{held}; give it one: name = "..."')
    try:
        spider = spider_class(**read_arguments(spider_class, arguments))
    except TypeError as error:
        raise UsageError(f"the spider {spider_class.name!r} does not take these arguments: {error}") from None
    except UsageError:
        raise
    except (Exception, SystemExit) as error:
        raise UsageError(
            f"the spider {spider_class.name!r} cannot be created: {describe_error(error)}"
        ) from error
    _check_spider(spider)
    text = target_text(spider.name, arguments)
    remember_secrets(passwords_in(spider.start_urls))
    given = authorizations_for(spider.start_urls)
    return CrawlTarget(
        text=text,
        name=spider.name,
        spider=spider,
        choose=lambda _: spider,
        authorizations=given,
        logs_in=spider.logs_in,
        has_hooks=may_have_hooks(spider),
    )


def _adapt_target(target: type) -> type[Spider]:
    """A class that is not ours as a spider. Raises ``UsageError`` for one that is none."""
    adapted = adapt_class(target, Path.cwd())
    if adapted is None:
        raise UsageError(f"{target.__name__} is not a spider: derive it from gossamer.Spider")
    return adapted


def _check_log_in(spider: Spider) -> None:
    """Raise ``UsageError`` for a log-in that cannot be done."""
    log_in = spider.log_in
    if log_in is None or (not spider.login_url and "login" not in inspect.signature(log_in).parameters):
        return  # or a callback of that name
    if not inspect.iscoroutinefunction(log_in):
        raise UsageError(
            f"log_in() of the spider {spider.name!r} must be a coroutine function: "
            "`async def log_in(self, login):`"
        )
    if not isinstance(spider.login_url, str) or urls.canonicalise_url(spider.login_url) is None:
        raise UsageError(
            f"the spider {spider.name!r} has log_in(), and its login_url {spider.login_url!r} is not a URL: "
            'say where one logs in: login_url = "https://..."'
        )


def _check_spider(spider: Spider) -> None:
    """Slips that would otherwise show page by page, or as something else."""
    if overridden := find_overridden(type(spider)):
        raise UsageError(overridden)
    for name in ("start_urls", "allowed_domains", "sitemap_urls"):
        if isinstance(value := getattr(spider, name, ()), str):
            setattr(spider, name, one_or_more(value))
    wrong = [url for url in spider.start_urls if not isinstance(url, str)]
    if wrong:
        raise UsageError(
            f"start_urls of the spider {spider.name!r} holds {wrong[0]!r}, which is not a string"
        )
    _check_start_urls(spider)
    _check_lists(spider)
    _check_scrapy(spider)
    _check_log_in(spider)
    check_rules(spider)
    require = spider.require
    queries = (
        [query for group in require.values() for query in group]
        if isinstance(require, Mapping)
        else ([require] if isinstance(require, str) else require)
    )
    for query in queries:
        try:
            Selector(text="").css(query)
        except ValueError as error:
            raise UsageError(f"require of the spider {spider.name!r}: {error}") from None
    _check_fetch(spider)


def _check_start_urls(spider: Spider) -> None:
    """Raise ``UsageError`` where no crawl could begin; a spider with ``start()`` may use them otherwise."""
    if type(spider).start is not Spider.start or hasattr(spider, "start_requests"):
        return
    if (wrong := find_wrong_url(spider.start_urls)) is not None:
        url, why = wrong
        raise UsageError(
            f"start_urls of the spider {spider.name!r} holds {shown_url(url)!r}, which is not a URL that can "
            f"be crawled: {hide_userinfo(why)}"
        )


def _check_lists(spider: Spider) -> None:
    """Raise ``UsageError`` for what Scrapy writes in another form, or other programs."""
    if isinstance(spider.pipelines, Mapping):
        raise UsageError(
            f"pipelines of the spider {spider.name!r} is a dict, and has to be a list, in the order in which "
            "items pass: pipelines = [Step, Other]"
        )
    for domain in one_or_more(spider.allowed_domains):
        if isinstance(domain, str) and "*" in domain:
            plain = domain.replace("*.", "").replace("*", "")
            raise UsageError(
                f"allowed_domains of the spider {spider.name!r} holds {domain!r}: sub-domains belong to "
                f"their domain without a star: {plain!r}"
            )


def _check_fetch(spider: Spider) -> None:
    """Rungs by callback; a single one is checked as the setting that it is."""
    for callback, rung in spider.fetch.items() if isinstance(spider.fetch, Mapping) else ():
        if not callable(getattr(spider, callback, None)):
            raise UsageError(
                f"fetch of the spider {spider.name!r} names {callback!r}, which is not one of its methods"
            )
        if rung != AUTO and (wrong := explain_wrong_rung(rung)):
            raise UsageError(f"fetch of the spider {spider.name!r} for {callback!r}: {wrong}")


def _check_scrapy(spider: Spider) -> None:
    """Refuse attributes of Scrapy's spiders that would otherwise be ignored silently."""
    if hasattr(spider, "custom_settings"):
        custom = spider.custom_settings if isinstance(spider.custom_settings, Mapping) else {}
        hints = "".join(f"\n  {name}{suggest_name(str(name)) or ': no such setting'}" for name in custom)
        raise UsageError(
            f"the spider {spider.name!r} has custom_settings, which Gossamer does not read; "
            'write settings = {"delay": 1.0}; `gossamer crawl --help` and gossamer.toml use the same names'
            f"{hints}"
        )
    for name, setting in scrapy.ATTRIBUTES.items():
        if hasattr(spider, name):
            raise UsageError(
                f"the spider {spider.name!r} has the attribute {name}, which Gossamer does not read; "
                f"use the setting {setting} instead: settings = {{{setting!r}: ...}}"
            )


def one_or_more(value: str | Sequence[str]) -> Sequence[str]:
    """Return a value that a spider may write as one string or as several."""
    return [value] if isinstance(value, str) else value


# --------------------------------------------------------------------------- by name


class DiscoveryResult(Record, frozen=True):
    """The spiders of a project and of installed packages, by name; and what could not be imported."""

    spiders: Mapping[str, type[Spider]]
    broken: tuple[str, ...]


def discover_spiders(project: Path | None) -> DiscoveryResult:
    """Look into ``spiders/`` of the project and into the entry points."""
    spiders: dict[str, type[Spider]] = {}
    broken: list[str] = []
    for point in entry_points(group=ENTRY_POINTS):
        try:
            spider_class = point.load()
        except Exception as error:  # noqa: BLE001 - others' code
            broken.append(f"the entry point {point.name!r} cannot be loaded: {describe_error(error)}")
            continue
        spiders[spider_class.name or point.name] = spider_class
    folder = project / "spiders" if project else None
    for path in _files_in(folder) if folder and folder.is_dir() else ():
        try:
            found = spiders_in_file(path)
        except UsageError as error:
            broken.append(str(error))
            continue
        spiders.update({spider_class.name: spider_class for spider_class in found if spider_class.name})
    adapted, unreadable = find_project_spiders(project or Path.cwd())
    spiders = {**adapted, **spiders}
    broken += unreadable
    return DiscoveryResult(spiders, tuple(broken))


def _files_in(folder: Path) -> list[Path]:
    """The files that may hold spiders."""
    return sorted([*folder.glob("[!_]*.py"), *folder.glob("[!_]*.toml")])


def _not_found(target: str, found: DiscoveryResult, project: Path | None) -> str:
    meant = mend_scheme(target)
    close = [shown_url(meant)] if meant else get_close_matches(target, found.spiders, n=1)
    close = close or _files_like(target)
    hint = f"; did you mean {close[0]!r}?" if close else "; a site is named by its URL, https://..."
    known = ", ".join(sorted(found.spiders)) or "none"
    where = f"in {project}" if project else "(no gossamer.toml here or above, so no project was searched)"
    broken = "".join(f"\n  {message}" for message in found.broken)
    return f"unknown spider {shown_url(target)!r}{hint}\n  spiders found {where}: {known}{broken}"


def _files_like(target: str) -> list[str]:
    """A file of the current folder, or of its spiders, that may be meant: ``shop.py`` by ``Shop``."""
    name, _, spider_class = target.partition(":")
    stem = Path(name).stem.lower()
    files = sorted(path for folder in (".", "spiders") for path in Path(folder).glob("[!_]*.py"))
    by_stem = {path.stem.lower(): str(path) for path in files}
    found = [by_stem[near] for near in get_close_matches(stem, by_stem, n=1)]
    return [f"{path}:{spider_class}" if spider_class else path for path in found]


# --------------------------------------------------------------------------- by URL


def _of_url(url: str, arguments: Mapping[str, str], project: Path | None) -> CrawlTarget:
    canonical = find_start_url(url)
    wrong = explain_wrong_url(url)
    if canonical is None or wrong:
        why = f": {hide_userinfo(wrong)}" if wrong else ""
        raise UsageError(f"{shown_url(url)!r} is not a URL that can be crawled{why}")
    domain = allowed_domain_of(canonical)
    discovered = discover_spiders(project)
    # Arguments may be for the project's spiders, which get the pages of their hosts.
    generic = GenericSpider(**(arguments if discovered.spiders else read_arguments(GenericSpider, arguments)))
    generic.start_urls = [canonical]
    generic.allowed_domains = [domain]
    for message in discovered.broken:
        log.warning("%s", message)
    found = list(discovered.spiders.values())
    made: dict[str, Spider] = {}

    def choose(request: Request) -> Spider:
        wanted = urls.host_key(request.url)
        if wanted not in made:
            spider_class = _for_host(found, urls.parse_origin(request.url))
            made[wanted] = (
                generic if spider_class is None else spider_class(**read_arguments(spider_class, arguments))
            )
        return made[wanted]

    remember_secrets(passwords_in([url]))
    given = authorizations_for([url])
    return CrawlTarget(
        text=canonical,
        name=domain,
        spider=generic,
        choose=choose,
        authorizations=given,
        logs_in=any(spider_class.login_url and spider_class.log_in for spider_class in found),
        has_hooks=any(map(may_have_hooks, found)),
    )


def _for_host(found: list[type[Spider]], place: urls.UrlOrigin) -> type[Spider] | None:
    """The spider whose ``allowed_domains`` fit the host most closely."""
    fitting = [
        (len(domain), spider_class)
        for spider_class in found
        for domain in one_or_more(spider_class.allowed_domains)
        if Scope([domain]).is_host_allowed(place.hostname, place.port)
    ]
    return max(fitting, key=lambda fit: fit[0])[1] if fitting else None
