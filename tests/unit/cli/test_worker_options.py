"""What the options of `gossamer worker` mean for its settings."""

import pytest

from gossamer.cluster import local_fleet, running
from kit.command_line import gossamer


@pytest.mark.parametrize(("options", "only"), [("", ()), ("--proxy acme", ("acme",))])
def test_a_worker_may_be_bound_to_its_proxies(options, only, tmp_path, monkeypatch):
    seen = []
    monkeypatch.setattr(running, "run_worker", lambda settings, **_: seen.append(settings) or 0)
    gossamer(f"worker {options}", cwd=tmp_path)
    assert [settings.proxies.only for settings in seen] == [only]


@pytest.mark.parametrize(("options", "port"), [("", None), ("--metrics-port 9108", 9108)])
def test_a_worker_may_serve_its_metrics(options, port, tmp_path, monkeypatch):
    seen = []
    monkeypatch.setattr(running, "run_worker", lambda settings, **_: seen.append(settings) or 0)
    gossamer(f"worker {options}", cwd=tmp_path)
    assert [settings.metrics.port for settings in seen] == [port]


def test_each_process_of_a_machine_has_a_port_of_its_own(tmp_path, monkeypatch):
    started = []

    class Fleet:
        def __init__(self, commands, *, drain_s):
            started.extend(commands)

        def run(self):
            return 0

    monkeypatch.setattr(local_fleet, "LocalFleet", Fleet)
    monkeypatch.setenv("GOSSAMER_METRICS__PORT", "9108")
    gossamer("up --workers 2 -s frontier.url=redis://127.0.0.1:1/0", cwd=tmp_path)
    ports = {name: command[command.index("--metrics-port") + 1] for name, command in started}
    assert ports == {"the supervisor": "9108", "worker 1": "9109", "worker 2": "9110"}
    monkeypatch.delenv("GOSSAMER_METRICS__PORT")
    started.clear()
    gossamer("up --workers 2 -s frontier.url=redis://127.0.0.1:1/0", cwd=tmp_path)
    assert not [command for _, command in started if "--metrics-port" in command]
