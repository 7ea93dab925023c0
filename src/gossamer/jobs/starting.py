"""Starts crawls for remote callers, and resumes crawls of this machine.

Guarantee: the spider is in the project, the settings are on an allow-list, and private addresses are reached
only if the operator allowed them (``dashboard.allow_private``): callers that may start crawls need not own
this machine.
"""

from __future__ import annotations

import asyncio
import sys
import time
from collections.abc import Mapping
from pathlib import Path
from subprocess import Popen
from typing import Any

from msgspec.structs import replace

from gossamer.config.live import check_startable_settings
from gossamer.config.option import SettingOption
from gossamer.core.access import LoggedAction
from gossamer.core.actions import ActionOrder
from gossamer.core.errors import JobBusyError, MissingServiceError, StorageError, UsageError
from gossamer.core.jobs import Job
from gossamer.core.lifecycle import JobState
from gossamer.core.record import Record
from gossamer.core.redaction import has_userinfo, shown_server
from gossamer.jobs.action_kind import ActionParts, check_same_order
from gossamer.jobs.control import prepare_submission, submit_job
from gossamer.jobs.limits import check_numbers
from gossamer.policy import urls
from gossamer.policy.credentials import authorizations_for
from gossamer.policy.secret_names import is_secret
from gossamer.runtime.detached import last_words, start_detached
from gossamer.targets.discovery import CrawlTarget, file_of, is_url
from gossamer.targets.launch import LaunchPlan, launch_from, to_text
from gossamer.targets.loading import load_target
from gossamer.targets.start_url import absolute_url
from gossamer.wiring.checks import is_private_url

BEGIN_S = 30.0
"""Seconds that a process may take until its crawl has begun."""
DRAIN_S = 20.0
"""Seconds that a stopped process may take to end."""
LOOK_S = 0.1
TO_ALLOW = (
    "start the dashboard anew with -s dashboard.allow_private=true, or with `allow_private = true` below "
    "`[dashboard]` in gossamer.toml"
)
NO_PRIVATE = SettingOption("http.private_hosts", "none", "the dashboard")


class CrawlOrder(Record, frozen=True, kw_only=True):
    """A crawl to start."""

    target: str  # a URL, the name of a spider, or ``FILE.py:Class`` in the project
    arguments: dict[str, str] = {}
    settings: dict[str, Any] = {}
    key: str = ""  # theirs: with the same one the same crawl is started once

    def as_order(self, by: str) -> ActionOrder:
        """Return this start as an order of ``by``."""
        said = {"target": self.target, "arguments": self.arguments, "settings": self.settings}
        return ActionOrder(kind="start", by=by, given=said, key=self.key)


async def start_crawl(parts: ActionParts, start: CrawlOrder, by: str) -> Job:
    """Start a crawl for ``by``: on the fleet, or in a process of its own on this machine; it is logged.

    Raises ``UsageError`` for a forbidden or invalid order, ``JobBusyError`` while the same crawl is running,
    and ``ConflictError`` if the key was used for another order.
    """
    order, log = start.as_order(by), parts.backends.actions
    if start.key and (done := await log.find_key(by, start.key)):
        check_same_order(done, order)
        return await parts.find_job(replace(order, job=done.job))
    _check_text(start)
    target = _allowed_target(parts, start.target)
    if secrets := [name for name, text in start.arguments.items() if is_secret(name) or has_userinfo(text)]:
        raise UsageError(f"{', '.join(secrets)}: secrets are not given here; start this crawl at a terminal")
    options = [SettingOption(name, value, name) for name, value in check_startable_settings(start.settings)]
    check_numbers(options)
    if not parts.loaded.settings.dashboard.allow_private:
        options.append(NO_PRIVATE)
    if parts.backends.requests.fleet is not None:
        prepared = await asyncio.to_thread(prepare_submission, target, start.arguments, options)
        job = await submit_job(parts.backends, *prepared)
    else:
        job = await _start_here(parts, target, start.arguments, options)
    noted = LoggedAction(
        at=job.created_at,
        token=by,
        kind=order.kind,
        job=job.id,
        what=job.target,
        after=order.given,
        key=order.key,
        asked=order.digest,
    )
    await log.add_action(noted)
    return job


def _check_text(start: CrawlOrder) -> None:
    """Raise ``UsageError`` for text that cannot be handed to a process."""
    said = str((start.target, start.arguments, start.settings))
    texts = [start.target, *start.arguments, *start.arguments.values(), *map(str, start.settings.values())]
    if "\\x00" in said or any("\0" in text for text in texts):
        raise UsageError("the target and its arguments must not contain NUL")
    try:
        "".join(texts).encode()
    except UnicodeEncodeError:
        raise UsageError("the target and its arguments are not valid text") from None


def _allowed_target(parts: ActionParts, target: str) -> str:
    """Return the target to start. Raises ``UsageError`` for anything but a URL or a spider of the project."""
    if file := file_of(target):
        return _file_of_project(parts, target, *file)
    if _is_spider_name(target):
        return target  # the name of a spider: loading reports an unknown one
    url = absolute_url(target)
    if authorizations_for([url]):
        raise UsageError(
            f"{shown_server(url)}: a user and a password are not given here; start this crawl at a terminal"
        )
    if urls.canonicalise_url(url) is None or not is_url(target):
        raise UsageError(f"{shown_server(url)} is neither a URL nor the name of a spider of this project")
    if not parts.loaded.settings.dashboard.allow_private and is_private_url(url):
        raise UsageError(
            f"{target} is not a public address, and crawls that are started here may not reach private ones: "
            f"start this crawl at a terminal (`gossamer crawl {target}`), or {TO_ALLOW}"
        )
    return url if "/" in target else target  # without a path it may also be the name of a spider


def _file_of_project(parts: ActionParts, target: str, path: Path, name: str | None) -> str:
    """Return a file of the project, and the class in it. Raises ``UsageError`` for any other file."""
    project = parts.loaded.project
    if project is None:
        raise UsageError(
            f"{target}: only files of a project are started here, and there is none: no gossamer.toml is in "
            f"{parts.loaded.start} or above. An empty one makes a project of a folder"
        )
    file = (project / path).resolve()
    if not file.is_relative_to(project.resolve()) or not file.is_file():
        raise UsageError(f"{target}: only files inside the project can be started here")
    return f"{file}:{name}" if name else str(file)


def _is_spider_name(target: str) -> bool:
    """Whether a target is not a URL: a host without a dot is known by its port, or is this machine."""
    host, _, rest = target.partition("/")
    name, _, port = host.partition(":")
    is_host = "." in name or name.startswith("[") or name == "localhost" or port.isdigit() or rest != ""
    return not is_url(target) and not is_host


async def check_page(parts: ActionParts, job: Job, url: str) -> None:
    """Raise ``UsageError`` for a page of a private host that the job does not have.

    A person at a terminal may have named a private host: that opens all of its ports to the job.
    """
    if parts.loaded.settings.dashboard.allow_private or not is_private_url(url):
        return
    host = urls.host_key(url)
    if await parts.backends.open_frontier(job).find_host(host) is None:
        raise UsageError(
            f"{host} is not a public address and no host of {job.id}; to reach private ones from here, "
            f"{TO_ALLOW}"
        )


# --------------------------------------------------------------------------- on this machine


async def _start_here(
    parts: ActionParts, target: str, arguments: Mapping[str, str], options: list[SettingOption]
) -> Job:
    folder = parts.loaded.project or parts.loaded.start
    loaded = await asyncio.to_thread(load_target, target, arguments, options, start=folder)
    await _check_free(parts, loaded.target)
    given = {option.key: to_text(option.value) for option in options}
    given["data"] = str(_data_of(parts))
    plan = LaunchPlan(
        folder=str(folder), target=target, arguments=dict(arguments), options=tuple(given.items())
    )
    began_at = parts.backends.clock.now()
    name = f"{loaded.target.name}-{time.strftime('%Y%m%d-%H%M%S')}"
    process, log = _run_crawl(parts, [*plan.to_command(), "--fresh"], folder, name)
    for _ in range(round(BEGIN_S / LOOK_S)):
        for job in await parts.backends.book.list_jobs():
            is_ours = (job.name, job.target) == (loaded.target.name, loaded.target.text)
            if is_ours and not job.is_fleet and job.created_at >= began_at:
                return job
        if process.poll() is not None:
            raise UsageError(f"the crawl did not begin: {last_words(log)}")
        await parts.backends.clock.sleep(LOOK_S)
    raise MissingServiceError(f"the crawl has not begun within {BEGIN_S:.0f} s: see {log}")


async def _check_free(parts: ActionParts, target: CrawlTarget) -> None:
    """Raise ``JobBusyError`` for a crawl that is not over."""
    for job in await parts.backends.book.list_jobs(unfinished=True):
        if (job.name, job.target) == (target.name, target.text):
            way = "resume it, or cancel it first" if job.state is JobState.PAUSED else "cancel it first"
            raise JobBusyError(f"{job.id} is a crawl of the same, and is not over: {way}")


def _run_crawl(parts: ActionParts, command: list[str], folder: Path, name: str) -> tuple[Popen[bytes], Path]:
    """Start a process that outlives this one, with a log."""
    log = _data_of(parts) / "logs" / f"{name}.log"
    at = command.index("--")  # options stand before it
    whole = [sys.executable, "-m", "gossamer", *command[:at], *command[at + 2 :], *command[at : at + 2]]
    try:
        return start_detached(whole, folder, log), log
    except OSError as error:
        raise StorageError(f"a process for the crawl cannot be started: {error}") from None


def _data_of(parts: ActionParts) -> Path:
    return Path(parts.loaded.settings.data).absolute()


async def check_startable(parts: ActionParts, job: Job) -> LaunchPlan:
    """Return the plan for resuming a crawl of this machine. Raises ``UsageError`` if only a person can."""
    plan = launch_from(await parts.backends.book.read_launch(job))
    if plan is None:
        raise UsageError(
            f"the start of {job.id} is not recorded: the command or the program that began it continues it"
        )
    plan.to_command()
    if not _is_within(plan.folder, parts.loaded.project or parts.loaded.start):
        raise UsageError(
            f"{job.id} was begun in {plan.folder}, which is not in the project that this server looks after: "
            "continue it there"
        )
    return plan


def _is_within(folder: str, project: Path) -> bool:
    return Path(folder).is_dir() and Path(folder).resolve().is_relative_to(project.resolve())


async def start_again(parts: ActionParts, job: Job) -> None:
    """Resume a crawl of this machine when its paused process has ended."""
    plan, backends = await check_startable(parts, job), parts.backends
    for _ in range(round(DRAIN_S / LOOK_S)):
        if await backends.at_work(job) is None:
            break
        await backends.clock.sleep(LOOK_S)
    else:
        return  # it is still running: it did not receive the pause
    if (await backends.open_frontier(job).read_stats()).state is JobState.RUNNING:
        _run_crawl(parts, plan.to_command(), Path(plan.folder), job.id)
