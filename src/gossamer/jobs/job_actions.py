"""Actions on a job: pause, resume, cancel, change limits, fetch one more page."""

from __future__ import annotations

import logging
from functools import partial
from typing import Any

from msgspec.structs import replace

from gossamer.config.option import SettingOption
from gossamer.core.access import LoggedAction
from gossamer.core.actions import ActionOrder
from gossamer.core.errors import OperatorError, StorageError, UsageError
from gossamer.core.jobs import Job
from gossamer.core.lifecycle import OVER, JobCommand, JobState
from gossamer.core.requests import FARTHEST, Entry, Request
from gossamer.jobs.action_kind import ActionFacts, ActionKind, ActionParts
from gossamer.jobs.control import change_job, reopen_job
from gossamer.jobs.limits import change_settings, put_back, read_limits
from gossamer.jobs.starting import check_page, check_startable, start_again
from gossamer.policy import urls
from gossamer.policy.job_life import UNFINISHED, mark_interrupted, shown_state
from gossamer.policy.undo import CANCEL_S
from gossamer.wiring.backends import Backends
from gossamer.wiring.scope import url_options_of

log = logging.getLogger("gossamer.actions")


async def _look_at_job(parts: ActionParts, order: ActionOrder) -> ActionFacts:
    job = await parts.find_job(order)
    seen = state = await _read_state(parts.backends, job)
    if order.expected.get("state") == UNFINISHED and state == JobState.RUNNING:
        is_abandoned = not job.is_fleet and await parts.backends.at_work(job) is None
        seen = shown_state(mark_interrupted(job) if is_abandoned else job)
    return ActionFacts(job.id, {"state": seen}, {"state": seen})


async def _read_state(backends: Backends, job: Job) -> str:
    """Return the state of a job: the record of a running crawl follows a little later."""
    stats = None if job.state in OVER else await backends.read_stats(job)
    return (stats or job).state.value


async def _change(command: JobCommand, parts: ActionParts, order: ActionOrder) -> dict[str, Any]:
    job = await change_job(parts.backends, await parts.find_job(order), command)
    return {"state": job.state.value}


# --------------------------------------------------------------------------- resume


async def _resume(parts: ActionParts, order: ActionOrder) -> dict[str, Any]:
    job = await parts.find_job(order)
    if not job.is_fleet:
        await check_startable(parts, job)
    return await _change(JobCommand.RESUME, parts, order)


async def _go_on(parts: ActionParts, order: ActionOrder, _done: LoggedAction) -> None:
    """Start a process for a crawl of this machine."""
    job = await parts.find_job(order)
    if job.is_fleet:
        return
    try:
        await start_again(parts, job)
    except OperatorError as error:
        log.warning("%s is not resumed: %s", job.id, error)


# --------------------------------------------------------------------------- cancel


async def _pause_first(parts: ActionParts, order: ActionOrder) -> dict[str, Any]:
    """Nothing is fetched from now on; for a while that can be undone."""
    job = await parts.find_job(order)
    if job.state in OVER:
        raise UsageError(f"{job.id} is {job.state}; there is nothing to cancel")
    return await _change(JobCommand.PAUSE, parts, order)


async def _cancel(backends: Backends, order: ActionOrder, done: LoggedAction) -> None:
    """Cancel the job, unless it was resumed since: the later command wins."""
    job = await backends.book.get(order.job)
    state = JobState.CANCELLED.value if job is None else await _read_state(backends, job)
    if job is None or state == JobState.CANCELLED:  # the cancelling process was killed before it logged this
        await backends.actions.note_after(done.id, {"state": JobState.CANCELLED.value})
        return
    if state != JobState.PAUSED:
        why = "it was resumed meanwhile" if done.after else "its run ended before the pause"
        await backends.actions.note_after(done.id, {"state": state, "failed": why})
        return
    try:
        job = await change_job(backends, job, JobCommand.CANCEL)
        after = {"state": job.state.value}
    except StorageError:
        raise  # it is tried again
    except OperatorError as error:
        log.warning("%s is not cancelled: %s", order.job, error)
        after = {"state": state, "failed": str(error)}
    await backends.actions.note_after(done.id, after)


# --------------------------------------------------------------------------- limits


async def _look_at_limits(parts: ActionParts, order: ActionOrder) -> ActionFacts:
    if not order.given:
        raise UsageError('say which settings are to be changed, as in {"delay": 2}')
    job = await parts.find_job(order)
    now = await read_limits(parts.backends, job, tuple(order.given))
    changed = [change.key for change in await parts.backends.book.read_changes(job)]
    return ActionFacts(job.id, {"settings": now, "changed": changed}, now)


async def _change_limits(parts: ActionParts, order: ActionOrder) -> dict[str, Any]:
    options = [SettingOption(name, value, name) for name, value in order.given.items()]
    changed = await change_settings(parts.backends, await parts.find_job(order), options, order.by)
    return {"settings": {one.key: one.after for one in changed}}


async def _put_back(parts: ActionParts, order: ActionOrder) -> dict[str, Any]:
    changed = await put_back(parts.backends, await parts.find_job(order), tuple(order.given), order.by)
    return {"settings": {one.key: one.after for one in changed}}


# --------------------------------------------------------------------------- one page more


async def _look_at_page(parts: ActionParts, order: ActionOrder) -> ActionFacts:
    entry = await _entry_of(parts, await parts.find_job(order), order)
    return ActionFacts(entry.request.url, {"url": entry.request.url}, {})


async def _fetch(parts: ActionParts, order: ActionOrder) -> dict[str, Any]:
    """Fetch a page before all others of its host: move its waiting request, or else request it again."""
    job = await parts.find_job(order)
    if job.state is JobState.CANCELLED:
        raise UsageError(f"{job.id} is cancelled: nothing of it is fetched any more")
    entry = await _entry_of(parts, job, order)
    await check_page(parts, job, entry.request.url)
    frontier = parts.backends.open_frontier(job)
    usual = replace(entry, request=entry.request.replace(dont_filter=False))
    if not ((await frontier.add([usual])).accepted or await frontier.raise_requests([usual])):
        await frontier.add([entry])
    await frontier.apply_change(JobCommand.REOPEN)
    await reopen_job(parts.backends, job)
    return {"url": entry.request.url, "state": "pending"}


async def _entry_of(parts: ActionParts, job: Job, order: ActionOrder) -> Entry:
    """Return the request for a page. Raises ``UsageError`` if the URL is not that of a page.

    The fragment stays if it is a route, which a person meant, or if the job knows the page with it.
    """
    given, options = str(order.given.get("url")), url_options_of(parts.loaded.settings)
    url = urls.canonicalise_url(given, options)
    if url is None:
        raise UsageError('say which page: its URL, as in {"url": "https://shop.example/"}')
    kept = urls.canonicalise_url(given, options, keep_fragment=True) or url
    entry = _open_entry(kept, job)
    if kept == url or urls.has_route(kept) or (await parts.backends.open_frontier(job).are_known([entry]))[0]:
        return entry
    return _open_entry(url, job)


def _open_entry(url: str, job: Job) -> Entry:
    return Entry(
        request=Request(url, priority=FARTHEST, dont_filter=True),
        fingerprint=urls.fingerprint_of("GET", url, b"", job.key),
        host=urls.host_key(url),
    )


JOB_ACTIONS = {
    "pause": ActionKind(_look_at_job, partial(_change, JobCommand.PAUSE)),
    "resume": ActionKind(_look_at_job, _resume, _go_on),
    "cancel": ActionKind(_look_at_job, _pause_first, finish=_cancel, delay_s=CANCEL_S),
    "limits": ActionKind(_look_at_limits, _change_limits, takes=None),
    "back": ActionKind(_look_at_limits, _put_back, takes=None),
    "fetch": ActionKind(_look_at_page, _fetch, takes=("url",)),
}
"""Actions on a job."""
