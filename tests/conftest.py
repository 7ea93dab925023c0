"""Servers as fixtures. `*_server` is one of our own, which a test may kill; `*_url` is a place that is empty.
A test that changes how a server is set up takes one of its own: ``with RedisProcess() as server:``.

One of each kind for a process of pytest-xdist, started when it is first asked for. ``TEST_REDIS_URL``,
``TEST_POSTGRES_URL`` and ``TEST_AMQP_URL`` name servers to be used for the URLs instead. ``MONGO_URL`` names
a MongoDB; without it, what speaks its protocol here is a small server of our own.
"""

from __future__ import annotations

import asyncio
import os
import secrets
import threading
from collections.abc import Coroutine, Iterator
from typing import Any

import pytest
from hypothesis import HealthCheck, settings

from gossamer.runtime.known_secrets import forget_secrets
from kit import corpora
from kit.environment import SEED_VARIABLE, draw_seed, keep_plain
from kit.server_process import Process
from kit.servers import BucketProcess, MongoProcess, PostgresProcess, RabbitProcess, RedisProcess

SERVER_FIXTURES = frozenset(
    {
        *("redis_server", "postgres_server", "rabbit_server", "s3_server", "mongo_server"),
        *("redis_url", "postgres_url", "amqp_url", "s3_url", "mongo_url"),
    }
)
_seed: list[str] = []
"""By which pairs of features are drawn."""
_left_out_elsewhere: list[int] = []
"""Cases left out, as the processes of pytest-xdist have counted them."""


# A test fails for what it finds, never because the machine is busy and an example takes longer by the clock.
settings.register_profile(
    "suite",
    deadline=None,
    max_examples=int(os.environ.get("GOSSAMER_TEST_EXAMPLES", "40")),
    suppress_health_check=[HealthCheck.too_slow],
)
settings.load_profile("suite")


def pytest_configure() -> None:
    """Say at once what would make the whole run worthless."""
    corpora.check_root()
    _seed.append(draw_seed())


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Mark the tests that need a server, and leave out those whose inputs are not there."""
    for item in items:
        if isinstance(item, pytest.Function) and _needs_server(item):
            item.add_marker("server")
    corpora.leave_out(config, items)


def _needs_server(item: pytest.Function) -> bool:
    """Whether it asks for a server, or its module starts servers of its own."""
    own = [value for value in vars(item.module).values() if isinstance(value, type)]
    return bool(SERVER_FIXTURES & {*item.fixturenames}) or any(issubclass(kind, Process) for kind in own)


def pytest_runtest_teardown() -> None:
    """What one test was told is no secret to the next one."""
    forget_secrets()


def pytest_sessionfinish(session: pytest.Session) -> None:
    """In a process of pytest-xdist: tell the first one how many cases were left out."""
    if hasattr(session.config, "workeroutput"):
        session.config.workeroutput["left_out"] = session.config.stash.get(corpora.LEFT_OUT, 0)


@pytest.hookimpl(optionalhook=True)
def pytest_testnodedown(node: Any) -> None:
    """One process of pytest-xdist has ended."""
    _left_out_elsewhere.append(getattr(node, "workeroutput", {}).get("left_out", 0))


def pytest_unconfigure(config: pytest.Config) -> None:
    """The last line of the run."""
    reporter = config.pluginmanager.get_plugin("terminalreporter")
    line = corpora.closing_line([config.stash.get(corpora.LEFT_OUT, 0), *_left_out_elsewhere])
    if reporter is None or hasattr(config, "workerinput"):
        return
    if line:
        reporter.write_line(line)
    if any("by_lot" in report.nodeid for reports in reporter.stats.values() for report in _of_tests(reports)):
        reporter.write_line(
            f"pairs of features were drawn by lot: {SEED_VARIABLE}={_seed[0]} draws them again"
        )


def _of_tests(reports: list[Any]) -> list[Any]:
    """Those that are about a test."""
    return [report for report in reports if hasattr(report, "nodeid")]


@pytest.fixture(scope="session", autouse=True)
def _plain_environment() -> None:
    """Tests and their programs see the same environment everywhere."""
    keep_plain()


@pytest.fixture(scope="session")
def redis_server() -> Iterator[RedisProcess]:
    """A Redis of our own: 16 databases, append-only file, no password."""
    with RedisProcess() as server:
        yield server


@pytest.fixture(scope="session")
def postgres_server() -> Iterator[PostgresProcess]:
    """A PostgreSQL of our own."""
    with PostgresProcess() as server:
        yield server


@pytest.fixture(scope="session")
def rabbit_server() -> Iterator[RabbitProcess]:
    """A RabbitMQ of our own."""
    with RabbitProcess() as server:
        yield server


@pytest.fixture(scope="session")
def s3_server() -> Iterator[BucketProcess]:
    """A service of our own that speaks S3."""
    with BucketProcess() as server:
        yield server


@pytest.fixture
def s3_url(s3_server: BucketProcess, monkeypatch: pytest.MonkeyPatch) -> str:
    """A place in a bucket in which nothing is; the environment says where buckets are, and the keys."""
    monkeypatch.setenv("AWS_ENDPOINT_URL", s3_server.start().url)
    monkeypatch.setenv("AWS_ALLOW_HTTP", "true")
    monkeypatch.setenv("AWS_REGION", "us-east-1")
    monkeypatch.setenv("AWS_ACCESS_KEY_ID", "key-of-tests")
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "secret-of-tests")
    return f"s3://{s3_server.make_bucket()}/crawls"


@pytest.fixture
def redis_url(request: pytest.FixtureRequest) -> str:
    """A Redis database in which nothing is."""
    redis = pytest.importorskip("redis")
    if given := os.environ.get("TEST_REDIS_URL"):
        # Each process of pytest-xdist takes a database of its own, after the one that is given.
        worker = int(os.environ.get("PYTEST_XDIST_WORKER", "gw0").removeprefix("gw"))
        base, _, database = given.rpartition("/")
        url = f"{base}/{int(database) + worker}" if database.isdigit() else f"{given.rstrip('/')}/{worker}"
    else:
        server: RedisProcess = request.getfixturevalue("redis_server")
        url = server.start().url  # a test before may have killed it
    with redis.Redis.from_url(url) as client:
        client.flushdb()
    return url


@pytest.fixture
def postgres_url(request: pytest.FixtureRequest) -> Iterator[str]:
    """A PostgreSQL database in which nothing is; dropped afterwards."""
    name = f"test_{secrets.token_hex(6)}"
    if given := os.environ.get("TEST_POSTGRES_URL"):
        administration, url = given, f"{given.rpartition('/')[0]}/{name}"
    else:
        server: PostgresProcess = request.getfixturevalue("postgres_server")
        administration, url = server.start().url, server.url_of(name)
    _execute(administration, f"CREATE DATABASE {name} TEMPLATE template0")
    yield url
    if not given:
        server.start()
    _execute(administration, f"DROP DATABASE {name} WITH (FORCE)")


@pytest.fixture(scope="session")
def mongo_server() -> Iterator[MongoProcess]:
    """A server of our own that speaks MongoDB's protocol."""
    with MongoProcess() as server:
        yield server


@pytest.fixture
def mongo_url(request: pytest.FixtureRequest) -> Iterator[str]:
    """A database of MongoDB in which nothing is; dropped afterwards."""
    pymongo = pytest.importorskip("pymongo")
    name = f"test_{secrets.token_hex(6)}"
    if given := os.environ.get("MONGO_URL"):
        server, question_mark, options = given.partition("?")
        scheme, _, place = server.partition("://")
        url = f"{scheme}://{place.partition('/')[0]}/{name}{question_mark}{options}"
    else:
        server_process: MongoProcess = request.getfixturevalue("mongo_server")
        url = server_process.start().url_of(name)
    yield url
    if given:
        with pymongo.MongoClient(url) as client:
            client.drop_database(name)


@pytest.fixture
def amqp_url(request: pytest.FixtureRequest) -> str:
    """A RabbitMQ; what a test declares there has a name of its own."""
    if given := os.environ.get("TEST_AMQP_URL"):
        return given
    server: RabbitProcess = request.getfixturevalue("rabbit_server")
    return server.start().url


def _execute(url: str, statement: str) -> None:
    asyncpg = pytest.importorskip("asyncpg")

    async def execute() -> None:
        connection = await asyncpg.connect(url)
        try:
            await connection.execute(statement)
        finally:
            await connection.close()

    _at_once(execute())


def _at_once(work: Coroutine[Any, Any, None]) -> None:
    """Run it in a loop of its own, in a thread: the test's loop is pytest-asyncio's."""
    failed: list[BaseException] = []

    def run() -> None:
        try:
            asyncio.run(work)
        except BaseException as error:
            failed.append(error)

    thread = threading.Thread(target=run)
    thread.start()
    thread.join()
    if failed:
        raise failed[0]
