"""The units of ``deploy/systemd``: right, closed to the system, and starting what there is."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from gossamer.config.layers import load_settings
from gossamer.config.settings import setting_fields
from gossamer.core.shifts import EXTRACT_LANE
from gossamer.policy.health import HELD_UP_S
from kit.deploy_files import DEPLOY, STOP_S, UNITS, env_file, parses, run, seconds, unit
from kit.server_process import program


@pytest.fixture
def units(tmp_path: Path) -> Path:
    """The units in a folder of their own, with a program that is here."""
    shutil.copytree(DEPLOY / "systemd", tmp_path, dirs_exist_ok=True)
    for path in tmp_path.rglob("*.service"):
        if path.is_file():
            path.write_text(path.read_text().replace("/opt/gossamer/bin/gossamer", "/bin/true"))
    return tmp_path


INSTANCES = {
    "gossamer-worker@1.service": 1.5,
    "gossamer-worker@browser.service": 4.0,
    "gossamer-worker@extract.service": 1.5,
    "gossamer-supervisor.service": 1.5,
    "gossamer-dashboard.service": 1.5,
}
"""With how much of the system each may reach, of 10."""


@pytest.mark.server
def test_systemd_finds_nothing(units: Path) -> None:
    analyze = program("systemd-analyze", "systemd")
    run(analyze, "verify", "--man=no", *(units / name for name in (*INSTANCES, "gossamer.target")))


@pytest.mark.server
def test_the_units_are_closed_to_the_system(units: Path) -> None:
    analyze = program("systemd-analyze", "systemd")
    for name, exposure in INSTANCES.items():
        run(analyze, "security", "--offline=true", f"--threshold={exposure * 10:.0f}", units / name)


def test_the_units_start_commands_that_there_are() -> None:
    started = {}
    for path in UNITS:
        for name, value in unit(path):
            if name == "ExecStart":
                binary, *words = value.split()
                assert binary == "/opt/gossamer/bin/gossamer"
                started[path.name] = parses([word for word in words if not word.startswith("$")])
    assert started == {
        "gossamer-worker@.service": "worker",
        "gossamer-supervisor.service": "supervisor",
        "gossamer-dashboard.service": "dashboard",
    }
    lanes = set()
    for path in DEPLOY.glob("systemd/*.service.d/*.conf"):
        [options] = [value for name, value in unit(path) if "WORKER_OPTIONS" in value]
        words = options.strip('"').partition("=")[2].split()
        assert parses(["worker", *words]) == "worker"
        lanes.add(words[words.index("--lanes") + 1])
    assert lanes == {"browser", EXTRACT_LANE}


@pytest.mark.parametrize(
    "path", [unit for unit in UNITS if unit.suffix == ".service"], ids=lambda path: path.stem
)
def test_the_units_drain_and_go_on(path: Path) -> None:
    settings = dict(unit(path))
    assert settings["KillSignal"] == "SIGTERM"
    assert seconds(settings["TimeoutStopSec"]) >= STOP_S
    assert settings["Restart"] == "always"
    assert settings["StartLimitIntervalSec"] == "0"
    assert settings["Type"] == "notify"
    assert HELD_UP_S / 2 <= seconds(settings["WatchdogSec"]) <= 2 * HELD_UP_S
    assert "AF_UNIX" in settings["RestrictAddressFamilies"], "its word to systemd goes by such a socket"
    assert settings["User"] == "gossamer"
    variables = dict(v.split("=", 1) for name, v in unit(path) if name == "Environment" and "GOSSAMER_" in v)
    assert load_settings(env=variables).settings.data == f"/var/lib/{settings['StateDirectory']}"
    assert settings["EnvironmentFile"]
    assert "ProcSubset" not in settings, "without /proc/stat the metrics of a process are missing"
    said = [value for name, value in unit(path) if name != "Documentation"]
    assert not any("://" in value for value in said), (
        "addresses, and their passwords, are in the environment file"
    )


def test_the_environment_of_the_units_names_settings_that_there_are() -> None:
    example = env_file(DEPLOY / "systemd/gossamer.env.example")
    given = {
        **example,
        "GOSSAMER_FRONTIER__URL": "redis://queue:6379/0",
        "GOSSAMER_STORE__URL": "postgresql://gossamer@db/gossamer",
        "GOSSAMER_BROKER__URL": "amqp://gossamer@broker//",
    }
    assert set(given) == set(example), "the example leaves something out"
    settings = load_settings(env=given).settings
    assert settings.cluster.fleet == setting_fields()["cluster.fleet"].default
    assert not any("URL" in name and value for name, value in example.items())
