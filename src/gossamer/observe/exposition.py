"""Samples as Prometheus reads them: the only place that knows the package ``prometheus-client``."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from itertools import accumulate

from prometheus_client import CollectorRegistry, ProcessCollector
from prometheus_client.core import (
    CounterMetricFamily,
    GaugeMetricFamily,
    HistogramMetricFamily,
    InfoMetricFamily,
)
from prometheus_client.core import Metric as Family
from prometheus_client.registry import Collector

from gossamer.core.series import LATENCY_BOUNDS_MS
from gossamer.observe.metrics import (
    METRICS,
    LatencyCounts,
    Metric,
    MetricKind,
    MetricSample,
)
from gossamer.observe.text import one_line

LABEL = 200
"""Maximum characters of a label's value; hosts and reasons may be untrusted text."""
_BOUNDS = (*(str(bound / 1000) for bound in LATENCY_BOUNDS_MS), "+Inf")


class SampleCollector(Collector):
    """Gives a registry the samples of ``read``, read anew each time."""

    def __init__(self, read: Callable[[], Iterable[MetricSample]]) -> None:
        self._read = read

    def collect(self) -> Iterator[Family]:
        """Yield the samples by their metrics, in the order of the table."""
        found: dict[str, Family] = {}
        for sample in self._read():
            _add_sample(found, sample)
        yield from (found[name] for name in METRICS if name in found)

    def describe(self) -> Iterable[Family]:
        """Return nothing: a registry would read all samples for it."""
        return ()


def make_registry(
    read: Callable[[], Iterable[MetricSample]], *, has_process: bool = True
) -> CollectorRegistry:
    """Return a new registry with these samples and, if wanted, those of the process (``process_...``)."""
    registry = CollectorRegistry()
    registry.register(SampleCollector(read))
    if has_process:
        ProcessCollector(registry=registry)
    return registry


def _add_sample(found: dict[str, Family], sample: MetricSample) -> None:
    metric, value, labels = sample
    family = found.get(metric.name)
    if family is None:
        family = found[metric.name] = _open_family(metric)
    shown = [one_line(label, LABEL) for label in labels]
    if isinstance(family, InfoMetricFamily):
        family.add_metric([], dict(zip(metric.labels, shown, strict=True)))
    elif isinstance(value, LatencyCounts):
        buckets = list(zip(_BOUNDS, accumulate(value.counts), strict=True))
        assert isinstance(family, HistogramMetricFamily)
        family.add_metric(shown, buckets, value.total_s)
    else:
        assert isinstance(family, CounterMetricFamily | GaugeMetricFamily)
        family.add_metric(shown, value)


_FAMILIES = {
    MetricKind.COUNTER: CounterMetricFamily,
    MetricKind.GAUGE: GaugeMetricFamily,
    MetricKind.HISTOGRAM: HistogramMetricFamily,
    MetricKind.INFO: InfoMetricFamily,
}


def _open_family(metric: Metric) -> Family:
    """Return a family for the samples of a metric; some kinds add the suffix of the name themselves."""
    name = metric.name.removesuffix("_info" if metric.kind is MetricKind.INFO else "_total")
    family: Family = _FAMILIES[metric.kind](name, metric.meaning, labels=metric.labels)
    return family
