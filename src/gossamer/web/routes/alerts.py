"""Current problems, and who is notified of them."""

from __future__ import annotations

from typing import Annotated

from fastapi import Path

from gossamer.core.errors import UsageError
from gossamer.jobs.acting import perform_action
from gossamer.jobs.alert_actions import order_acknowledgement
from gossamer.queries import alerts
from gossamer.queries.alerts import AlertPage
from gossamer.web.parts import Parts, WhoAsks
from gossamer.web.route_group import RouteGroup
from gossamer.web.routes.actions import ActionAnswer, ActionForm

ROUTES = RouteGroup("Alerts")

AlertId = Annotated[str, Path(alias="alert", max_length=500, description="The id of an alert.")]


@ROUTES.read("/alerts", answer=AlertPage, topic="alerts", every_s=2.0, fresh_s=2.0)
async def list_alerts(parts: Parts) -> AlertPage:
    """Current problems, the worst first; those that were acknowledged; who is notified of them."""
    return await alerts.list_alerts(parts.backends, parts.settings)


@ROUTES.change("/alerts/{alert:path}/actions", answer=ActionAnswer)
async def act_on_alert(parts: Parts, caller: WhoAsks, alert: AlertId, form: ActionForm) -> ActionAnswer:
    """Acknowledge an alert: `do` is `acknowledge`. It no longer counts as a problem while it lasts."""
    if form.do != "acknowledge":
        raise UsageError(f"{form.do!r} cannot be done here: acknowledge can")
    order = order_acknowledgement(alert, by=caller.name, key=form.key)
    done = await perform_action(parts.acting, order)
    return ActionAnswer(action=done.id, before=done.before, after=done.after)
