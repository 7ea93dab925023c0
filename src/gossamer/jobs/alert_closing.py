"""Reports that a person has dealt with an alert of a job that does not run: nothing else would end it.

The notifications wait at the place of the job. The leader of a fleet takes them over within a minute.
Those of a crawl of this machine are sent at once, or by the next crawl.
"""

from __future__ import annotations

from collections.abc import Collection

from msgspec.structs import replace

from gossamer.core.errors import OperatorError
from gossamer.core.jobs import Job
from gossamer.policy.alerts import AlertChanges
from gossamer.policy.notices import add_notices, make_notices
from gossamer.policy.troubles import name_trouble
from gossamer.watch.delivery import NoticeDelivery
from gossamer.watch.memories import (
    load_job_memory,
    load_notices,
    note_left_news,
    place_of_crawl,
    save_notices,
)
from gossamer.wiring.alert_targets import alert_targets_of, name_watched, wanted_severities
from gossamer.wiring.backends import Backends


async def close_alerts(backends: Backends, job: Job, ids: Collection[str], how: str) -> None:
    """Notify the targets that these alerts of a job are over; ``how``: ``accepted`` or ``acknowledged``.

    An alert of a job that runs is not over. Raises ``StorageError``.
    """
    settings, shared, now = backends.settings, backends.requests.shared, backends.clock.now()
    if job.is_running or not settings.alerts.targets:
        return
    known = (await load_job_memory(shared, job)).alerts
    ended = tuple(
        replace(state, text=f"{state.text} (a person has {how} it)")
        for state in known
        if state.is_active and name_trouble(*state.key) in ids
    )
    wanted = wanted_severities(settings.alerts)
    new = make_notices(AlertChanges(ended=ended), wanted, name_watched(settings, job), now)
    if new:
        place = place_of_crawl(job)
        await save_notices(shared, place, add_notices(await load_notices(shared, place), new, now))
        await note_left_news(shared, place, now, is_left=True)


async def send_closed(backends: Backends, job: Job) -> None:
    """Send the waiting notices of a finished crawl of this machine. Raises nothing.

    If this process does not have the URL of a target, the next crawl sends them.
    """
    if job.is_fleet or job.is_running:
        return
    try:
        targets = alert_targets_of(backends.settings)
    except OperatorError:
        return

    async def is_left(_place: str) -> bool:
        return False  # other places are left to those who watch jobs

    place = place_of_crawl(job)
    await NoticeDelivery(place, targets, backends.requests.shared, backends.clock, is_left=is_left).deliver()
