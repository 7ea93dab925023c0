"""Whether the servers that the settings name, and this machine, are fit, without changing anything on them.

Those of servers raise what :func:`~gossamer.wiring.open.open_places` would: ``MissingServiceError``,
``StorageError``, ``UsageError``, ``SettingError``.
"""

from __future__ import annotations

import re
import shutil
import subprocess
import time
from collections.abc import Awaitable, Callable, Collection, Mapping
from contextlib import suppress
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path

from gossamer.config.settings import Settings
from gossamer.core.errors import OperatorError, SettingError
from gossamer.core.rungs import GATEWAY_WAY, way_of
from gossamer.drivers.redis.address import CLUSTER, REDIS_SCHEMES, kind_of
from gossamer.fetch.browser.driver import find_executable
from gossamer.fetch.guard import is_private_name
from gossamer.fetch.machine import max_idle_connections, open_files_allowed
from gossamer.observe.sentences import formatter_at
from gossamer.policy import urls
from gossamer.policy.fitness import DiskState, judge_disk
from gossamer.policy.sentences.fleet import judge_clock
from gossamer.policy.sentences.words import Saying
from gossamer.runtime.clock import SystemClock
from gossamer.wiring.backends import name_place
from gossamer.wiring.databases import database_path
from gossamer.wiring.fetchers import WAYS
from gossamer.wiring.gateways import account_of
from gossamer.wiring.open import check_serves_fleet, open_fleet
from gossamer.wiring.proxies import read_listed
from gossamer.wiring.schemes import FRONTIERS, STORES, ServerReport


def needed_extras(settings: Settings) -> set[str]:
    """Return the extras of Gossamer that the servers, rungs and switches in the settings need."""
    extras = {name for name, is_needed in _SWITCHED.items() if is_needed(settings)}
    for url, table in ((settings.frontier.url, FRONTIERS), (settings.store.url, STORES)):
        with suppress(SettingError):  # which is a finding of its own
            extras.add(table.find_scheme(url).extra)
    extras.update(WAYS[way].extra for way in named_ways(settings) if way in WAYS)
    if settings.browser.stealth and "browser" in extras:
        extras = extras - {"browser"} | {"stealth"}
    return extras - {""}


def _names_bucket(settings: Settings) -> bool:
    archive = settings.archive.url if settings.archive.is_on else None
    urls = [archive, settings.files.url, *(output.url for output in settings.outputs.values())]
    return any((url or "").startswith("s3://") for url in urls)


_SWITCHED: Mapping[str, Callable[[Settings], bool]] = {
    "alerts": lambda given: any(one.kind == "apprise" for one in given.alerts.targets.values()),
    "cluster": lambda given: bool(given.broker.url),
    "images": lambda given: bool(given.files.thumbnails),
    "metrics": lambda given: given.metrics.port is not None,
    "otel": lambda given: given.traces.enabled,
    "postgres": lambda given: any(
        output.url.startswith(("postgresql:", "postgres:")) for output in given.outputs.values()
    ),
    "s3": _names_bucket,
}
"""Extras that a setting needs beside a server or a rung."""


def named_ways(settings: Settings) -> set[str]:
    """Return the ways to fetch that the settings name: ``browser``, ``gateway:NAME``."""
    rungs = [settings.fetch, *settings.ladder.rungs]
    for own in settings.ladder.hosts.values():
        rungs += [own] if isinstance(own, str) else own
    return {way_of(rung) for rung in rungs}


async def look_at_requests(settings: Settings) -> ServerReport | None:
    """Check the server of ``frontier.url``; ``None``: no server is needed."""
    url = settings.frontier.url
    return await _look_at(url, FRONTIERS.find_scheme(url).check, settings)


async def look_at_items(settings: Settings) -> ServerReport | None:
    """Return the report on the server of ``store.url``, including the running processes of the fleet."""
    url = settings.store.url
    if url is not None:
        processes = max(settings.processes, await _count_processes(settings))
        settings = settings.model_copy(update={"processes": processes})
    return await _look_at(url, STORES.find_scheme(url).check, settings)


async def _count_processes(settings: Settings) -> int:
    """Return how many processes of the fleet the settings name; 0: none, or the server does not answer."""
    with suppress(OperatorError):
        check_serves_fleet(settings)
        fleet = await open_fleet(settings)
        try:
            view = await fleet.roster.read_roster()
        finally:
            await fleet.close()
        return sum(not one.is_silent(view.at) for one in view.workers) + bool(view.leader)
    return 0


async def _look_at(
    url: str | None,
    check: Callable[[str, Settings], Awaitable[str | ServerReport]] | None,
    settings: Settings,
) -> ServerReport | None:
    if url is None or check is None:
        return None
    found = await check(url, settings)
    return ServerReport(advice=found) if isinstance(found, str) else found


async def look_at_clocks(
    settings: Settings, away: Collection[str] = ()
) -> tuple[list[Saying], list[str], list[str]]:
    """Return this clock's errors by the servers' clocks, the agreeing servers, and the unread ones.

    The servers ``away`` have failed before, and are not waited for again.
    """
    wrong: list[Saying] = []
    right: list[str] = []
    unread: list[str] = []
    places = (
        ("frontier.url", settings.frontier.url, FRONTIERS),
        ("store.url", settings.store.url, STORES),
    )
    for setting, url, table in places:
        name = name_place(url)
        try:
            read_clock = table.find_scheme(url).read_clock
            if url is None or read_clock is None or settings.memory:
                continue
            if setting in away:
                unread.append(name)
                continue
            said = judge_clock(await read_clock(url, settings), formatter_at(time.time()), name)
        except OperatorError:
            unread.append(name)
        else:
            wrong += [said] if said is not None else []
            right += [name] if said is None else []
    return wrong, right, unread


def find_missing_broker(settings: Settings) -> str:
    """Return why a fleet would need a ``broker.url``; empty: it does not, or the requests serve no fleet."""
    url = settings.frontier.url
    with suppress(SettingError):
        check_serves_fleet(settings)
        if url is None or url.partition(":")[0] not in REDIS_SCHEMES or kind_of(url) == CLUSTER:
            return (
                "a crawl of one machine needs none; a fleet needs a Redis or RabbitMQ that is not a cluster"
            )
    return ""


async def look_at_archive(settings: Settings) -> ServerReport | None:
    """Check the bucket of ``archive.url``; ``None``: the archive is in a folder, or is off."""
    result: str | None = await import_module("gossamer.wiring.archives").check_archive(settings)
    return None if result is None else ServerReport(advice=result)


async def look_at_files(settings: Settings) -> ServerReport | None:
    """Check the bucket of ``files.url``; ``None``: files are in a folder."""
    url = settings.files.url
    if url is None or import_module("gossamer.wiring.blobs").folder_of(url) is not None:
        return None
    await check_bucket(url, settings)
    return ServerReport()


async def check_bucket(url: str, settings: Settings) -> None:
    """Raises ``OperatorError`` for a bucket that cannot be used: without keys, not there, not reached."""
    blobs = import_module("gossamer.wiring.blobs").open_blobs(url, settings)
    try:
        async for _ in blobs.list_blobs("doctor/"):
            break
    finally:
        await blobs.close()


def written_folders(settings: Settings) -> list[tuple[str, Path]]:
    """Return the folders of this machine that a crawl writes to, each once, by the setting that names it."""
    data = Path(settings.data)
    folders = {} if settings.memory else {"data directory": data}
    for name, url in (("frontier.url", settings.frontier.url), ("store.url", settings.store.url)):
        if not settings.memory and url is not None and url.startswith("sqlite:"):
            folders[name] = database_path(settings, url).parent
    for name, url in (
        ("archive.url", settings.archive.url if settings.archive.is_on else None),
        ("files.url", settings.files.url),
    ):
        with suppress(SettingError):  # which is a finding of its own
            if (
                url is not None
                and (folder := import_module("gossamer.wiring.blobs").folder_of(url)) is not None
            ):
                folders[name] = folder
    placed = [(name, folder.expanduser().absolute()) for name, folder in folders.items()]
    seen = [folder for _, folder in placed]
    return [one for number, one in enumerate(placed) if one[1] not in seen[:number]]


def look_at_disk(folder: Path) -> tuple[int, DiskState]:
    """Return the free bytes of a folder's disk, and their state."""
    free = shutil.disk_usage(folder).free
    return free, judge_disk(free)


def look_at_browser(settings: Settings) -> str:
    """Return the browser that would be started. Raises ``MissingServiceError`` without one."""
    if settings.browser.connect:
        return "one that runs already (browser.connect)"
    return find_executable(settings.browser.executable or "", settings.browser.kind)


def look_at_profiles(executable: str) -> tuple[str, int | None] | None:
    """Return the newest profiles of `impersonate`, and how many versions newer the installed Chromium is.

    ``None``: its package is missing; no number: no Chromium reports its version.
    """
    if find_spec("wreq") is None:
        return None
    find_profile = import_module("gossamer.fetch.impersonate.profiles").find_profile
    newest = [find_profile(family).name for family in ("chrome", "firefox")]
    installed = chromium_version(executable) if executable else 0
    behind = installed - int(newest[0].removeprefix("chrome").partition(".")[0]) if installed else None
    return ", ".join(newest), behind


def chromium_version(executable: str) -> int:
    """Return the major version that a Chromium reports; 0: it reports none."""
    try:
        said = subprocess.run(  # noqa: S603 - the browser that crawls start
            [executable, "--version"], capture_output=True, text=True, timeout=5, check=False
        )
    except (OSError, subprocess.TimeoutExpired):
        return 0
    found = re.search(r"Chrom(?:ium|e)\D* (\d+)\.", said.stdout)
    return int(found[1]) if found else 0


def look_at_gateway(settings: Settings, name: str) -> str:
    """Return a sentence on a gateway, without calling it.

    Raises ``SettingError`` if its settings are wrong, ``MissingServiceError`` without its key.
    """
    account = account_of(settings.gateways, name)
    account.check_key()
    return f"its key is in {account.key_env}" if account.key_env else "it needs no key"


def names_gateway(settings: Settings, name: str) -> bool:
    """Whether a rung of the settings calls a gateway; ``gateway`` alone is the first."""
    is_first = name == next(iter(settings.gateways))
    return bool(named_ways(settings) & {f"{GATEWAY_WAY}:{name}", *([GATEWAY_WAY] if is_first else [])})


async def look_at_proxies(settings: Settings) -> int:
    """Return the number of listed proxies, without connecting to them.

    Raises ``SettingError`` if a list is wrong, ``MissingServiceError`` if one cannot be read.
    """
    return len(await read_listed(settings, SystemClock()))


def look_at_open_files() -> tuple[int, int, int]:
    """Files this process may open, how many a crawl raises that to, and idle connections it keeps then."""
    now, raised = open_files_allowed()
    return now, raised, max_idle_connections(raised)


def is_private_url(url: str) -> bool:
    """Whether the name of a URL's host is private. The addresses of the name are checked later."""
    return is_private_name(urls.hostname_of(url))
