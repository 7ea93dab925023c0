"""Metrics as Prometheus reads them."""

from __future__ import annotations

import subprocess
import urllib.request
from collections.abc import Iterable

from prometheus_client import generate_latest
from prometheus_client.parser import text_string_to_metric_families

from gossamer.observe.exposition import make_registry
from gossamer.observe.metrics import MetricSample
from kit.server_process import program

Samples = dict[tuple[str, frozenset[tuple[str, str]]], float]


class Scraped:
    """The metrics of one scrape."""

    def __init__(self, text: str) -> None:
        self.text = text
        self.samples: Samples = {
            (sample.name, frozenset(sample.labels.items())): sample.value
            for family in text_string_to_metric_families(text)
            for sample in family.samples
        }

    def value(self, name: str, **labels: str) -> float:
        """The one sample of a metric with exactly these labels."""
        return self.samples[f"gossamer_{name}", frozenset(labels.items())]

    def total(self, name: str, **labels: str) -> float:
        """The sum of all samples of a metric that have these labels."""
        wanted = frozenset(labels.items())
        return sum(
            value
            for (found, has), value in self.samples.items()
            if found == f"gossamer_{name}" and wanted <= has
        )

    def by(self, name: str, label: str) -> dict[str, float]:
        """The samples of a metric by one of its labels."""
        found: dict[str, float] = {}
        for (known, labels), value in self.samples.items():
            if known == f"gossamer_{name}":
                key = dict(labels)[label]
                found[key] = found.get(key, 0) + value
        return found


def show(samples: Iterable[MetricSample]) -> Scraped:
    """Samples as they would be read."""
    registry = make_registry(lambda: samples, has_process=False)
    return Scraped(generate_latest(registry).decode())


def scrape(port: int, path: str = "/metrics") -> Scraped:
    """Return the metrics that a process of this machine serves."""
    with urllib.request.urlopen(f"http://127.0.0.1:{port}{path}", timeout=10) as response:
        return Scraped(response.read().decode())


def lint(text: str) -> str:
    """Return the complaints of ``promtool check metrics``; ideally none."""
    command = [program("promtool", "prometheus"), "check", "metrics"]
    done = subprocess.run(command, input=text, capture_output=True, text=True, timeout=30, check=False)
    return done.stdout + done.stderr + (f"ended with {done.returncode}" if done.returncode else "")
