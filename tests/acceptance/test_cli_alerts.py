"""``gossamer alerts``: what is wrong, who is told, and whether they are reached; no secret is shown."""

from __future__ import annotations

import json

from kit.alert_services import serve_webhook
from kit.command_line import asked, gossamer

SECRET = "hunter2hook"

#: It fails after it has queued requests, so that there is work to lose.
BAD = """
from gossamer import Request, Spider


class Bad(Spider):
    name = "bad"

    async def start(self):
        for n in range(1000):
            yield Request(f"http://127.0.0.1:9/{n}")
        raise ValueError("out of luck")
"""


def test_targets_are_tried_and_listed_without_their_secrets(tmp_path):
    with serve_webhook() as service:
        env = {
            "OPS_URL": f"http://me:{SECRET}@127.0.0.1:{service.port}/{SECRET}",
            "MAIL_URL": f"smtp://me:{SECRET}@127.0.0.1:9",
        }
        (tmp_path / "gossamer.toml").write_text(
            '[alerts.targets.ops]\nurl_env = "OPS_URL"\n'
            '[alerts.targets.mail]\nkind = "email"\nurl_env = "MAIL_URL"\nsender = "g@example.org"\n'
            'to = ["ops@example.org"]\ntimeout = 1.0\n'
        )
        tried = gossamer("alerts test", cwd=tmp_path, code=1, env=env)
        found = asked("alerts test ops", cwd=tmp_path, env={"OPS_URL": env["OPS_URL"]})
        refused = gossamer("alerts test nobody", cwd=tmp_path, code=2, env=env)
        shown = gossamer("settings", cwd=tmp_path, env=env)
        absent = gossamer("alerts test", cwd=tmp_path, code=2)
    assert [document["change"] for document in service.received] == ["tested", "tested"]
    assert found == [{"target": "ops", "is_reached": True, "error": ""}]
    assert "ops, mail" in refused.stderr
    assert "OPS_URL" in absent.stderr
    for done in (tried, refused, shown, absent):
        assert SECRET not in done.stdout + done.stderr


def test_a_crawl_that_fails_is_told_and_listed(tmp_path):
    (tmp_path / "bad.py").write_text(BAD)
    with serve_webhook() as service:
        env = {"OPS_URL": f"http://127.0.0.1:{service.port}/"}
        (tmp_path / "gossamer.toml").write_text('[alerts.targets.ops]\nurl_env = "OPS_URL"\n')
        gossamer("crawl bad.py -q", cwd=tmp_path, code=2, env=env)
        page = asked("alerts", cwd=tmp_path, env=env)
        (alert,) = page["alerts"]
        last = alert["ways"].pop()
        for way in alert["ways"]:
            gossamer(way["command"].removeprefix("gossamer "), cwd=tmp_path, env=env)
        assert asked("alerts", cwd=tmp_path, env=env)["alerts"] == [], "it was cancelled"
        gone = gossamer(last["command"].removeprefix("gossamer "), cwd=tmp_path, env=env, code=2)
        assert "no alert 'failed:bad-1:bad-1' is on; `gossamer alerts` lists" in gone.stderr
    (notice,) = service.received
    assert (notice["change"], notice["alert"], notice["severity"]) == ("begun", "failed", "needs_you")
    assert "out of luck" in notice["text"]
    assert [target["name"] for target in page["targets"]] == ["ops"]
    assert alert["text"] == notice["text"]
    assert notice["ways"] == ["gossamer status bad-1", "gossamer cancel bad-1"]


def test_a_webhook_that_was_down_hears_of_a_crawl_that_failed_from_the_next_one(tmp_path):
    (tmp_path / "bad.py").write_text(BAD)
    (tmp_path / "good.py").write_text(
        "from gossamer import Spider\n\n\nclass Good(Spider):\n    name = 'good'\n\n"
        "    async def start(self):\n        return\n        yield\n"
    )
    (tmp_path / "gossamer.toml").write_text('[alerts.targets.ops]\nurl_env = "OPS_URL"\ntimeout = 1.0\n')
    with serve_webhook() as service:
        port = service.port
    env = {"OPS_URL": f"http://127.0.0.1:{port}/{SECRET}"}
    gossamer("crawl bad.py -q", cwd=tmp_path, code=2, env=env)
    waits = asked("alerts", cwd=tmp_path, env=env)
    (target,), (notice,) = waits["targets"], waits["notices"]
    assert (target["waiting"], target["sent_at"]) == (1, None)
    assert (notice["state"], notice["tries"], notice["target"]) == ("waiting", 1, "ops")
    assert "cannot be reached" in notice["error"] == target["error"]
    shown = gossamer("alerts", cwd=tmp_path, env=env)
    assert "cannot be reached" in shown.stdout
    assert SECRET not in shown.stdout + json.dumps(waits)
    with serve_webhook() as service:
        env = {"OPS_URL": f"http://127.0.0.1:{service.port}/"}
        gossamer("crawl good.py -q", cwd=tmp_path, env=env)
        sent = asked("alerts", cwd=tmp_path, env=env)
    assert [one["text"] for one in service.received] == [notice["text"]]
    assert (sent["targets"][0]["waiting"], sent["notices"][0]["state"]) == (0, "sent")
