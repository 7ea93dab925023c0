"""The metrics that Gossamer has, with their labels; and those that an expression of Prometheus asks for."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any

from gossamer.core.record import Record

METRICS: dict[str, tuple[str, ...]] = {
    "gossamer_build_info": ("version",),
    "gossamer_job_info": ("job", "state"),
    "gossamer_pages_total": ("job",),
    "gossamer_attempts_total": ("job", "outcome", "rung"),
    "gossamer_responses_total": ("job", "code"),
    "gossamer_failures_total": ("job", "reason"),
    "gossamer_fetch_duration_seconds_bucket": ("job", "le"),
    "gossamer_fetch_duration_seconds_sum": ("job",),
    "gossamer_fetch_duration_seconds_count": ("job",),
    "gossamer_received_bytes_total": ("job",),
    "gossamer_items_total": ("job",),
    "gossamer_item_duplicates_total": ("job",),
    "gossamer_items_dropped_total": ("job", "reason"),
    "gossamer_retries_total": ("job",),
    "gossamer_dead_letters": ("job",),
    "gossamer_frontier_requests": ("job", "state"),
    "gossamer_frontier_due_requests": ("job", "lane"),
    "gossamer_frontier_oldest_waiting_seconds": ("job",),
    "gossamer_shifts": ("job", "lane", "state"),
    "gossamer_shift_ends_total": ("why",),
    "gossamer_workers": ("state",),
    "gossamer_worker_slots": ("lane",),
    "gossamer_proxies": ("pool", "state"),
    "gossamer_host_attempts_total": ("job", "host", "outcome"),
    "gossamer_store_lag_seconds": (),
    "gossamer_event_loop_lag_seconds": (),
    "gossamer_alert_active": ("alert", "job", "who"),
    "gossamer_scrape_duration_seconds": (),
    "process_resident_memory_bytes": (),
    "process_cpu_seconds_total": (),
    "process_open_fds": (),
}
"""What dashboards and workers give."""

OTHERS = {"up": ("job",), "redis_memory_used_bytes": (), "redis_memory_max_bytes": ()}
"""What Prometheus itself and the exporter of Redis give."""

TARGET = {"instance", "part", "fleet"}
"""The labels that every series gets when it is scraped."""

_WORDS = {
    "and",
    "or",
    "unless",
    "on",
    "ignoring",
    "by",
    "without",
    "group_left",
    "group_right",
    "offset",
    "bool",
}
_GROUPING = re.compile(r"\b(by|on)\s*\(([^)]*)\)\s*")
_TOKEN = re.compile(r"[a-zA-Z_:][\w:]*")


class Asked(Record, frozen=True):
    """A metric in an expression, and the labels by which it is selected."""

    name: str
    labels: frozenset[str]


def find_metrics(expression: str) -> list[Asked]:
    """The metrics that an expression asks for."""
    return [Asked(name, frozenset(labels)) for name, labels in _scan(_without_strings(expression))]


def wrong_labels(expression: str, known: Mapping[str, tuple[str, ...]]) -> list[str]:
    """What an expression asks for that no series has: metrics, labels to select by and labels to group by."""
    text = _without_strings(expression)
    wrong = [asked.name for asked in find_metrics(text) if asked.name not in known]
    for name, labels in _scan(text):
        there = {*known.get(name, ()), *TARGET}
        wrong += [f"{name}{{{label}}}" for label in labels if label not in there]
    for group in _GROUPING.finditer(text):
        inner = _balanced(text, group.end()) if group[1] == "by" else ""
        for name, _ in _scan(inner):
            there = {*known.get(name, ()), *TARGET}
            wrong += [f"{name} by {label}" for label in _split(group[2]) if label not in there]
    return wrong


def labels_of(expression: str, known: Mapping[str, tuple[str, ...]]) -> set[str]:
    """The labels that a result of the expression may have."""
    if group := re.search(r"\bby\s*\(([^)]*)\)", _without_strings(expression)):
        return set(_split(group[1]))
    return {label for asked in find_metrics(expression) for label in (*known[asked.name], *TARGET)}


def recorded(rules: list[dict[str, Any]]) -> dict[str, tuple[str, ...]]:
    """The series that recording rules make, with their labels, by the first part of their names."""
    return {
        rule["record"]: tuple(rule["record"].partition(":")[0].split("_"))
        for rule in rules
        if "record" in rule
    }


def _scan(text: str) -> Iterator[tuple[str, list[str]]]:
    bare = re.sub(r"\b(by|on|without|ignoring|group_left|group_right)\s*\([^)]*\)", " ", text)
    bare = re.sub(r"\[[^\]]*\]|\boffset\s+\w+", " ", bare)
    inside = [(found.start(), found.end()) for found in re.finditer(r"\{[^}]*\}", bare)]
    for token in _TOKEN.finditer(bare):
        rest = bare[token.end() :].lstrip()
        is_label = any(start < token.start() < end for start, end in inside)
        if is_label or token[0] in _WORDS or rest.startswith("("):
            continue
        if token.start() and bare[token.start() - 1].isdigit():
            continue  # the unit of a number
        chosen = re.match(r"\s*\{([^}]*)\}", bare[token.end() :])
        yield token[0], re.findall(r"(\w+)\s*[!=]", chosen[1]) if chosen else []


def _balanced(text: str, start: int) -> str:
    depth = 0
    for at in range(start, len(text)):
        depth += {"(": 1, ")": -1}.get(text[at], 0)
        if depth == 0:
            return text[start : at + 1]
    raise AssertionError(f"no end of the bracket in {text}")


def _split(names: str) -> list[str]:
    return [name.strip() for name in names.split(",") if name.strip()]


def _without_strings(text: str) -> str:
    return re.sub(r'"(?:[^"\\]|\\.)*"', '""', text)
