"""Acknowledging alerts: they last, and somebody knows."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from gossamer.core.actions import ActionOrder
from gossamer.core.errors import UsageError
from gossamer.core.text import format_count
from gossamer.jobs.action_kind import ActionFacts, ActionKind, ActionParts
from gossamer.policy.troubles import Trouble, TroubleKind
from gossamer.wiring.alerts_on import acknowledge_alerts, read_job_alerts, read_place_alerts


async def _find_alerts(parts: ActionParts, order: ActionOrder) -> Sequence[Trouble]:
    """The alerts that are on and meant: by the id or its beginning, or all of a job; else ``UsageError``."""
    backends = parts.backends
    if order.job:
        view = await read_job_alerts(backends, await parts.find_job(order))
    else:
        jobs, fleet = await backends.book.list_jobs(unfinished=True), backends.requests.fleet
        roster = await fleet.roster.read_roster() if fleet is not None else None
        view = await read_place_alerts(backends, jobs, roster)
    found = [one for one in view.troubles if not order.who or f"{one.id}:".startswith(f"{order.who}:")]
    if not found:
        about = f"{order.who!r}" if order.who else f"of {order.job}"
        raise UsageError(f"no alert {about} is on; `gossamer alerts` lists those that are")
    if any(one.kind is TroubleKind.NO_SUPERVISOR for one in found):
        raise UsageError(
            "that no supervisor leads cannot be acknowledged: nobody would report anything else; "
            "`gossamer supervisor` starts one"
        )
    return found


def order_acknowledgement(name: str, *, by: str = "", key: str = "") -> ActionOrder:
    """The order to acknowledge alerts by an id (``drift:shop-3:Product.price``), its beginning, or a job."""
    kind, _, rest = name.partition(":")
    if rest or kind in {one.value for one in TroubleKind}:
        return ActionOrder(kind="acknowledge", by=by, job=rest.partition(":")[0], who=name, key=key)
    return ActionOrder(kind="acknowledge", by=by, job=name, key=key)


async def _look_at_alerts(parts: ActionParts, order: ActionOrder) -> ActionFacts:
    found = await _find_alerts(parts, order)
    what = found[0].id if len(found) == 1 else format_count(len(found), "alert")
    return ActionFacts(what, {"alerts": [one.text for one in found]}, {}, has_way_back=False)


async def _acknowledge(parts: ActionParts, order: ActionOrder) -> dict[str, Any]:
    found = await _find_alerts(parts, order)
    job = await parts.find_job(order) if order.job else None
    await acknowledge_alerts(parts.backends, job, found)
    return {"alerts": [one.id for one in found]}


ALERT_ACTIONS = {"acknowledge": ActionKind(_look_at_alerts, _acknowledge)}
"""What can be done with alerts."""
