"""``deploy/grafana``: panels that ask for metrics and labels that there are, and fit on the page."""

from __future__ import annotations

import json
import re
from itertools import combinations
from pathlib import Path
from typing import Any

import pytest
import yaml

from kit.deploy_files import DEPLOY, run
from kit.metric_names import METRICS, find_metrics, labels_of, wrong_labels
from kit.server_process import program

FOLDER = DEPLOY / "grafana"
BOARD: dict[str, Any] = json.loads((FOLDER / "dashboards/gossamer.json").read_text())
PANELS: list[dict[str, Any]] = BOARD["panels"]
ASKING = [panel for panel in PANELS if panel["type"] != "row"]


def filled(expression: str) -> str:
    """An expression as Grafana sends it."""
    whole = expression.replace("$__rate_interval", "1m").replace("$fleet", ".*").replace("$job", ".*")
    assert "$" not in whole, whole
    return whole


@pytest.mark.parametrize("panel", ASKING, ids=lambda panel: f"{panel['id']} {panel['title']}")
def test_panels_ask_for_what_there_is(panel: dict[str, Any]) -> None:
    assert panel["targets"]
    for target in panel["targets"]:
        expression = filled(target["expr"])
        assert find_metrics(expression)
        assert not wrong_labels(expression, METRICS)
        for label in re.findall(r"\{\{(\w+)\}\}", target["legendFormat"]):
            assert label in labels_of(expression, METRICS), label
        assert target["datasource"] == panel["datasource"] == {"type": "prometheus", "uid": "${datasource}"}
    names = {asked.name for target in panel["targets"] for asked in find_metrics(filled(target["expr"]))}
    if {name for name in names if "job" in METRICS[name]}:
        assert all("job=~" in target["expr"] or "_alert_" in target["expr"] for target in panel["targets"])
    assert len({target["refId"] for target in panel["targets"]}) == len(panel["targets"])


@pytest.mark.server
def test_prometheus_understands_the_panels(tmp_path: Path) -> None:
    asked = [filled(target["expr"]) for panel in ASKING for target in panel["targets"]]
    rules = [{"record": f"panel:{number}", "expr": one} for number, one in enumerate(asked)]
    (tmp_path / "rules.yml").write_text(yaml.safe_dump({"groups": [{"name": "panels", "rules": rules}]}))
    said = run(program("promtool", "prometheus"), "check", "rules", tmp_path / "rules.yml")
    assert f"{len(asked)} rules found" in said


def test_every_metric_is_shown() -> None:
    shown = {
        asked.name
        for panel in ASKING
        for target in panel["targets"]
        for asked in find_metrics(target["expr"])
    }
    assert set(METRICS) == shown


def test_several_dashboards_do_not_count_twice() -> None:
    """What comes from a dashboard is the largest of what they all say, before it is added up."""
    for panel in ASKING:
        for target in panel["targets"]:
            for found in re.finditer(r'gossamer_\w+\{part="fleet"', target["expr"]):
                before = target["expr"][: found.start()]
                assert re.search(r"max by \([\w, ]+\) \((?:rate\(|increase\()?$", before), target["expr"]


def test_the_variables_choose_by_what_there_is() -> None:
    choices = {one["name"]: one for one in BOARD["templating"]["list"]}
    assert list(choices) == ["datasource", "fleet", "job"]
    for name in ("fleet", "job"):
        series, label = re.fullmatch(r"label_values\((.*), (\w+)\)", choices[name]["definition"]).groups()
        assert label == name
        assert not wrong_labels(filled(series), METRICS)
        assert label in labels_of(filled(series), METRICS)
        assert choices[name]["allValue"] == ".*"


def test_panels_fit_on_the_page() -> None:
    assert len({panel["id"] for panel in PANELS}) == len(PANELS)
    assert len({panel["title"] for panel in ASKING if panel["type"] == "stat"}) == 6
    places = [panel["gridPos"] for panel in PANELS]
    assert all(place["x"] >= 0 and place["x"] + place["w"] <= 24 for place in places)
    for one, two in combinations(places, 2):
        apart = (
            one["x"] + one["w"] <= two["x"]
            or two["x"] + two["w"] <= one["x"]
            or one["y"] + one["h"] <= two["y"]
            or two["y"] + two["h"] <= one["y"]
        )
        assert apart, (one, two)


def test_grafana_finds_them() -> None:
    [source] = yaml.safe_load((FOLDER / "provisioning/datasources/prometheus.yml").read_text())["datasources"]
    assert source["type"] == "prometheus"
    scraped = yaml.safe_load((DEPLOY / "prometheus/prometheus.yml").read_text())["global"]["scrape_interval"]
    assert source["jsonData"]["timeInterval"] == scraped
    [provider] = yaml.safe_load((FOLDER / "provisioning/dashboards/gossamer.yml").read_text())["providers"]
    assert provider["type"] == "file"
    assert provider["options"]["path"]
