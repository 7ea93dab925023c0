"""The reference page of the metrics, from their table."""

from __future__ import annotations

from meanings import code, table

from gossamer.observe.host_counts import SHOWN
from gossamer.observe.metrics import METRICS, MetricKind, MetricSource
from gossamer.observe.metrics_sink import DROPS, JOBS

INTRO = f"""\
# Metrics

Prometheus reads these metrics at `/metrics` ([how to](../how-to/watch-with-prometheus.md)). Two kinds of
source serve them:

- *process*: a crawl, a worker or a supervisor with `--metrics-port` ([settings](settings.md#metrics)). Its
  counters begin at 0 when it starts.
- *fleet*: the dashboard, for all processes together. It reads the store, the frontier and the roster. Its
  counters begin with the job.

The number of label values is bounded: {SHOWN} hosts (those with the most attempts), {DROPS} reasons for which
users' code drops items, and {JOBS} jobs; `other` stands for all others. The label `job` is the id of a crawl.
Set `honor_labels: true` in Prometheus to keep the label; otherwise it becomes `exported_job`."""
KINDS = {
    MetricKind.COUNTER: "counter",
    MetricKind.GAUGE: "gauge",
    MetricKind.HISTOGRAM: "histogram",
    MetricKind.INFO: "gauge, always 1",
}


def metrics_page() -> str:
    """Return the page of all metrics with their labels, sources and meanings."""
    rows = [
        (
            code(metric.name),
            KINDS[metric.kind],
            ", ".join(map(code, metric.labels)),
            ", ".join(source.value for source in MetricSource if source in metric.sources),
            metric.meaning,
        )
        for metric in METRICS.values()
    ]
    return "\n\n".join(
        [
            INTRO,
            table(("metric", "kind", "labels", "served by", "meaning"), rows),
            "Each source also serves the usual metrics of its own process, such as "
            "`process_cpu_seconds_total`, `process_resident_memory_bytes` and `process_open_fds`.",
        ]
    )
