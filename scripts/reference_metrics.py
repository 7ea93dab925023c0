"""The reference page of the metrics, from their table."""

from __future__ import annotations

from meanings import code, table

from gossamer.observe.host_counts import SHOWN
from gossamer.observe.metrics import METRICS, MetricKind, MetricSource
from gossamer.observe.metrics_sink import DROPS, JOBS

INTRO = f"""\
# Metrics

What Prometheus reads at `/metrics` ([how to](../how-to/watch-with-prometheus.md)). A *process* is a crawl,
a worker or a supervisor with `--metrics-port` ([settings](settings.md#metrics)): its counters begin at 0
when it starts. The *fleet* is what the dashboard serves: what store, frontier and roster say of all processes
together; its counters are those of the job, from its beginning.

Labels are bounded. Of hosts the {SHOWN} with most attempts have values of their own, of the reasons for which
users' code drops items {DROPS}, of jobs {JOBS}; `other` stands for all others. The label `job` is the id of a
crawl: let Prometheus keep it with `honor_labels: true`, or it is called `exported_job` there."""
KINDS = {
    MetricKind.COUNTER: "counter",
    MetricKind.GAUGE: "gauge",
    MetricKind.HISTOGRAM: "histogram",
    MetricKind.INFO: "gauge, always 1",
}


def metrics_page() -> str:
    """Every metric with its labels, who serves it, and its meaning."""
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
            "Besides these there are the usual metrics of a process (`process_cpu_seconds_total`, "
            "`process_resident_memory_bytes`, `process_open_fds` and the like), of whoever serves them.",
        ]
    )
