"""Changes that a person makes to a job that runs, or will run again."""

from __future__ import annotations

from typing import Any

from gossamer.core.hosts import FrontierRules
from gossamer.core.record import Record, Time


class SettingChange(Record, frozen=True, kw_only=True):
    """A setting that overrides the one a job began with."""

    key: str  # its full name, as in ``budgets.cost``
    value: Any  # of its type, as JSON has it
    before: Any = None  # the value at the job's beginning
    at: Time = 0.0
    by: str = ""  # who changed it: the name of a token, or of a user of this machine


class WorkLimits(Record, frozen=True, kw_only=True):
    """Limits that a running worker applies besides the frontier's decisions."""

    concurrency: int  # requests in flight altogether
    rules: FrontierRules  # of retries and of depth
