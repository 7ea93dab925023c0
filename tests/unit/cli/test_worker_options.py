"""What the options of `gossamer worker` mean for its settings."""

import pytest

from gossamer.cluster import running
from kit.command_line import gossamer


@pytest.mark.parametrize(("options", "only"), [("", ()), ("--proxy acme", ("acme",))])
def test_a_worker_may_be_bound_to_its_proxies(options, only, tmp_path, monkeypatch):
    seen = []
    monkeypatch.setattr(running, "run_worker", lambda settings, **_: seen.append(settings) or 0)
    gossamer(f"worker {options}", cwd=tmp_path)
    assert [settings.proxies.only for settings in seen] == [only]
