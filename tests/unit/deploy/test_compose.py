"""``deploy/compose.yaml``: follows its specification, starts what there is, tells no secret."""

from __future__ import annotations

import re
import subprocess
from collections.abc import Mapping, Sequence
from pathlib import Path

import pytest
import redis
import yaml

from gossamer.config.layers import load_settings
from gossamer.config.settings import setting_fields
from kit.deploy_files import (
    DEPLOY,
    GIVEN,
    ROOT,
    STOP_S,
    NotSet,
    compose,
    env_file,
    image_environment,
    parses,
    run,
    seconds,
    tool,
    variables,
)
from kit.server_process import Process, program

OURS = ("supervisor", "worker", "browser-worker", "extractor", "dashboard", "gossamer")

WATCHING = ("prometheus", "alertmanager", "grafana")


def test_compose_follows_its_specification() -> None:
    check = tool("check-jsonschema", "check-jsonschema")
    run(check, "--builtin-schema", "vendor.compose-spec", DEPLOY / "compose.yaml")


def test_compose_starts_commands_that_there_are() -> None:
    services = compose(GIVEN)["services"]
    started = {name: parses(services[name]["command"]) for name in OURS if name != "gossamer"}
    assert started == {
        "supervisor": "supervisor",
        "worker": "worker",
        "browser-worker": "worker",
        "extractor": "worker",
        "dashboard": "dashboard",
    }
    assert services["gossamer"]["command"] == ["--help"]


def test_compose_asks_each_process_whether_it_is_well_and_reaches_its_servers() -> None:
    services = compose(GIVEN)["services"]
    for name in OURS:
        if name == "gossamer":
            assert services[name]["healthcheck"] == {"disable": True}
            continue
        words = services[name]["command"]
        port = words[words.index("--port" if name == "dashboard" else "--metrics-port") + 1]
        kind, program, option, code = services[name]["healthcheck"]["test"]
        assert (kind, program, option) == ("CMD", "python", "-c")
        assert compile(code, "the check", "exec")
        assert f"http://127.0.0.1:{port}/readyz" in code


def test_compose_sets_settings_that_there_are() -> None:
    services = compose(GIVEN)["services"]
    for name in OURS:
        settings = load_settings(
            env={**image_environment("runtime"), **services[name]["environment"]}
        ).settings
        assert settings.frontier.url == "redis://:r3d1s@redis:6379/0"
        assert settings.store.url == "postgresql://gossamer:p0stgr3s@postgres:5432/gossamer"
        assert settings.cluster.lanes == setting_fields()["cluster.lanes"].default
        assert (settings.browser.sandbox is False) == (name == "browser-worker")
        # It may write there, though the rest is read-only; and to what the pages of others need.
        places = [place.partition(":")[0] for place in services[name]["tmpfs"]]
        assert services[name]["read_only"]
        assert {settings.data, "/tmp"} <= set(places)
    database = services["postgres"]["environment"]
    assert (database["POSTGRES_USER"], database["POSTGRES_DB"]) == ("gossamer", "gossamer")
    assert database["POSTGRES_PASSWORD"] == GIVEN["POSTGRES_PASSWORD"]


def test_compose_waits_for_a_worker_to_drain() -> None:
    services = compose(GIVEN)["services"]
    assert all(seconds(services[name]["stop_grace_period"]) >= STOP_S for name in OURS)


def test_compose_takes_its_secrets_from_the_environment_file() -> None:
    example = env_file(DEPLOY / ".env.example")
    assert variables() == set(example)
    for name in GIVEN:
        assert not example[name], f"{name} has a value in the example"
        with pytest.raises(NotSet, match=name):
            compose({**example, **GIVEN, name: ""})
    # The rest has the same value without the file.
    assert compose({**example, **GIVEN}) == compose(GIVEN)
    assert not re.search(r"://\w*:(?!\$)", (DEPLOY / "compose.yaml").read_text())
    assert {"deploy/.env", "deploy/project.env"} <= set((ROOT / ".gitignore").read_text().splitlines())


def test_secrets_of_spiders_go_to_the_processes_of_gossamer_alone() -> None:
    services = compose(GIVEN)["services"]
    named = {name: service["env_file"] for name, service in services.items() if "env_file" in service}
    assert named == {name: [{"path": "project.env", "required": False}] for name in OURS}


def test_further_extras_go_into_every_image() -> None:
    services = compose({**GIVEN, "EXTRAS": "impersonate"})["services"]
    assert all(services[name]["build"]["args"] == {"EXTRAS": "impersonate"} for name in OURS)


def test_compose_publishes_nothing_and_grants_nothing() -> None:
    whole = compose(GIVEN)
    services = whole["services"]
    assert not any("privileged" in service for service in services.values())
    # What is published is so on this machine only.
    published = {name: service["ports"] for name, service in services.items() if "ports" in service}
    assert published == {
        "dashboard": ["127.0.0.1:8787:8787"],
        "alertmanager": ["127.0.0.1:9093:9093"],
        "grafana": ["127.0.0.1:3000:3000"],
    }
    assert whole["networks"]["servers"] == whole["networks"]["watch"] == {"internal": True}
    assert all(services[name]["networks"] == ["servers"] for name in ("redis", "postgres"))
    assert not any("servers" in services[name]["networks"] for name in WATCHING)
    assert all(services[name]["cap_drop"] == ["ALL"] for name in (*OURS, *WATCHING, "redis"))
    assert all(services[name]["read_only"] for name in (*OURS, *WATCHING))
    assert services["browser-worker"]["build"]["target"] == "browser"
    assert services["browser-worker"]["profiles"] == ["browser"]
    for name in ("redis", "postgres"):
        assert services[name]["healthcheck"]["test"]
        assert services["worker"]["depends_on"][name] == {"condition": "service_healthy"}
        assert any(
            volume.startswith(f"{name}:") and name in whole["volumes"] for volume in services[name]["volumes"]
        )


def test_prometheus_and_grafana_find_what_they_watch() -> None:
    whole = compose(GIVEN)
    services = whole["services"]
    assert all("monitoring" in services[name]["profiles"] for name in (*WATCHING, "dashboard"))
    for name in WATCHING:
        for volume in services[name]["volumes"]:
            here, _, there = volume.partition(":")
            assert (DEPLOY / here).is_dir() if here.startswith(".") else here in whole["volumes"]
            assert not here.startswith(".") or there.endswith(":ro")
    scraped = yaml.safe_load((DEPLOY / "prometheus/prometheus.yml").read_text())["scrape_configs"]
    for job in scraped:
        for place in job["dns_sd_configs"]:
            for name in place["names"]:
                option = "--port" if name == "dashboard" else "--metrics-port"
                words = services[name]["command"]
                assert words[words.index(option) + 1] == str(place["port"])
                assert "watch" in services[name]["networks"]
    # Prometheus finds Alertmanager, which posts to the URL of the environment file.
    configured = yaml.safe_load((DEPLOY / "prometheus/prometheus.yml").read_text())["alerting"]
    [[target]] = [place["targets"] for one in configured["alertmanagers"] for place in one["static_configs"]]
    assert target == "alertmanager:9093"
    assert set(services["alertmanager"]["networks"]) == {"watch", "outside"}
    # And Grafana finds Prometheus, and its dashboard.
    provided = DEPLOY / "grafana/provisioning"
    [source] = yaml.safe_load((provided / "datasources/prometheus.yml").read_text())["datasources"]
    assert source["url"] == "http://prometheus:9090"
    [provider] = yaml.safe_load((provided / "dashboards/gossamer.yml").read_text())["providers"]
    assert f"./grafana/dashboards:{provider['options']['path']}:ro" in services["grafana"]["volumes"]
    home = services["grafana"]["environment"]["GF_DASHBOARDS_DEFAULT_HOME_DASHBOARD_PATH"]
    assert (DEPLOY / "grafana/dashboards" / Path(home).name).exists()


def start_with_secret(name: str, variable: str, folder_of: Path) -> tuple[list[str], Path]:
    """What a service is started with that is given a secret, and where that is written."""
    service = compose({**GIVEN, variable: "t0k3n"})["services"][name]
    [place] = service["tmpfs"]
    folder, _, options = place.partition(":")
    assert "uid=65534" in options
    assert "mode=0700" in options
    (folder_of / name).write_text(f'#!/bin/sh\nprintf "%s " "${variable}" "$@"\n')
    (folder_of / name).chmod(0o755)
    [script] = service["command"]
    done = subprocess.run(
        [*service["entrypoint"], script.replace(folder, str(folder_of))],
        env={**service["environment"], "PATH": f"{folder_of}:/usr/bin:/bin"},
        capture_output=True,
        text=True,
        check=True,
    )
    return done.stdout.split(), Path(folder)


def test_prometheus_reads_its_token_from_a_file_that_nobody_else_reads(tmp_path: Path) -> None:
    scraped = yaml.safe_load((DEPLOY / "prometheus/prometheus.yml").read_text())["scrape_configs"]
    [token] = [job["authorization"]["credentials_file"] for job in scraped if "authorization" in job]
    words, folder = start_with_secret("prometheus", "METRICS_TOKEN", tmp_path)
    assert Path(token).parent == folder
    assert words == [
        "--config.file=/etc/prometheus/prometheus.yml",
        "--storage.tsdb.path=/prometheus",
        "--storage.tsdb.retention.time=30d",
    ], "the token is in its environment, or it was started wrongly"
    written = tmp_path / Path(token).name
    assert written.read_text() == "t0k3n"
    assert written.stat().st_mode & 0o777 == 0o600


def test_alertmanager_reads_its_webhook_from_a_file_and_sends_every_alert_there(tmp_path: Path) -> None:
    settings = yaml.safe_load((DEPLOY / "alertmanager/alertmanager.yml").read_text())
    [receiver] = settings["receivers"]
    assert settings["route"]["receiver"] == receiver["name"]
    assert "routes" not in settings["route"]
    [webhook] = receiver["webhook_configs"]
    words, folder = start_with_secret("alertmanager", "ALERT_WEBHOOK", tmp_path)
    assert Path(webhook["url_file"]).parent == folder
    assert (tmp_path / Path(webhook["url_file"]).name).read_text() == "t0k3n"
    assert words[0] == "--config.file=/etc/alertmanager/alertmanager.yml"
    rules = yaml.safe_load((DEPLOY / "prometheus/rules/gossamer.yml").read_text())
    alerts = {rule["alert"] for group in rules["groups"] for rule in group["rules"] if "alert" in rule}
    named = re.findall(r"Gossamer\w+", str(settings["inhibit_rules"]))
    assert named
    assert set(named) <= alerts


@pytest.mark.parametrize("name", WATCHING)
def test_without_its_secret_it_does_not_start(name: str) -> None:
    service = compose(GIVEN)["services"][name]
    variables_there = {**service.get("environment", {}), "PATH": "/usr/bin:/bin"}
    done = subprocess.run(
        [*service["entrypoint"], *service["command"]],
        env=variables_there,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 2
    assert ".env" in done.stderr


class ComposeRedis(Process):
    """Redis as ``compose.yaml`` starts it, but in a folder of ours."""

    name = "redis"

    def __init__(self) -> None:
        super().__init__()
        self._service = compose(GIVEN)["services"]["redis"]

    def command(self) -> Sequence[str]:
        shell, option, script = self._service["command"]
        here = f"dir {self.folder}\nbind 127.0.0.1\nport {self.port}"
        return [shell, option, script.replace("dir /data", here)]

    def environment(self) -> Mapping[str, str]:
        places = str(Path(program("redis-server", "redis-server")).parent)
        return {**self._service["environment"], "PATH": f"{places}:/usr/bin:/bin"}

    def answers(self) -> bool:
        """By the service's own health check."""
        kind, check = self._service["healthcheck"]["test"]
        assert kind == "CMD-SHELL"
        check = check.replace("redis-cli", f"redis-cli -p {self.port}")
        return subprocess.run(["sh", "-c", check], env=dict(self.environment()), check=False).returncode == 0


@pytest.mark.server
def test_redis_of_compose_forgets_nothing_and_wants_its_password() -> None:
    with ComposeRedis() as server:
        with redis.Redis(port=server.port, password=GIVEN["REDIS_PASSWORD"]) as client:
            found = {**client.config_get("maxmemory-policy"), **client.config_get("append*")}
            assert found["maxmemory-policy"] == "noeviction"
            assert client.config_get("maxmemory") == {"maxmemory": str(2**30)}
            assert (found["appendonly"], found["appendfsync"]) == ("yes", "everysec")
            assert client.config_get("save") == {"save": ""}
        command_line = Path(f"/proc/{server.pid}/cmdline").read_bytes()
        assert b"redis-server" in command_line, "it is not the process that is told to end"
        assert GIVEN["REDIS_PASSWORD"].encode() not in command_line
