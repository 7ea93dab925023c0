"""What a person changed of a job that runs, or will run again."""

from __future__ import annotations

from typing import Any

from gossamer.core.hosts import FrontierRules
from gossamer.core.record import Record, Time


class SettingChange(Record, frozen=True, kw_only=True):
    """A setting of one job that stands instead of what the job was begun with."""

    key: str  # its full name, as in ``budgets.cost``
    value: Any  # of its type, as JSON has it
    before: Any = None  # what it was before anybody changed it
    at: Time = 0.0
    by: str = ""  # who changed it: the name of a token, or of a user of this machine


class WorkLimits(Record, frozen=True, kw_only=True):
    """What a running worker follows, besides what the frontier decides."""

    concurrency: int  # requests in flight altogether
    rules: FrontierRules  # of retries and of depth
