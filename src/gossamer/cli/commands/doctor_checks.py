"""The checks of ``gossamer doctor``. Each returns its finding and never raises."""

from __future__ import annotations

import asyncio
import importlib
import platform
import re
import sqlite3
import sys
import tempfile
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import asdict, dataclass
from importlib.metadata import PackageNotFoundError, distribution, requires, version
from pathlib import Path
from typing import TYPE_CHECKING

from gossamer.config.command_settings import settings_of
from gossamer.core.errors import MissingServiceError, OperatorError
from gossamer.core.redaction import shown_server
from gossamer.core.rungs import BROWSER_WAY
from gossamer.core.text import format_count
from gossamer.install import install_command, pip_command
from gossamer.observe.units import format_size
from gossamer.wiring.checks import (
    find_missing_broker,
    look_at_archive,
    look_at_browser,
    look_at_clocks,
    look_at_disk,
    look_at_files,
    look_at_gateway,
    look_at_items,
    look_at_open_files,
    look_at_profiles,
    look_at_proxies,
    look_at_requests,
    named_ways,
    names_gateway,
    needed_extras,
    written_folders,
)
from gossamer.wiring.schemes import ServerReport
from gossamer.wiring.start_checks import find_obstacles

if TYPE_CHECKING:
    from gossamer.config.settings import Settings

Look = Callable[[], ServerReport | None]
OK, WARNING, OPTIONAL, MISSING = "ok", "warning", "optional", "missing"

MIN_SQLITE = (3, 35, 0)  # RETURNING
MIN_FILES = 1024
OLD_PROFILE = 6  # versions, about half a year: then few visitors still have that browser
RELEASED = 1_735_689_600  # 2025-01-01: an earlier clock is wrong
_REQUIREMENT = re.compile(r"^([\w.-]+)\s*(?:\[[^\]]*\])?\s*([^;]*?)\s*(?:;\s*(.*))?$")


@dataclass(frozen=True)
class HealthCheck:
    """The result of one check, with a suggested fix."""

    state: str
    what: str
    found: str
    advice: str = ""

    def as_json(self) -> dict[str, str]:
        """Return the check for ``--json``."""
        return asdict(self)


def all_checks(data: str | None = None, settings: list[str] | None = None) -> list[HealthCheck]:
    """Run every check, in the order of the table."""
    try:
        settled = settings_of(data, settings)
    except OperatorError as error:
        wrong = HealthCheck(MISSING, "settings", "wrong", str(error))
        return [
            _check_python(),
            *_check_packages(),
            _check_sqlite(),
            wrong,
            _open_files(),
            check_clock(time.time()),
        ]
    servers = [*_check_servers(settled)]
    away = {check.what for check in servers if check.state == MISSING}
    return [
        _check_python(),
        *_check_packages(needed=needed_extras(settled)),
        _check_sqlite(),
        *_check_disks(settled),
        _open_files(),
        _check_browser(settled),
        *_check_profiles(settled),
        *_check_gateways(settled),
        *_check_proxies(settled),
        *_check_start(settled),
        check_clock(time.time(), *asyncio.run(look_at_clocks(settled, away))),
        *servers,
    ]


def _check_python() -> HealthCheck:
    good = sys.version_info >= (3, 11)
    advice = "" if good else "install Python 3.11 or newer"
    return HealthCheck(OK if good else MISSING, "Python", platform.python_version(), advice)


# --------------------------------------------------------------------------- packages


def _check_packages(needed: Iterable[str] = ()) -> Iterator[HealthCheck]:
    needed = set(needed)
    try:
        requirements = requires("gossamer") or []
    except PackageNotFoundError:
        yield HealthCheck(
            WARNING, "packages", "unknown", f"gossamer is not installed as a package: {install_command()}"
        )
        return
    for requirement in requirements:
        match = _REQUIREMENT.match(requirement)
        assert match is not None, requirement
        name, wanted, marker = match[1], match[2], match[3] or ""
        extra = re.search(r"extra == ['\"](\w+)['\"]", marker)
        if extra and extra[1] not in ("dev", "docs"):
            yield check_package(name, wanted, extra=extra[1], is_needed=extra[1] in needed)
        elif not extra and not _too_new_for(marker):
            yield check_package(name, wanted)


def _too_new_for(marker: str) -> bool:
    """Return whether the requirement is for older Pythons only."""
    limit = re.search(r"python_version < ['\"](\d+)\.(\d+)['\"]", marker)
    return limit is not None and sys.version_info[:2] >= (int(limit[1]), int(limit[2]))


def check_package(name: str, wanted: str, *, extra: str = "", is_needed: bool = False) -> HealthCheck:
    """One package: installed, in a version that fits, and importable.

    One of an extra may be done without, unless it ``is_needed``.
    """
    label = f"{name} [{extra}]" if extra else name
    install = install_command(extra) if extra else f"{pip_command()} '{name}{wanted}'"
    lacking = OPTIONAL if extra and not is_needed else MISSING
    try:
        installed = version(name)
    except PackageNotFoundError:
        return HealthCheck(lacking, label, "not installed", install)
    if not is_in_range(installed, wanted):
        return HealthCheck(lacking, label, f"{installed}, not {wanted}", install)
    try:
        importlib.import_module(find_module(name))
    except Exception as error:  # noqa: BLE001 - whatever a broken installation raises is the finding
        return HealthCheck(
            lacking, label, f"{installed} cannot be imported: {error}", f"{install} --force-reinstall"
        )
    return HealthCheck(OK, label, installed)


def find_module(package: str) -> str:
    """The module that an installed package brings: by its files, since many are not called like it.

    Of several it is the uppermost one, and of these the one that is called like the package.
    """
    wanted = package.replace("-", "_").lower()
    found: set[tuple[str, ...]] = set()
    for file in distribution(package).files or []:
        parts = file.parts[:-1] if file.name == "__init__.py" else (*file.parts[:-1], file.name.split(".")[0])
        if file.suffix in (".py", ".so", ".pyd") and parts and all(map(_is_public, parts)):
            found.add(parts)
    if not found:
        return wanted  # unknown, for example for an editable installation
    first = min(found, key=lambda parts: (len(parts), "_".join(parts).lower() != wanted, parts))
    return ".".join(first)


def _is_public(part: str) -> bool:
    return part.isidentifier() and not part.startswith("_") and part not in ("test", "tests")


def is_in_range(installed: str, wanted: str) -> bool:
    """Return whether a version satisfies ``>=1.2,<2``; other operators are ignored."""
    for part in filter(None, wanted.replace(" ", "").split(",")):
        if part.startswith(">=") and _parse_version(installed) < _parse_version(part[2:]):
            return False
        if part.startswith("<") and part[1] != "=" and _parse_version(installed) >= _parse_version(part[1:]):
            return False
    return True


def _parse_version(text: str) -> tuple[int, ...]:
    release = re.match(r"\d+(?:\.\d+)*", text)
    numbers = [int(number) for number in release[0].split(".")] if release else []
    while numbers and numbers[-1] == 0:
        numbers.pop()
    return tuple(numbers)


# --------------------------------------------------------------------------- the machine


def _check_sqlite() -> HealthCheck:
    good = sqlite3.sqlite_version_info >= MIN_SQLITE
    wanted = ".".join(map(str, MIN_SQLITE))
    advice = "" if good else f"a Python with SQLite {wanted} or newer is needed"
    return HealthCheck(OK if good else MISSING, "SQLite", sqlite3.sqlite_version, advice)


def _check_disks(settings: Settings) -> Iterator[HealthCheck]:
    """Check the folders that a crawl writes to, and the free space of their disks."""
    disks: set[int] = set()
    for what, folder in written_folders(settings):
        there = next(path for path in (folder, *folder.parents) if path.exists())
        yield _check_folder(what, folder, there)
        if (disk := there.stat().st_dev) not in disks:
            disks.add(disk)
            free, state = look_at_disk(there)
            advice = "" if state.is_enough else "a crawl of 1M pages takes a few GB"
            yield HealthCheck(
                OK if state.is_enough else WARNING if state.is_usable else MISSING,
                "free disk",
                f"{format_size(free)} at {there}",
                advice,
            )


def _check_folder(what: str, folder: Path, there: Path) -> HealthCheck:
    shown = str(folder) if there == folder else f"{folder} (to be made)"
    try:
        with tempfile.TemporaryFile(dir=there):
            return HealthCheck(OK, what, shown)
    except OSError as error:
        advice = "choose another with --data" if what == "data directory" else "set it to another place"
        return HealthCheck(
            MISSING, what, f"{shown}: {error.strerror}", f"{advice}, or change its permissions"
        )


def _check_start(settings: Settings) -> Iterator[HealthCheck]:
    """Yield the other things that a crawl opens at its start and cannot open here."""
    for name, error in find_obstacles(settings):
        yield HealthCheck(MISSING, name, "a crawl would not start", str(error))


def _open_files() -> HealthCheck:
    soft, most, idle = look_at_open_files()
    raised = f", which a crawl raises to {most:,}" if most > soft else ""
    found = f"{soft:,}{raised}; up to {idle:,} idle connections are kept"
    advice = "" if most >= MIN_FILES else "raise the hard limit (`ulimit -Hn`), or lower --concurrency"
    return HealthCheck(OK if most >= MIN_FILES else WARNING, "open files", found, advice)


def _check_browser(settings: Settings) -> HealthCheck:
    """Check the browser; only crawls by the way `browser` need it."""
    try:
        return HealthCheck(OK, "browser", look_at_browser(settings))
    except OperatorError as error:
        is_wanted = settings.browser.executable or BROWSER_WAY in named_ways(settings)
        return HealthCheck(MISSING if is_wanted else OPTIONAL, "browser", "not found", str(error))


def _check_profiles(settings: Settings) -> Iterator[HealthCheck]:
    """Compare the browsers that `impersonate` offers with the one that is installed here."""
    try:
        executable = look_at_browser(settings) if settings.browser.kind == "chromium" else ""
    except OperatorError:
        executable = ""
    if (looked := look_at_profiles(executable)) is not None:
        yield check_profiles(*looked)


def check_profiles(newest: str, behind: int | None) -> HealthCheck:
    """Check that the ``newest`` profiles are recent, beside a browser that is ``behind`` versions newer."""
    if behind is None:
        return HealthCheck(OK, "profiles", f"{newest}; no installed Chromium to compare them with")
    if behind <= 0:
        return HealthCheck(OK, "profiles", f"{newest}; the installed browser is not newer")
    age = f"{newest}; {format_count(behind, 'version')} older than the installed browser"
    if behind <= OLD_PROFILE:
        return HealthCheck(OK, "profiles", age)
    return HealthCheck(WARNING, "profiles", age, f"{pip_command()} --upgrade wreq")


def _check_gateways(settings: Settings) -> Iterator[HealthCheck]:
    """Check that each gateway has its key; a gateway that no rung of the settings calls may lack it."""
    for name in settings.gateways:
        what = f"gateway {name}"
        try:
            yield HealthCheck(OK, what, look_at_gateway(settings, name))
        except MissingServiceError as error:
            state = MISSING if names_gateway(settings, name) else WARNING
            yield HealthCheck(state, what, "no key", str(error))
        except OperatorError as error:
            yield HealthCheck(MISSING, what, "wrong", str(error))


def _check_proxies(settings: Settings) -> Iterator[HealthCheck]:
    """Check that the lists of proxies can be read; `gossamer proxies test` checks the proxies."""
    if not settings.proxies.are_there:
        return
    try:
        found = format_count(asyncio.run(look_at_proxies(settings)), "proxy", "proxies")
    except OperatorError as error:
        yield HealthCheck(MISSING, "proxies", "cannot be read", str(error))
    else:
        yield HealthCheck(OK, "proxies", f"{found} listed", "`gossamer proxies test URL` tries them")


def check_clock(
    now: float, wrong: Sequence[tuple[str, str]] = (), right: Sequence[str] = (), unread: Sequence[str] = ()
) -> HealthCheck:
    """Check the time of this machine; ``wrong`` and ``right`` compare it with the clocks of servers."""
    text = time.strftime("%Y-%m-%d %H:%M:%S UTC", time.gmtime(now))
    if now < RELEASED:
        return HealthCheck(
            MISSING, "clock", text, "set it: politeness, retries and certificates depend on it"
        )
    said = [answer for answer, _ in wrong]
    said += [f"the same as that of {' and '.join(right)}"] if right else []
    said += [f"not compared with {' and '.join(unread)}"] if unread else []
    found = ", ".join((text, *said))
    return HealthCheck(WARNING if wrong else OK, "clock", found, wrong[0][1] if wrong else "")


# --------------------------------------------------------------------------- the servers


def _check_servers(settings: Settings) -> Iterator[HealthCheck]:
    """Check the servers that the settings name, without changes to them. A crawl in memory has none."""
    places: list[tuple[str, str | None, Look]] = [
        ("archive.url", settings.archive.url, lambda: asyncio.run(look_at_archive(settings))),
        ("files.url", settings.files.url, lambda: asyncio.run(look_at_files(settings))),
        ("broker.url", settings.broker.url, lambda: _look_at_broker(settings)),
    ]
    if not settings.memory:
        places[:0] = [
            ("frontier.url", settings.frontier.url, lambda: asyncio.run(look_at_requests(settings))),
            ("store.url", settings.store.url, lambda: asyncio.run(look_at_items(settings))),
        ]
    for what, url, look in places:
        if url is not None:
            yield from _check_server(what, url, look)
    if settings.broker.url is None and (wrong := find_missing_broker(settings)):
        yield HealthCheck(OPTIONAL, "broker.url", "not set", wrong)


def _check_server(what: str, url: str, look: Look) -> Iterator[HealthCheck]:
    try:
        report = look()
    except OperatorError as error:
        yield HealthCheck(MISSING, what, shown_server(url), str(error))
    else:
        if report is None:  # a file
            return
        found = f"{shown_server(url)}: {report.found}" if report.found else shown_server(url)
        yield HealthCheck(WARNING if report.advice else OK, what, found, report.advice)


def _look_at_broker(settings: Settings) -> ServerReport:
    from gossamer.cluster.app import check_broker

    check_broker(settings)
    return ServerReport()
