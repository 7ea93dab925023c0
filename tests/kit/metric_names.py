"""The metrics that Gossamer has, with their labels; and those that an expression of Prometheus asks for."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any

from gossamer.core.record import Record
from gossamer.observe.metrics import METRICS as TABLE
from gossamer.observe.metrics import MetricKind, MetricSource

_OF_PROCESSES = ("process_resident_memory_bytes", "process_cpu_seconds_total", "process_open_fds")


def _list_series() -> Iterator[tuple[str, tuple[str, ...]]]:
    for metric in TABLE.values():
        if metric.kind is MetricKind.HISTOGRAM:
            yield f"{metric.name}_bucket", (*metric.labels, "le")
            yield from ((f"{metric.name}_{end}", metric.labels) for end in ("sum", "count"))
        else:
            yield metric.name, metric.labels
    yield from ((name, ()) for name in _OF_PROCESSES)


METRICS: dict[str, tuple[str, ...]] = dict(_list_series())
"""The series that dashboards and workers serve, with their labels."""

PARTS = {"fleet": MetricSource.FLEET, "worker": MetricSource.PROCESS}
"""The values of the label ``part``, by the source of a series."""


def sources_of(name: str) -> set[MetricSource]:
    """Return the sources of a series."""
    if name in _OF_PROCESSES:
        return set(MetricSource)
    whole = re.sub(r"_(bucket|sum|count)$", "", name)
    return set(TABLE[whole].sources)


OTHERS = {"up": ("job",), "redis_memory_used_bytes": (), "redis_memory_max_bytes": ()}
"""The metrics of Prometheus itself and of the exporter of Redis."""

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
    """Return the unknown metrics, selectors and grouping labels of an expression."""
    text = _without_strings(expression)
    wrong = [asked.name for asked in find_metrics(text) if asked.name not in known]
    for name, labels in _scan(text):
        there = {*known.get(name, ()), *TARGET}
        wrong += [f"{name}{{{label}}}" for label in labels if label not in there]
    for name, part in re.findall(r'(\w+)\{[^}]*part="(\w+)"', expression):
        if name in METRICS and PARTS[part] not in sources_of(name):
            wrong.append(f"{name} of {part}")
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
