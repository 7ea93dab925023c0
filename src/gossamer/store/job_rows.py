"""Parts that all job stores share: the ids of jobs, and rows as records."""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Any

import msgspec

from gossamer.core.jobs import Job, known_end
from gossamer.core.lifecycle import JobState
from gossamer.core.steering import SettingChange

_SLUG_LENGTH = 64

change_of = msgspec.json.Decoder(SettingChange).decode
"""A changed setting, as :func:`change_text` wrote it."""


def job_of(row: Iterable[Any]) -> Job:
    """The record of a row: ``id, name, target, created_at, state, finished_at, reason, error, key, plan``."""
    number, name, target, created_at, state, finished_at, reason, error, key, plan = row
    end_reason, end_error = known_end(reason, error)
    return Job(
        id=number,
        name=name,
        target=target,
        created_at=created_at,
        state=JobState(state),
        finished_at=finished_at,
        end_reason=end_reason,
        end_error=end_error,
        key=key,
        plan=plan,
    )


def split_job_id(job_id: str) -> tuple[str, int]:
    """``("shop", 3)`` for ``shop-3``; an id without a number is all name."""
    head, _, number = job_id.rpartition("-")
    return (head, int(number)) if number.isascii() and number.isdigit() else (job_id, 0)


def slug_of(name: str) -> str:
    """Return a name as part of a file name: letters, digits, ``. _ -``; never empty, hidden or long."""
    return re.sub(r"[^A-Za-z0-9._-]+", "-", name).strip("-.")[:_SLUG_LENGTH].rstrip("-.") or "job"


def change_text(change: SettingChange) -> str:
    """Return a changed setting as it is stored."""
    return msgspec.json.encode(change).decode()
