"""A real Prometheus reads a fleet of two workers: its totals are the frontier's and the store's own."""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path

import pytest

from acceptance.fleet.conftest import Known
from kit.fleet.processes import Fleet, Servers
from kit.fleet.steps import until
from kit.prometheus import PrometheusProcess
from kit.scraping import lint, scrape
from kit.server_process import free_port

FLEET, WORKERS = ("fleet",), ("worker",)


@pytest.mark.thorough
def test_prometheus_sees_what_store_and_frontier_have(tmp_path: Path, servers: Servers, small: Known) -> None:
    ports, page = [free_port(), free_port()], free_port()
    with Fleet(tmp_path, servers, workers=0) as fleet:
        for port in ports:
            fleet.add_worker("--metrics-port", str(port))
        dashboard = fleet._member("dashboard", ("--port", str(page)), "the dashboard is at").start()
        fleet.supervisors.append(dashboard)
        fleet.ready()
        with PrometheusProcess({"worker": ports, "fleet": [page]}) as prometheus:
            job = fleet.submit(small.spider)
            assert fleet.wait(job)["finish_reason"] == "finished"
            stored, status = fleet.stored(job), json.loads(fleet.run("status", job, "--json").stdout)

            def read_totals(name: str) -> dict[tuple[str, ...], float]:
                return prometheus.ask(f'sum by (part) (gossamer_{name}{{job="{job}"}})')

            pages = dict.fromkeys((FLEET, WORKERS), len(stored.pages))
            until(lambda: read_totals("pages_total") == pages, 10, "the last look after the end")
            items, again = read_totals("items_total"), read_totals("item_duplicates_total")
            assert items[WORKERS] == items[FLEET] == len(stored.items) + again[FLEET]
            asked = [row for row in stored.ledger if row.status or row.verdict != "skipped"]
            verdicts = Counter((row.verdict,) for row in asked)
            for part in (*FLEET, *WORKERS):
                of_part = f'gossamer_attempts_total{{job="{job}",part="{part}"}}'
                assert prometheus.ask(f"sum by (outcome) ({of_part})") == verdicts
            answers = dict.fromkeys((FLEET, WORKERS), len([row for row in asked if row.status]))
            assert read_totals("fetch_duration_seconds_count") == answers
            received = read_totals("received_bytes_total")
            assert received[FLEET] == received[WORKERS] == status["bytes"] > 0

            requests = f'gossamer_frontier_requests{{job="{job}",part="fleet"}}'
            states = {**status["queue"], "done": status["done"], "dead": status["dead"]}
            assert prometheus.ask(f"sum by (state) ({requests})") == {(s,): n for s, n in states.items()}
            assert prometheus.ask("sum by (state) (gossamer_workers) > 0") == {("working",): 2}
            slots = prometheus.ask('sum by (lane) (gossamer_worker_slots{part="fleet"})')
            assert slots == {(lane,): 2 * fleet.slots for lane in ("http", "extract", "seed")}
            assert prometheus.ask("sum by (why) (gossamer_shift_ends_total)")[("seeded",)] == 1
            assert prometheus.ask("min by (part) (up)") == {FLEET: 1, WORKERS: 1}
        for port in (*ports, page):
            assert lint(scrape(port).text) == ""
        fleet.all_alive()
