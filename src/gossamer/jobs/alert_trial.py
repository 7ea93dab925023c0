"""Tests whether the targets of alerts are reached."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Collection, Sequence

from gossamer.config.settings import Settings
from gossamer.core.alerts import AlertChange, AlertNotice
from gossamer.core.errors import OperatorError, UsageError
from gossamer.core.record import Record
from gossamer.ports.alert_target import AlertTarget
from gossamer.wiring.alert_targets import alert_targets_of


class TargetReport(Record, frozen=True, kw_only=True):
    """Whether one target took a trial."""

    target: str
    is_reached: bool
    error: str  # why not; never a secret


async def try_targets(settings: Settings, names: Collection[str] = ()) -> Sequence[TargetReport]:
    """Tell all targets, or those of these names, that this is a trial.

    Raises ``UsageError`` for a name that is not among the settings, and as ``alert_targets_of`` does.
    """
    known = settings.alerts.targets
    if missing := [name for name in names if name not in known]:
        listed = ", ".join(known) or "none"
        raise UsageError(f"the alert target {missing[0]!r} does not exist; the settings name: {listed}")
    chosen = {name: one for name, one in known.items() if not names or name in names}
    alerts = settings.alerts.model_copy(update={"targets": chosen})  # mistakes in other targets do not matter
    targets = alert_targets_of(settings.model_copy(update={"alerts": alerts}))
    return await asyncio.gather(*map(_try_target, targets))


async def _try_target(target: AlertTarget) -> TargetReport:
    now = time.time()
    notice = AlertNotice(
        id=f"trial:{now:.3f}",
        change=AlertChange.TESTED,
        alert="trial",
        severity="know",
        text="nothing is wrong; this is a trial of the alert targets.",
        place="gossamer alerts test",
        since=now,
        at=now,
    )
    try:
        await target.deliver(notice)
    except OperatorError as error:
        return TargetReport(target=target.name, is_reached=False, error=str(error))
    return TargetReport(target=target.name, is_reached=True, error="")
