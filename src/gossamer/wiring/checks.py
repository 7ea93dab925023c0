"""Whether the servers that the settings name, and this machine, are fit, without changing anything on them.

Those of servers raise what :func:`~gossamer.wiring.open.open_places` would: ``MissingServiceError``,
``StorageError``, ``UsageError``, ``SettingError``.
"""

from __future__ import annotations

import re
import subprocess
import time
from contextlib import suppress
from importlib import import_module
from importlib.util import find_spec

from gossamer.config.settings import Settings
from gossamer.core.errors import OperatorError, SettingError
from gossamer.core.rungs import GATEWAY_WAY, way_of
from gossamer.fetch.browser.driver import find_executable
from gossamer.fetch.guard import is_private_name
from gossamer.fetch.machine import max_idle_connections, open_files_allowed
from gossamer.observe.sentences import formatter_at
from gossamer.policy import urls
from gossamer.policy.sentences.fleet import judge_clock
from gossamer.policy.sentences.words import Saying
from gossamer.runtime.clock import SystemClock
from gossamer.wiring.fetchers import WAYS
from gossamer.wiring.gateways import account_of
from gossamer.wiring.proxies import read_listed
from gossamer.wiring.schemes import FRONTIERS, STORES


def needed_extras(settings: Settings) -> set[str]:
    """The extras of Gossamer that the servers and rungs in the settings need; unknown ones need none."""
    extras = {"cluster"} if settings.broker.url else set()
    with suppress(SettingError):
        extras.add(FRONTIERS.find_scheme(settings.frontier.url).extra)
    with suppress(SettingError):
        extras.add(STORES.find_scheme(settings.store.url).extra)
    extras.update(WAYS[way].extra for way in named_ways(settings) if way in WAYS)
    if settings.browser.stealth and "browser" in extras:
        extras = extras - {"browser"} | {"stealth"}
    if settings.archive.is_on and (settings.archive.url or "").startswith("s3://"):
        extras.add("s3")
    if (settings.files.url or "").startswith("s3://"):
        extras.add("s3")
    if settings.files.thumbnails:
        extras.add("images")
    return extras - {""}


def named_ways(settings: Settings) -> set[str]:
    """The ways to fetch that the settings name: ``browser``, ``gateway:NAME``."""
    rungs = [settings.fetch, *settings.ladder.rungs]
    for own in settings.ladder.hosts.values():
        rungs += [own] if isinstance(own, str) else own
    return {way_of(rung) for rung in rungs}


async def look_at_requests(settings: Settings) -> str | None:
    """The server of ``frontier.url``; what could not be found out about it (empty: nothing).

    ``None``: no server is needed.
    """
    url = settings.frontier.url
    check = FRONTIERS.find_scheme(url).check
    return await check(url, settings) if url is not None and check is not None else None


async def look_at_clock(settings: Settings) -> Saying | None:
    """How this machine's clock is wrong by that of the requests' server; ``None``: it is right, or unknown.

    A server that cannot be asked is the finding of :func:`look_at_requests`.
    """
    url = settings.frontier.url
    with suppress(OperatorError):
        read_clock = FRONTIERS.find_scheme(url).read_clock
        if url is not None and read_clock is not None:
            return judge_clock(await read_clock(url, settings), formatter_at(time.time()))
    return None


async def look_at_items(settings: Settings) -> str | None:
    """The same for ``store.url``."""
    url = settings.store.url
    check = STORES.find_scheme(url).check
    return await check(url, settings) if url is not None and check is not None else None


async def look_at_archive(settings: Settings) -> str | None:
    """The bucket of ``archive.url``; ``None``: the archive is in a folder, or there is none."""
    result: str | None = await import_module("gossamer.wiring.archives").check_archive(settings)
    return result


async def look_at_files(settings: Settings) -> str | None:
    """The bucket of ``files.url``; ``None``: files are in a folder."""
    url = settings.files.url
    if url is None or import_module("gossamer.wiring.blobs").folder_of(url) is not None:
        return None
    await check_bucket(url, settings)
    return ""


async def check_bucket(url: str, settings: Settings) -> None:
    """Raises ``OperatorError`` for a bucket that cannot be used: without keys, not there, not reached."""
    blobs = import_module("gossamer.wiring.blobs").open_blobs(url, settings)
    try:
        async for _ in blobs.list_blobs("doctor/"):
            break
    finally:
        await blobs.close()


def look_at_browser(settings: Settings) -> str:
    """The browser that would be started. Raises ``MissingServiceError`` where there is none."""
    if settings.browser.connect:
        return "one that runs already (browser.connect)"
    return find_executable(settings.browser.executable or "", settings.browser.kind)


def look_at_profiles(executable: str) -> tuple[str, int | None] | None:
    """The newest profiles of `impersonate`, and by how many versions the installed Chromium is newer.

    ``None``: there is nothing that could impersonate; no number where no Chromium says its version.
    """
    if find_spec("wreq") is None:
        return None
    find_profile = import_module("gossamer.fetch.impersonate.profiles").find_profile
    newest = [find_profile(family).name for family in ("chrome", "firefox")]
    installed = chromium_version(executable) if executable else 0
    behind = installed - int(newest[0].removeprefix("chrome").partition(".")[0]) if installed else None
    return ", ".join(newest), behind


def chromium_version(executable: str) -> int:
    """The major version that a Chromium says it has; 0: it says none."""
    try:
        said = subprocess.run(  # noqa: S603 - the browser that crawls start
            [executable, "--version"], capture_output=True, text=True, timeout=5, check=False
        )
    except (OSError, subprocess.TimeoutExpired):
        return 0
    found = re.search(r"Chrom(?:ium|e)\D* (\d+)\.", said.stdout)
    return int(found[1]) if found else 0


def look_at_gateway(settings: Settings, name: str) -> str:
    """What is known of a gateway, without calling it.

    Raises ``SettingError`` for one that is described wrongly, ``MissingServiceError`` without its key.
    """
    account = account_of(settings.gateways, name)
    account.check_key()
    return f"its key is in {account.key_env}" if account.key_env else "it needs no key"


def names_gateway(settings: Settings, name: str) -> bool:
    """Whether a rung of the settings calls a gateway; ``gateway`` alone is the first."""
    is_first = name == next(iter(settings.gateways))
    return bool(named_ways(settings) & {f"{GATEWAY_WAY}:{name}", *([GATEWAY_WAY] if is_first else [])})


async def look_at_proxies(settings: Settings) -> int:
    """How many proxies the settings list; none of them is asked.

    Raises ``SettingError`` for a list that is wrong, ``MissingServiceError`` for one that cannot be had.
    """
    return len(await read_listed(settings, SystemClock()))


def look_at_open_files() -> tuple[int, int, int]:
    """Files this process may open, how many a crawl raises that to, and idle connections it keeps then."""
    now, raised = open_files_allowed()
    return now, raised, max_idle_connections(raised)


def is_private_url(url: str) -> bool:
    """Whether the host of a URL is private by what it is called. What its name leads to is checked later."""
    return is_private_name(urls.hostname_of(url))
