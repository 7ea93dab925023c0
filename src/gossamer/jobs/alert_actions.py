"""Acknowledges and closes alerts."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

from gossamer.core.access import LoggedAction
from gossamer.core.actions import ActionOrder
from gossamer.core.errors import UsageError
from gossamer.core.jobs import Job
from gossamer.core.lifecycle import OVER
from gossamer.core.text import format_count
from gossamer.jobs.acceptance import accept_job
from gossamer.jobs.action_kind import ActionFacts, ActionKind, ActionParts
from gossamer.jobs.alert_closing import close_alerts, send_closed
from gossamer.policy.alerts_on import AlertView, select_ended
from gossamer.policy.troubles import Trouble, TroubleKind, job_of_trouble
from gossamer.wiring.alerts_on import (
    acknowledge_alerts,
    read_job_alerts,
    read_place_alerts,
    read_profiles_of,
)
from gossamer.wiring.backends import refresh_job


class _FoundAlerts(NamedTuple):
    """Alerts of a job, or of the shared services."""

    job: Job | None
    troubles: Sequence[Trouble]


async def _find_alerts(parts: ActionParts, order: ActionOrder) -> list[_FoundAlerts]:
    """Return the current alerts that are meant: by their id or its beginning, or all of a job.

    A kind alone means all alerts of the kind, of any job. Raises ``UsageError`` if there are none.
    """
    backends = parts.backends
    if order.job:
        jobs = [await refresh_job(backends, await parts.find_job(order))]
    else:
        listed = await backends.book.list_jobs()
        jobs = [await refresh_job(backends, job) for job in listed if job.state not in OVER]
        jobs += select_ended(listed, backends.clock.now())
    profiles = await read_profiles_of(backends, jobs)
    views: list[tuple[Job | None, AlertView]] = [
        (job, await read_job_alerts(backends, job, profiles=profiles)) for job in jobs
    ]
    if not order.job:
        fleet = backends.requests.fleet
        roster = await fleet.roster.read_roster() if fleet is not None else None
        views.append((None, await read_place_alerts(backends, jobs, roster)))
    found = [
        _FoundAlerts(job, meant)
        for job, view in views
        if (meant := [one for one in view.troubles if _is_meant(order.who, one)])
    ]
    if not found:
        about = f"{order.who!r}" if order.who else f"of {order.job}"
        raise UsageError(f"no alert {about} is on; `gossamer alerts` lists those that are")
    if any(one.kind is TroubleKind.NO_SUPERVISOR for group in found for one in group.troubles):
        raise UsageError(
            "a missing supervisor cannot be acknowledged: without one, no other problem is reported; "
            "`gossamer supervisor` starts one"
        )
    return found


def _is_meant(name: str, one: Trouble) -> bool:
    return not name or f"{one.id}:".startswith(f"{name}:")


def order_acknowledgement(name: str, *, by: str = "", key: str = "") -> ActionOrder:
    """Return the order to acknowledge alerts by an id (``drift:shop-3:Product.price``), its beginning or a
    job.
    """
    kind, _, rest = name.partition(":")
    if rest or kind in {one.value for one in TroubleKind}:
        return ActionOrder(kind="acknowledge", by=by, job=job_of_trouble(name), who=name, key=key)
    return ActionOrder(kind="acknowledge", by=by, job=name, key=key)


async def _look_at_alerts(parts: ActionParts, order: ActionOrder) -> ActionFacts:
    found = [one for group in await _find_alerts(parts, order) for one in group.troubles]
    what = found[0].id if len(found) == 1 else format_count(len(found), "alert")
    return ActionFacts(what, {"alerts": [one.text for one in found]}, {}, has_way_back=False)


async def _acknowledge(parts: ActionParts, order: ActionOrder) -> dict[str, Any]:
    found = await _find_alerts(parts, order)
    for job, troubles in found:
        await acknowledge_alerts(parts.backends, job, troubles)
        if job is not None:
            await close_alerts(parts.backends, job, {one.id for one in troubles}, "acknowledged")
    return {"alerts": [one.id for group in found for one in group.troubles]}


async def _send(parts: ActionParts, _order: ActionOrder, done: LoggedAction) -> None:
    """Send the notifications about crawls of this machine that are over."""
    alerts = done.after.get("alerts", ())
    for name in {done.job, *(job_of_trouble(alert) for alert in alerts)} - {""}:
        job = await parts.backends.book.get(name)
        if job is not None:
            await send_closed(parts.backends, job)


# --------------------------------------------------------------------------- accept


async def _look_at_items(parts: ActionParts, order: ActionOrder) -> ActionFacts:
    job = await parts.find_job(order)
    return ActionFacts(job.id, {}, {}, has_way_back=False)


async def _accept(parts: ActionParts, order: ActionOrder) -> dict[str, Any]:
    accepted = await accept_job(parts.backends, await parts.find_job(order))
    return {"findings": len(accepted.findings)}


ALERT_ACTIONS = {
    "acknowledge": ActionKind(_look_at_alerts, _acknowledge, _send),
    "accept": ActionKind(_look_at_items, _accept, _send),
}
"""Actions on alerts, and on the losses that they report."""
