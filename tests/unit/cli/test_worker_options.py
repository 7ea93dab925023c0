"""What the options of `gossamer worker` mean for its settings."""

from typing import ClassVar

import pytest

from gossamer.cluster import local_fleet, running
from gossamer.config.layers import load_settings
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


@pytest.fixture
def started(monkeypatch):
    """The command lines of the processes that `gossamer up` keeps going, and their variables."""
    found = Started()

    class Fleet:
        def __init__(self, commands, *, drain_s, variables):
            found.extend(commands)
            found.variables = variables

        def run(self):
            return 0

    monkeypatch.setattr(local_fleet, "LocalFleet", Fleet)
    return found


class Started(list):
    """What was started, by label."""

    variables: ClassVar[dict[str, str]] = {}


def test_no_password_is_on_the_command_line_of_a_child(tmp_path, started):
    """Whoever may list processes could read it there."""
    url = "redis://:hush-hush@127.0.0.1:1/0"
    pairs = ["frontier.url=redis://127.0.0.1:2/0", f"frontier__url={url}", "http.headers={'X-A': 'b=c'}"]
    pairs += ["proxies.pools.my-own.url=http://list.example/?token=hush-hush", "log.file="]
    gossamer("up", *(word for pair in pairs for word in ("-s", pair.replace("'", '"'))), cwd=tmp_path)
    assert not [label for label, command in started if "hush" in " ".join(command)]
    assert all(command[command.index("-s") + 1] == "log.file=" for _, command in started)
    assert started.variables.keys() == {
        "GOSSAMER_FRONTIER__URL", "GOSSAMER_HTTP__HEADERS", "GOSSAMER_PROXIES__POOLS__MY-OWN__URL",
    }  # fmt: skip
    loaded = load_settings(env=started.variables).settings
    assert loaded.frontier.url == url
    assert loaded.http.headers == {"X-A": "b=c"}
    assert "hush-hush" in loaded.proxies.pools["my-own"].url


def test_each_process_of_a_machine_has_a_port_of_its_own(tmp_path, monkeypatch, started):
    monkeypatch.setenv("GOSSAMER_METRICS__PORT", "9108")
    gossamer("up --workers 2 -s frontier.url=redis://127.0.0.1:1/0", cwd=tmp_path)
    ports = {name: command[command.index("--metrics-port") + 1] for name, command in started}
    assert ports == {"the supervisor": "9108", "worker 1": "9109", "worker 2": "9110"}
    monkeypatch.delenv("GOSSAMER_METRICS__PORT")
    started.clear()
    gossamer("up --workers 2 -s frontier.url=redis://127.0.0.1:1/0", cwd=tmp_path)
    assert not [command for _, command in started if "--metrics-port" in command]
