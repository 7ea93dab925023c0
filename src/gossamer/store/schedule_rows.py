"""Schedules and their runs as text, the same for every store."""

from __future__ import annotations

import msgspec

from gossamer.core.schedules import Schedule, ScheduledRun
from gossamer.store.access_rows import clean_text

KEPT_RUNS = 200
"""Runs of one schedule that are kept, besides those that are open."""

schedule_of = msgspec.json.Decoder(Schedule).decode
"""A schedule, as :func:`record_text` wrote it."""
run_of = msgspec.json.Decoder(ScheduledRun).decode
"""A run of a schedule, as :func:`record_text` wrote it."""
_to_json = msgspec.json.Encoder().encode


def record_text(record: Schedule | ScheduledRun) -> str:
    """Return a record as it is stored."""
    return clean_text(_to_json(record).decode("utf-8", "replace"))
