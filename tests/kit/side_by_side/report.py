"""The results of a comparison, as a table and as JSON."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path

from kit.side_by_side.comparison import CANNOT, EMPTY, EQUAL, FAILURES, Comparison


def format_row(found: Comparison) -> str:
    """One line."""
    counts = f"{found.scrapy_items:>5} {found.gossamer_items:>5}"
    why = f": {found.why}" if found.why else ""
    return f"{found.project[:38]:38} {found.spider[:28]:28} {counts}  {found.outcome}{why}"


def format_totals(results: Sequence[Comparison]) -> str:
    """How many of each."""
    outcomes = Counter(found.outcome for found in results)
    lines = [f"{count:>5}  {outcome}" for outcome, count in outcomes.most_common()]
    compared = [found for found in results if found.outcome in (EQUAL, EMPTY, *FAILURES)]
    by_requests = sum(found.by_requests for found in compared)
    by_aliases = sum(found.by_aliases for found in compared)
    started = sum(count for outcome, count in outcomes.items() if outcome != CANNOT)
    projects = len({found.project for found in results})
    return "\n".join(
        [
            f"{projects} projects, {len(results)} spiders, of which Scrapy can start {started}:",
            *lines,
            f"{by_requests} of those compared begin with start_requests(), which Scrapy 2.19 never calls,",
            f"and {by_aliases} import names that it has removed; the reference has both again.",
        ]
    )


def write_report(file: Path, results: Sequence[Comparison]) -> None:
    """All results as JSON."""
    totals = Counter(found.outcome for found in results)
    file.write_text(
        json.dumps({"totals": totals, "spiders": [asdict(found) for found in results]}, indent=1) + "\n"
    )


def has_failures(results: Sequence[Comparison]) -> bool:
    """Whether a spider that Scrapy can start did not start, or gave other items."""
    return any(found.outcome in FAILURES for found in results)
