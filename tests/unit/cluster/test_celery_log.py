"""Celery sets up no log of its own: what it says is in the form of ours, and without secrets."""

from __future__ import annotations

import json
import logging
from collections.abc import Iterator

import pytest
from celery import signals
from celery.app.log import Logging

from gossamer.cluster import celery_log
from gossamer.cluster.app import make_app
from gossamer.config.layers import load_settings
from gossamer.config.settings import Settings

SECRET = "hush-hush"


@pytest.fixture
def settings(monkeypatch: pytest.MonkeyPatch) -> Iterator[Settings]:
    """A fleet that logs as JSON; afterwards the log and Celery's signal are as they were."""
    monkeypatch.setattr(Logging, "_setup", False)
    monkeypatch.setattr(signals.setup_logging, "receivers", [])
    for name in ("_MP_FORK_LOGLEVEL_", "_MP_FORK_LOGFILE_", "_MP_FORK_LOGFORMAT_"):
        monkeypatch.setenv(name, "")
    level = logging.getLogger().level
    env = {
        "GOSSAMER_FRONTIER__URL": f"redis://:{SECRET}@127.0.0.1:1/0",
        "GOSSAMER_LOG__FORMAT": "json",
        "GOSSAMER_ALERTS__HOLDS": "1",
    }
    yield load_settings(env=env).settings
    celery_log._attached.close()
    logging.getLogger().setLevel(level)


def handlers() -> list[logging.Handler]:
    return [
        handler
        for name in ("", "celery", "celery.task", "celery.redirected")
        for handler in logging.getLogger(name).handlers
    ]


def test_the_command_of_celery_logs_as_the_settings_say(
    settings: Settings, capsys: pytest.CaptureFixture[str]
) -> None:
    before = handlers()
    celery_log.set_up_log(settings)
    make_app(settings).log.setup(loglevel="INFO")
    (ours,) = [handler for handler in handlers() if handler not in before]
    assert ours in logging.getLogger().handlers
    logging.getLogger("celery.worker").info("connected to %s", f"redis://:{SECRET}@127.0.0.1:1/0")
    (line,) = capsys.readouterr().err.splitlines()
    told = json.loads(line)
    assert (told["logger"], told["text"]) == ("celery.worker", "connected to redis://***@127.0.0.1:1/0")


def test_our_own_command_keeps_its_log(settings: Settings) -> None:
    before = handlers()
    celery_log.keep_log()
    make_app(settings).log.setup(loglevel=None)
    assert handlers() == before
