"""Committers that store more than results: counts, stops, cookies and the archive."""

from __future__ import annotations

from gossamer.engine.job_stop import StopCommitter
from gossamer.engine.trap_meter import TrapCommitter, TrapMeter
from gossamer.fetch.routing.budgeted import BudgetCommitter
from gossamer.ports.committer import Committer
from gossamer.wiring.routing import RouteParts
from gossamer.wiring.sessions import SessionCommitter


def wrap_committer(committer: Committer, ways: RouteParts, meter: TrapMeter | None) -> Committer:
    """Return a committer that also stores counts, stops, cookies and the archive."""
    counting: Committer = committer if meter is None else TrapCommitter(committer, meter)
    if ways.spending is not None:
        counting = BudgetCommitter(counting, ways.spending)
    stopping = StopCommitter(counting, ways.stop)
    saving = SessionCommitter(stopping, ways.cookies)
    return saving if ways.archive is None else ways.archive.wrap_committer(saving)
