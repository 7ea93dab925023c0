"""``deploy/prometheus``: rules that say what they shall, of metrics that there are."""

from __future__ import annotations

import re
import shlex
import shutil
from pathlib import Path
from typing import Any

import pytest
import yaml

from gossamer.policy.alerts import AlertRules
from gossamer.policy.sentences.job_facts import LED_LATELY_S
from gossamer.policy.troubles import SEVERITIES, Severity, TroubleKind
from kit.deploy_files import DEPLOY, ROOT, parses, run
from kit.metric_names import METRICS, OTHERS, TARGET, find_metrics, labels_of, recorded, wrong_labels
from kit.server_process import program

FOLDER = DEPLOY / "prometheus"
RULES: list[dict[str, Any]] = [
    rule
    for group in yaml.safe_load((FOLDER / "rules/gossamer.yml").read_text())["groups"]
    for rule in group["rules"]
]
ALERTS = [rule for rule in RULES if "alert" in rule]
KNOWN = {**METRICS, **OTHERS, **recorded(RULES)}


@pytest.fixture
def promtool() -> str:
    return program("promtool", "prometheus")


@pytest.mark.server
def test_promtool_finds_nothing(promtool: str, tmp_path: Path) -> None:
    shutil.copytree(FOLDER, tmp_path, dirs_exist_ok=True)
    (tmp_path / "token").write_text("t")
    for path in tmp_path.glob("*.yml"):
        text = path.read_text().replace("/run/secrets/metrics_token", "token")
        # Debian's promtool does not know how to ask Kubernetes; the rest it can judge.
        path.write_text(text.replace("kubernetes_sd_configs:\n      - role: pod\n", "static_configs: []\n"))
        said = run(promtool, "check", "config", path)
        assert "SUCCESS" in said
        assert f"{len(RULES)} rules found" in said


@pytest.mark.server
def test_what_the_page_shows_is_right(promtool: str, tmp_path: Path) -> None:
    page = (ROOT / "docs/how-to/alerts-and-grafana.md").read_text()
    [shown] = re.findall(r"```yaml\n(.*?)```", page, re.DOTALL)
    shutil.copytree(FOLDER / "rules", tmp_path / "rules")
    (tmp_path / "shown.yml").write_text(shown)
    run(promtool, "check", "config", "--syntax-only", tmp_path / "shown.yml")
    jobs = yaml.safe_load(shown)["scrape_configs"]
    assert all(job["honor_labels"] for job in jobs)
    assert [job["static_configs"][0]["labels"]["part"] for job in jobs] == ["fleet", "worker"]


@pytest.mark.long
@pytest.mark.server
def test_every_incident_begins_and_ends_its_alert(promtool: str) -> None:
    run(promtool, "test", "rules", *sorted(FOLDER.glob("tests/*.yml")))


def test_every_alert_is_played_until_it_ends() -> None:
    seen: dict[str, list[bool]] = {rule["alert"]: [] for rule in ALERTS}
    for path in FOLDER.glob("tests/*.yml"):
        for incident in yaml.safe_load(path.read_text())["tests"]:
            for moment in incident.get("alert_rule_test", ()):
                seen[moment["alertname"]].append(bool(moment.get("exp_alerts")))
    for name, fired in seen.items():
        said = "".join("x" if is_active else "." for is_active in fired)
        assert re.search(r"\.x+\.", said), f"{name} does not begin and end"


@pytest.mark.parametrize("rule", RULES, ids=lambda rule: rule.get("alert") or rule["record"])
def test_rules_ask_for_what_there_is(rule: dict[str, Any]) -> None:
    assert find_metrics(rule["expr"])
    assert not wrong_labels(rule["expr"], KNOWN)
    if "record" in rule:
        assert labels_of(rule["expr"], KNOWN) - TARGET - {"le"} == set(recorded([rule])[rule["record"]])
    texts = [*rule.get("annotations", {}).values(), *rule.get("labels", {}).values()]
    for label in re.findall(r"\$labels\.(\w+)", " ".join(texts)):
        assert label in labels_of(rule["expr"], KNOWN), label


@pytest.mark.parametrize("rule", ALERTS, ids=lambda rule: rule["alert"])
def test_an_alert_says_what_to_do(rule: dict[str, Any]) -> None:
    assert rule["labels"]["severity"] in {"critical", "warning"}
    assert set(rule["annotations"]) == {"summary", "description"}
    for line in re.findall(r"`gossamer ([^`]+)`", rule["annotations"]["description"]):
        parses(shlex.split(re.sub(r"\{\{.*?\}\}", "NAME", line)))


COVERED = {
    TroubleKind.NO_SUPERVISOR: "GossamerNoSupervisor",
    TroubleKind.NO_WORKER: "GossamerNoWorker",
    TroubleKind.STALLED: "GossamerJobStalled",
    TroubleKind.NO_ITEMS: "GossamerNoItems",
    TroubleKind.DEAD_LETTERS: "GossamerDeadLettersGrow",
    TroubleKind.PROXIES: "GossamerProxiesExhausted",
    TroubleKind.REDIS_MEMORY: "GossamerRedisMemory",
    TroubleKind.HOST_FAILS: "GossamerHostFails",
    TroubleKind.STORE_LAG: "GossamerStoreLags",
    TroubleKind.SILENT_WORKER: "GossamerWorkerAway",
    TroubleKind.GROWING: "GossamerFrontierGrows",
}
"""The rules that find out by themselves what Gossamer finds out too."""


def test_what_needs_a_person_has_a_rule() -> None:
    """One of its own, or Gossamer's word for it is passed on."""
    passed_on: set[str] = set()
    for rule in ALERTS:
        for names in re.findall(r'gossamer_alert_active\{.*?alert=~?"([\w|]+)"', rule["expr"]):
            passed_on |= set(names.split("|"))
    assert passed_on <= {kind.value for kind in TroubleKind}
    needed = {kind for kind, severity in SEVERITIES.items() if severity is Severity.NEEDS_YOU}
    assert needed == {kind for kind in needed if kind in COVERED or kind.value in passed_on}
    by_name = {rule["alert"]: rule for rule in ALERTS}
    for kind, name in COVERED.items():
        assert (by_name[name]["labels"]["severity"] == "critical") == (kind in needed), name


def test_the_rules_have_the_limits_of_gossamer_itself() -> None:
    rules = AlertRules()
    window, half_hour = f"[{rules.window_s / 60:.0f}m]", "[30m]"
    limits = {
        TroubleKind.DEAD_LETTERS: (window, f"> {rules.dead_letters}\n", f"> {rules.dead_share} *"),
        TroubleKind.HOST_FAILS: (f"> {rules.host_failures}\n", f"> {rules.host_attempts}\n"),
        TroubleKind.NO_ITEMS: (half_hour, f"> {rules.no_items_pages}\n"),
        TroubleKind.STALLED: (f"increase{rules.stalled_s / 60:.0f}m == 0",),
        TroubleKind.GROWING: (f"> {rules.growing}\n", "> 1.1 *", "offset 1h"),
        TroubleKind.STORE_LAG: (f"> {rules.store_lag_s:g}\n",),
        TroubleKind.REDIS_MEMORY: (f"> {rules.redis_memory_share}\n",),
    }
    by_name = {rule["alert"]: rule for rule in ALERTS}
    for kind, parts in limits.items():
        expression = re.sub(r" (and|or|unless) ", r"\n\1 ", by_name[COVERED[kind]]["expr"]) + "\n"
        for part in parts:
            assert part in expression, (kind, part, expression)
    for kind, name in COVERED.items():
        if kind is TroubleKind.NO_SUPERVISOR:
            continue  # its metric has waited already
        lasts_s = rules.holds_for(kind) or rules.holds_s  # of those that are at once, what is counted wavers
        lasts = f"{lasts_s / 60:.0f}m" if lasts_s >= 60 else f"{lasts_s:.0f}s"
        assert by_name[name]["for"] == lasts, kind


def seconds(duration: str) -> float:
    number, unit = re.fullmatch(r"(\d+)([sm])", duration).groups()  # type: ignore[union-attr]
    return float(number) * {"s": 1, "m": 60}[unit]


@pytest.mark.parametrize("config", ["prometheus.yml", "kubernetes.yml"])
def test_a_missing_supervisor_is_reported_within_two_minutes(config: str) -> None:
    """From its death: the grace of the metric, a scrape, an evaluation, and the wait of Alertmanager.

    Bug it would catch: the rule waited another minute after the minute that the metric waits.
    """
    every = yaml.safe_load((FOLDER / config).read_text())["global"]
    route = yaml.safe_load((DEPLOY / "alertmanager/alertmanager.yml").read_text())["route"]
    (rule,) = (one for one in ALERTS if one["alert"] == "GossamerNoSupervisor")
    waits = every["scrape_interval"], every["evaluation_interval"], rule["for"], route["group_wait"]
    assert LED_LATELY_S + sum(map(seconds, waits)) <= 120


def test_what_is_scraped_gets_the_labels_that_the_rules_ask_for() -> None:
    parts = set()
    for path in FOLDER.glob("*.yml"):
        for job in yaml.safe_load(path.read_text())["scrape_configs"]:
            assert job["honor_labels"], "the label job would be another"
            added = {rule.get("target_label"): rule.get("replacement") for rule in job["relabel_configs"]}
            assert "fleet" in added
            parts.add(added["part"])
    asked = set(re.findall(r'part="(\w+)"', (FOLDER / "rules/gossamer.yml").read_text()))
    assert asked <= parts
    assert parts == {"fleet", "worker"}


def test_the_page_explains_every_alert() -> None:
    page = (ROOT / "docs/how-to/alerts-and-grafana.md").read_text()
    rows = re.findall(r"^\| (Gossamer\w+) \| (.*?) \|", page, re.MULTILINE)
    assert [name for name, _ in rows] == [rule["alert"] for rule in ALERTS]
    for (_, when), rule in zip(rows, ALERTS, strict=True):
        assert ("(warning)" in when) == (rule["labels"]["severity"] == "warning"), rule["alert"]
