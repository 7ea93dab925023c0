"""The Celery application: what its messages may be, and what is said of a broker that does not do."""

from __future__ import annotations

import logging
import re
import subprocess
import sys

import pytest
from celery import Celery
from kombu.exceptions import OperationalError
from redis import exceptions as driver

from gossamer.cluster import publisher
from gossamer.cluster.app import make_app
from gossamer.cluster.broker import broker_trouble, broker_url
from gossamer.cluster.consumer import is_news
from gossamer.cluster.publisher import ShiftPublisher, queue_of
from gossamer.config.layers import load_settings
from gossamer.core.errors import SettingError, StorageError
from gossamer.core.redaction import shown_server
from gossamer.core.shifts import SEED_LANE, Shift
from gossamer.install import install_command

SECRET = "hunter2secret"


def settings(**said):
    return load_settings(env={}, spider={"frontier": {"url": "redis://queue/0"}, **said}).settings


def test_messages_hold_nothing_of_value():
    app = make_app(settings(cluster={"fleet": "mine"}), ("http", "browser", SEED_LANE))
    conf = app.conf
    assert [queue.name for queue in conf.task_queues] == [
        queue_of("mine", lane) for lane in ("http", "browser", "seed")
    ]
    assert (conf.accept_content, conf.task_serializer) == (["json"], "json")
    assert (conf.task_acks_late, conf.task_ignore_result, conf.result_backend) == (False, True, None)
    assert (conf.broker_url, conf.worker_prefetch_multiplier) == ("redis://queue/0", 1)


@pytest.mark.parametrize(
    ("said", "error"),
    [
        ({"frontier": {"url": None}}, "requests in Redis: set frontier.url"),
        ({"frontier": {"url": "sqlite:///a.db"}}, "requests in Redis: set frontier.url"),
        ({"frontier": {"url": "redis+cluster://a:1"}}, "a fleet needs a broker: set broker.url"),
    ],
)
def test_settings_that_no_fleet_can_work_with(said, error):
    with pytest.raises(SettingError, match=error):
        broker_url(settings(**said))


@pytest.mark.parametrize(
    ("url", "says"),
    [
        (f"amqp://me:{SECRET[:4]}/{SECRET}@there/", "its host or port cannot be read"),
        (f"amqp://me:12/{SECRET}@there/", "there is an @ behind its host"),
        (f"redis://there/0?password={SECRET}", "parameters behind the [?] that no broker has"),
        (f"redis://there/0?{SECRET}=1", "parameters behind the [?] that no broker has"),
        (f"foo://me:{SECRET}@there", "it does not begin with redis://"),
        (f"unix:///{SECRET}", "it does not begin with redis://"),
        (f"amqp:{SECRET}", "it does not begin with redis://"),
        (f"redis://there/{SECRET}", "its database is not a number"),
        (f"redis+sentinel://:{SECRET}@there", "it does not say by which NAME"),
        (f"redis+sentinel://me:12/{SECRET}@there/main", "there is an @ behind its hosts"),
        (f"redis+cluster://:{SECRET}@there", "it does not begin with redis://"),
        (f"redis://:{SECRET}@there:99999/0", "its host or port cannot be read"),
    ],
)
def test_a_broker_s_url_that_is_none(url, says):
    with pytest.raises(SettingError, match=f"broker.url is not a broker URL: .*{says}") as caught:
        broker_url(settings(broker={"url": url}))
    assert SECRET not in str(caught.value)


@pytest.mark.parametrize(
    "url",
    [
        "redis://:p%2Fw%40@there:1/3",
        "rediss://there/0?ssl_cert_reqs=none",
        "rediss+sentinel://:p%2Fw@there:1,elsewhere/main/3?ssl_ca_certs=f",
        "redis://there",
        "amqp://there//",
        "amqps://u:p@there:5671/crawl?heartbeat=10",
    ],
)
def test_a_broker_s_url_that_is_one(url):
    assert broker_url(settings(broker={"url": url})) == url


def test_the_broker_is_the_redis_of_the_requests_unless_another_is_named():
    assert broker_url(settings()) == "redis://queue/0"
    assert broker_url(settings(broker={"url": "amqp://me@there//"})) == "amqp://me@there//"


@pytest.mark.parametrize(
    ("url", "error", "says"),
    [
        ("redis://queue/0", OSError(111, "Connection refused"), "cannot be reached"),
        ("redis://queue/0", driver.AuthenticationError("WRONGPASS no"), "refuses the user name or password"),
        ("redis://queue/0", driver.NoPermissionError("NOPERM no"), r"ACL SETUSER NAME on >PASSWORD ~\* &\*"),
        ("redis://queue/0", driver.OutOfMemoryError("OOM maxmemory"), "is full"),
        ("amqp://queue//", ConnectionRefusedError(111, "Connection refused"), "is it running, and are user"),
        ("amqp://queue//", ConnectionError(""), r"\(ConnectionError\)"),
    ],
)
def test_what_is_said_of_a_broker(url, error, says):
    wrapped = OperationalError(str(error))
    wrapped.__cause__ = error
    for each in (error, wrapped):
        said = broker_trouble(url.replace("://", f"://me:{SECRET}@") + f"?password={SECRET}", each)
        assert SECRET not in said
        assert said.count("the broker") == 1
        assert "\n" not in said
        assert "hifts are asked for again" in said
        assert re.search(says, said)


def test_a_broker_behind_sentinels_is_shown_as_it_was_written():
    app = make_app(settings(broker={"url": f"redis+sentinel://:{SECRET}@a:1,b:2/main"}))
    assert app.conf.broker_place == "redis+sentinel://a:1,b:2/main"
    assert app.conf.worker_disable_prefetch
    assert broker_trouble(app.conf.broker_place, OSError("no")).startswith(
        "the broker redis+sentinel://a:1,b:2/main cannot be reached"
    )


def test_a_url_is_shown_without_its_secrets():
    assert shown_server(f"redis://me:{SECRET}@queue:1/0?password={SECRET}") == "redis://queue:1/0"


def test_shifts_that_nobody_takes_are_storage_trouble():
    said = settings(broker={"url": f"redis://:{SECRET}@127.0.0.1:1/0"})
    publisher = ShiftPublisher(make_app(said), "mine")
    with pytest.raises(StorageError, match=r"the broker redis://127.0.0.1:1/0 cannot be reached") as caught:
        publisher.publish_shifts([Shift(id="a", job="shop-1", lane="http")])
    assert SECRET not in str(caught.value)


@pytest.fixture
def in_memory():
    """An application whose broker is this process, and the queue of the lane of pages in it."""
    app = make_app(settings())
    app.conf.broker_url = "memory://"
    with app.connection_for_write() as connection:
        queue = app.amqp.queues[queue_of("mine", "http")](connection.default_channel)
        queue.declare()
        queue.purge()
        yield app, queue


def shifts(count):
    return [Shift(id=f"s{number}", job="shop-1", lane="http") for number in range(count)]


def test_no_clock_of_a_machine_decides_whether_a_message_is_void(in_memory):
    app, queue = in_memory
    ShiftPublisher(app, "mine").publish_shifts(shifts(1))
    message = queue.get(no_ack=True)
    assert message.headers["id"] == "s0"
    assert message.headers["expires"] is None
    assert "expiration" not in message.properties


def test_messages_that_no_worker_takes_do_not_become_many(in_memory, monkeypatch, caplog):
    monkeypatch.setattr(publisher, "MOST_WAITING", 20)
    app, queue = in_memory
    for _ in range(7):
        ShiftPublisher(app, "mine").publish_shifts(shifts(10))
    assert queue.queue_declare().message_count == 10
    said = [record.getMessage() for record in caplog.records if record.name == "gossamer.fleet"]
    assert len(said) == 3, "each time that they are deleted"
    assert said[0].startswith("20 messages that no worker had taken were deleted from the queue gossamer.")


def test_what_celery_says_twice_is_left_out():
    from celery.worker.consumer.consumer import CONNECTION_RETRY

    def record(text, *args):
        return logging.LogRecord("celery", logging.WARNING, "", 1, text, args, None)

    assert not is_news(record("%s (%r)", CONNECTION_RETRY, OSError()))
    assert is_news(record("Received unregistered task of type %s.", "x"))
    assert is_news(record("plain"))


@pytest.mark.slow
@pytest.mark.parametrize(
    ("missing", "needed", "args"),
    [
        ("celery", "cluster", "worker"),
        ("celery", "cluster", "supervisor"),
        ("celery", "cluster", "up"),
        ("redis", "redis", "submit http://127.0.0.1:1/"),
        ("asyncpg", "postgres", "submit http://127.0.0.1:1/ -s store.url=postgresql://127.0.0.1:1/x"),
    ],
)
def test_a_package_that_is_missing_is_named(missing, needed, args, tmp_path):
    words = [*args.split(), "-s", f"data={tmp_path}"]
    words += ["-s", "frontier.url=redis://127.0.0.1:1/0"] if missing != "asyncpg" else []
    code = f"import sys; sys.modules[{missing!r}] = None; from gossamer.cli.main import main; main()"
    done = subprocess.run(
        [sys.executable, "-c", code, *words],
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
        cwd=tmp_path,
    )
    assert done.returncode == 4, done
    assert install_command(needed) in done.stderr
    assert done.stderr.count("\n") == 1


def test_the_application_is_one_of_celerys():
    import gossamer.cluster

    assert isinstance(make_app(settings()), Celery)
    with pytest.raises(AttributeError, match="has no attribute 'nothing'"):
        _ = gossamer.cluster.nothing
