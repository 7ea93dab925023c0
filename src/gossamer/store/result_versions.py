"""Rows of results that were made again as records, the same for every store."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from gossamer.core.result_versions import ResultVersion, VersionState


def version_of(row: Iterable[Any]) -> ResultVersion:
    """Return the record of a row: ``job, base, state, created_at``."""
    job, base, state, created_at = row
    return ResultVersion(job=job, base=base, state=VersionState(state), created_at=created_at)


def row_of_version(version: ResultVersion) -> tuple[Any, ...]:
    """Return the columns of :func:`version_of`."""
    return version.job, version.base, version.state.value, version.created_at
