"""Trouble is told clearly and passes by itself: servers away, full, closed or wrong, and jobs that are wrong.

Whatever is wrong: one clear line that says what, where and the way out, no password, no traceback, no busy
loop, nothing lost; and supervisor and workers go on when it is mended, without being started again.
"""

from __future__ import annotations

import asyncio
import json
import re
import subprocess
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

import asyncpg
import pytest

from acceptance.fleet.conftest import Known
from kit.choosing import some_of
from kit.fleet import spiders
from kit.fleet.history import judge
from kit.fleet.processes import Fleet, Servers
from kit.fleet.serving import ServedSite
from kit.fleet.site import Catalogue
from kit.fleet.upset import PASSWORD, Watched, clean, execute, refused, rest, tell, until
from kit.programs import command
from kit.servers import PostgresProcess, RedisProcess

PAGES = 150

NAMED = """
from gossamer import Request, Spider


class Named(Spider):
    name = "{spider}"
    start_urls = ["{url}/"]
    allowed_domains = ["127.0.0.1"]

    async def start(self):
        {start}
        for url in self.start_urls:
            yield Request(url)

    def parse(self, response):
        yield from response.follow_all(css="a")
"""

pytestmark = pytest.mark.timeout(120)


# --------------------------------------------------------------------------- servers and fleets of our own


@pytest.fixture(scope="module")
def own_redis() -> Iterator[RedisProcess]:
    """A Redis that the tests of this file may set up wrongly."""
    with RedisProcess() as server:
        yield server


@pytest.fixture(scope="module")
def own_broker() -> Iterator[RedisProcess]:
    """A broker apart from the requests."""
    with RedisProcess() as server:
        yield server


@pytest.fixture(scope="module")
def small(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Known]:
    """A small site, slow enough to be met in the middle of a crawl."""
    folder = tmp_path_factory.mktemp("small")
    with ServedSite(folder / "site", "catalogue", PAGES, 0.02) as site:
        spider = spiders.write(folder, "catalogue", spiders.CATALOGUE, url=site.url)
        yield Known(site, spider, Catalogue(PAGES).truth(site.url))


@pytest.fixture
def site(small: Known) -> Known:
    """The same, as if nobody had been there."""
    small.site.begin()
    return small


@pytest.fixture(scope="module")
def crew(
    own_redis: RedisProcess,
    own_broker: RedisProcess,
    postgres_server: PostgresProcess,
    tmp_path_factory: pytest.TempPathFactory,
) -> Iterator[Fleet]:
    """A fleet that all tests of a crawl's trouble share: it has to outlive each of them."""
    database = new_database(postgres_server.start())
    servers = Servers(own_redis.start(), postgres_server, database, own_broker.start().url)
    settings = {"per_host": 4, "concurrency": 4, "cluster.shift": 2}
    with Fleet(tmp_path_factory.mktemp("crew"), servers, workers=2, settings=settings) as fleet:
        yield fleet
        fleet.all_alive()
        for member in fleet.members:
            clean(member.log.read_text())


@pytest.fixture
def servers(redis_server: RedisProcess, postgres_server: PostgresProcess, postgres_url: str) -> Servers:
    """Where the fleet of one test begins: all is well."""
    found = Servers(redis_server.start(), postgres_server.start(), postgres_url)
    found.empty()
    return found


def new_database(server: PostgresProcess, name: str = "trouble") -> str:
    execute(server.url, f"DROP DATABASE IF EXISTS {name} WITH (FORCE)", f"CREATE DATABASE {name}")
    return server.url_of(name)


# --------------------------------------------------------------------------- commands


@dataclass(frozen=True)
class Wrong:
    """What is wrong: where one is sent, what is said, and how it comes to be and goes."""

    says: tuple[str, ...]
    redis: Callable[[str], str] = lambda url: url
    postgres: Callable[[str], str] = lambda url: url
    done: tuple[tuple[str, ...], ...] = ()  # to Redis
    undone: tuple[tuple[str, ...], ...] = ()


def user(name: str) -> Callable[[str], str]:
    return lambda url: url.replace("://", f"://{name}:{PASSWORD}@").replace("gossamer@", "")


def nowhere(url: str) -> str:
    """Nothing listens there."""
    return re.sub(r":\d+/", ":1/", url)


FULL, ROOMY = (("CONFIG", "SET", "maxmemory", size) for size in ("1mb", "0"))
WRONG = {
    "redis gone": Wrong((r"Redis at 127.0.0.1:1/0 cannot be reached", "is it running"), redis=nowhere),
    "wrong password": Wrong(("refuses the user name or password", "set in the URL"), redis=user("nobody")),
    "no rights": Wrong(
        ("does not give this user the rights it needs", "ACL SETUSER"),
        redis=user("few"),
        done=(("ACL", "SETUSER", "few", "on", f">{PASSWORD}", "~*", "+get", "+ping", "+info", "+time"),),
    ),
    "evicts": Wrong(
        ("maxmemory-policy allkeys-lru", "CONFIG SET maxmemory-policy noeviction", "require_durable"),
        done=(("CONFIG", "SET", "maxmemory-policy", "allkeys-lru"),),
        undone=(("CONFIG", "SET", "maxmemory-policy", "noeviction"),),
    ),
    "forgets": Wrong(
        ("no append-only file", "CONFIG SET appendonly yes", "require_durable"),
        done=(("CONFIG", "SET", "appendonly", "no"),),
        undone=(("CONFIG", "SET", "appendonly", "yes"),),
    ),
    "full": Wrong(
        ("is full: its maxmemory is reached", "CONFIG SET maxmemory SIZE"),
        done=(FULL,),
        undone=(ROOMY,),
    ),
    "postgres gone": Wrong(
        ("PostgreSQL at postgresql://127.0.0.1:1/", "cannot be reached"), postgres=nowhere
    ),
    "no database": Wrong(
        ("this database does not exist", "createdb"), postgres=lambda url: url.replace("test_", "none_")
    ),
}


@pytest.mark.parametrize("wrong", WRONG.values(), ids=WRONG)
def test_commands_say_what_is_wrong_and_end(wrong: Wrong, servers: Servers, tmp_path: Path) -> None:
    fleet = elsewhere(tmp_path, servers, wrong)
    for words in wrong.done:
        tell(servers.redis, *words)
    try:
        refused(fleet.run("submit", "http://127.0.0.1:1/"), 4, *wrong.says)
    finally:
        for words in wrong.undone:
            tell(servers.redis, *words)
    if "is full" in wrong.says[0]:
        assert fleet.submit("http://127.0.0.1:1/"), "a job that could not begin is in nobody's way"
    fleet.end()


def elsewhere(folder: Path, servers: Servers, wrong: Wrong, **settings: str) -> Fleet:
    """A fleet that is sent to the wrong place."""
    fleet = Fleet(folder, servers, workers=1, settings=settings)
    at = {
        "GOSSAMER_FRONTIER__URL": wrong.redis(servers.redis.url),
        "GOSSAMER_BROKER__URL": wrong.redis(servers.broker_url),
        "GOSSAMER_STORE__URL": wrong.postgres(servers.database),
    }
    fleet._env |= at
    return fleet


def test_a_redis_that_forgets_may_be_used_for_trials(servers: Servers, tmp_path: Path) -> None:
    tell(servers.redis, "CONFIG", "SET", "appendonly", "no")
    try:
        fleet = Fleet(tmp_path, servers, settings={"redis.require_durable": "false"})
        assert fleet.submit("http://127.0.0.1:1/")
        fleet.end()
    finally:
        tell(servers.redis, "CONFIG", "SET", "appendonly", "yes")


def test_a_database_that_is_closed_or_newer(servers: Servers, tmp_path: Path) -> None:
    name = servers.database.rpartition("/")[2]
    fleet = Fleet(tmp_path, servers)
    execute(
        servers.postgres.url,
        "DROP ROLE IF EXISTS guest",
        f"CREATE ROLE guest LOGIN PASSWORD '{PASSWORD}'",
        f"REVOKE CREATE ON DATABASE {name} FROM PUBLIC",
    )
    guest = elsewhere(tmp_path, servers, Wrong((), postgres=user("guest")))
    refused(guest.run("submit", "http://127.0.0.1:1/"), 4, "lacks the rights", "CREATE SCHEMA gossamer")
    assert fleet.submit("http://127.0.0.1:1/")
    execute(servers.database, "UPDATE gossamer.version SET version = 99")
    refused(fleet.run("jobs"), 4, "newer Gossamer", "schema 99", "upgrade")
    fleet.end()
    guest.end()


# --------------------------------------------------------------------------- processes that start too early


Deed = Callable[[Servers], object]
STARTS: dict[str, tuple[str, Deed, Deed]] = {
    "redis gone": ("cannot be reached", lambda s: s.redis.kill(), lambda s: s.redis.start()),
    "no rights": (
        "does not give this user the rights",
        lambda s: tell(s.redis, *WRONG["no rights"].done[0]),
        lambda s: tell(
            s.redis, "ACL", "SETUSER", "few", "~*", "&*", "+@all", "-@admin", "-@dangerous", "+info"
        ),
    ),
    "full": ("is full", lambda s: tell(s.redis, *FULL), lambda s: tell(s.redis, *ROOMY)),
}
"""What is said, how it comes to be, how it is mended: with the rights that the message asked for, say."""


@pytest.mark.long
@pytest.mark.parametrize("kind", some_of(STARTS, "redis gone"))
def test_processes_wait_for_their_servers_and_begin(kind: str, servers: Servers, tmp_path: Path) -> None:
    says, wrong, mend = STARTS[kind]
    place = Wrong((), redis=user("few") if kind == "no rights" else str)
    fleet = elsewhere(tmp_path, servers, place)
    wrong(servers)
    try:
        for member in fleet.members:
            member.start()
        until(lambda: all(says in member.log.read_text() for member in fleet.members))
        rest([Watched.begin(member) for member in fleet.members], most_lines=1)
        mend(servers)
        fleet.ready()
        until(lambda: "leading the fleet" in fleet.supervisors[0].log.read_text())
        for member in fleet.members:
            text = member.log.read_text()
            clean(text)
            assert 1 <= text.count(says) <= 2, text
            assert "it works again" in text
    finally:
        mend(servers)
        fleet.end()


@pytest.mark.long
def test_who_waits_for_a_server_ends_when_told_to(servers: Servers, tmp_path: Path) -> None:
    """Supervisor and worker at once, in order, whichever server it is that is away."""
    fleets = [elsewhere(tmp_path, servers, WRONG[kind]) for kind in ("redis gone", "postgres gone")]
    try:
        members = [member for fleet in fleets for member in fleet.members]
        for member in members:
            member.start()
        until(lambda: all("cannot be reached" in member.log.read_text() for member in members))
        for member in members:
            member._process.terminate()  # type: ignore[union-attr]
        codes = [member._process.wait(5) for member in members]  # type: ignore[union-attr]
        assert codes == [0, 0, 0, 0], codes
    finally:
        for fleet in fleets:
            fleet.end()


@pytest.mark.long
def test_what_waiting_does_not_mend_ends_the_process(servers: Servers, tmp_path: Path) -> None:
    """A fleet's requests cannot be in a file; nobody starts such a process again and again."""
    fleet = Fleet(tmp_path, servers)
    for name in ("supervisor", "worker", "up"):
        refused(
            fleet.run(name, "-s", f"frontier.url=sqlite:///{tmp_path}/a.db"), 2, "in Redis: set frontier.url"
        )
    fleet.end()


# --------------------------------------------------------------------------- in the middle of a crawl


IN_A_CRAWL = {
    "redis gone": ("cannot be reached", lambda s, b: s.redis.kill(), lambda s, b: s.redis.start()),
    "redis full": (
        "is full: its maxmemory",
        lambda s, b: tell(s.redis, *FULL),
        lambda s, b: tell(s.redis, *ROOMY),
    ),
    "postgres gone": (
        "PostgreSQL at .* (cannot be reached|was lost)",
        lambda s, b: s.postgres.kill(),
        lambda s, b: s.postgres.start(),
    ),
    "broker gone": ("the broker .* cannot be reached", lambda s, b: b.kill(), lambda s, b: b.start()),
}


@pytest.mark.long
@pytest.mark.parametrize("kind", some_of(IN_A_CRAWL, "redis gone", "redis full"))
def test_a_crawl_goes_on_when_it_is_mended(
    kind: str, crew: Fleet, own_broker: RedisProcess, site: Known
) -> None:
    says, wrong, mend = IN_A_CRAWL[kind]
    # Shifts go on without a broker: the crawl has to outlast them to be in need of one.
    job = crew.submit(site.spider, "--per-host", "1" if "broker" in says else "4")
    site.site.wait_for(40)
    before, at = [Watched.begin(member) for member in crew.members], time.time()
    wrong(crew.servers, own_broker)
    try:
        until(lambda: any(re.search(says, line) for each in before for line in each.lines()))
        if "broker" not in says:  # else shifts that are under way go on
            rest([Watched.begin(member) for member in crew.members], most_lines=3)
    finally:
        mend(crew.servers, own_broker)
    result = crew.wait(job, timeout_s=40)
    crew.all_alive()
    for each in before:
        clean("\n".join(each.lines()))
        assert len(each.lines()) < 25, each.lines()
    hits = site.site.hits()  # a Redis that is killed forgets up to a second
    cost = 2 * crew.in_flight + sum(at - 1 <= hit.at <= at for hit in hits)
    judge(site.truth, hits, crew.stored(job), refetched=cost)
    assert (result["finish_reason"], result["dead"]) == ("finished", 0)


@pytest.mark.long
def test_an_emptied_redis_is_no_end_of_a_crawl(crew: Fleet, site: Known) -> None:
    job = crew.submit(site.spider)
    site.site.wait_for(40)
    before = [Watched.begin(member) for member in crew.members]
    tell(crew.servers.redis, "FLUSHALL")
    gone = f"the requests of job {job} are gone from Redis"
    refused(crew.run("wait", job, "-q"), 4, gone, f"gossamer cancel {job}", "Stored items and pages stay")
    until(lambda: any(gone in line for line in before[0].lines()))
    rest([Watched.begin(member) for member in crew.members], most_lines=2)
    listed = {each["job"]: each for each in json.loads(crew.run("jobs", "--json").stdout)}
    assert (listed[job]["state"], listed[job]["finish_reason"]) == ("running", "")
    assert listed[job]["pages"] > 0
    refused(crew.run("status", job), 4, gone)
    refused(crew.run("submit", site.spider), 4, f"{job} .*is running already", f"gossamer cancel {job}")
    assert crew.run("cancel", job).returncode == 0
    site.site.begin()
    again = crew.crawl(site.spider, timeout_s=40)
    assert (again["finish_reason"], again["pages"]) == ("finished", len(site.truth.pages))
    crew.all_alive()
    for each in before:
        clean("\n".join(each.lines()))


# --------------------------------------------------------------------------- jobs in each other's way


@pytest.fixture
def slow(crew: Fleet, site: Known, tmp_path: Path) -> Iterator[str]:
    """A job of the spider `slow` that will not end while the test runs."""
    yield from held(crew, spider(tmp_path, "slow", site), tmp_path)


def held(crew: Fleet, file: Path, folder: Path) -> Iterator[str]:
    job = crew.submit(file, "--delay", "5", "--per-host", "1")
    yield job
    crew.run("cancel", job)


def spider(folder: Path, name: str, site: Known, start: str = "pass") -> Path:
    return spiders.write(folder, name, NAMED, spider=name, url=site.site.url, start=start)


@pytest.mark.long
def test_one_job_of_a_name_at_a_time(crew: Fleet, slow: str, tmp_path: Path) -> None:
    file = tmp_path / "slow.py"
    refused(crew.run("submit", file), 4, f"{slow} .*running already", f"gossamer wait {slow}")
    refused(crew.run("crawl", file), 4, f"{slow} is a job of the fleet", f"gossamer cancel {slow}")
    assert crew.run("pause", slow).returncode == 0
    refused(crew.run("submit", file), 4, f"gossamer resume {slow}")
    refused(crew.run("crawl", file, "--fresh"), 4, f"{slow} is a job of the fleet")
    assert crew.run("cancel", slow).returncode == 0
    refused(crew.run("resume", slow), 2, f"{slow} is cancelled; there is nothing to resume")


def test_two_crawls_of_one_target_on_one_redis(crew: Fleet, site: Known, tmp_path: Path) -> None:
    file = spider(tmp_path, "alone", site)
    first = subprocess.Popen(
        command("crawl", file, "--delay", "5", "--json"), env=crew._env, stdout=-3, stderr=subprocess.PIPE
    )
    try:
        site.site.wait_for(1)
        refused(crew.run("crawl", file), 4, r"alone is being crawled by .*:\d+:", "wait for it, or stop it")
    finally:
        first.terminate()
        _, said = first.communicate(timeout=20)
    clean(said.decode())
    assert first.returncode == 3
    ended = crew.run("crawl", file, "--delay", "0", "--per-host", "16", "--json")
    assert (ended.returncode, json.loads(ended.stdout)["finish_reason"]) == (0, "finished")


# --------------------------------------------------------------------------- spiders that workers cannot do


@pytest.mark.long
def test_another_version_of_a_spider(crew: Fleet, site: Known, tmp_path: Path) -> None:
    """The job says so and waits; when the file is right again it goes on."""
    file = spider(tmp_path, "changed", site)
    right = file.read_text()
    job = crew.submit(file, "--delay", "0.5", "--per-host", "1")
    try:
        site.site.wait_for(1)
        file.write_text(right + "# another\n")
        says = "another version here .* submitted .* install the same version"
        until(lambda: re.search(says, trouble(crew, job)), 30)
        asked = site.site.count()
        rest([Watched.begin(member) for member in crew.members], most_lines=3)
        assert site.site.count() == asked, "nobody fetches with a spider that it has not"
        clean(crew.run("fleet").stdout)
        file.write_text(right)
        site.site.wait_for(asked + 1)
        until(lambda: not trouble(crew, job))
    finally:
        crew.run("cancel", job)


@pytest.mark.long
def test_a_spider_whose_start_raises(crew: Fleet, site: Known, tmp_path: Path) -> None:
    file = spider(tmp_path, "lame", site, 'raise ValueError("not today")')
    job = crew.submit(file)
    try:
        until(lambda: "none of the 2 workers can do it" in trouble(crew, job))
        said = trouble(crew, job)
        assert re.search(
            r"start\(\) of the spider 'lame' raised ValueError: not today \(.*lame.py, line", said
        )
        rest([Watched.begin(member) for member in crew.members], most_lines=2)
        shown = crew.run("status", job).stdout
        assert shown.count("not today") == 1, shown
        waited = crew.run("wait", job, "--timeout", "0.1s", "--json")
        assert (waited.returncode, json.loads(waited.stdout)["finish_reason"]) == (3, "running")
    finally:
        crew.run("cancel", job)


def trouble(crew: Fleet, job: str) -> str:
    """What `status` says of a job."""
    shown = crew.run("status", job, "--json")
    assert shown.returncode == 0, shown.stderr
    said: str = json.loads(shown.stdout)["trouble"]
    return said


# --------------------------------------------------------------------------- targets and secrets


def test_a_url_is_a_target_like_any_other(crew: Fleet, site: Known) -> None:
    result = crew.crawl(f"{site.site.url}/p/1", "--max-pages", "5", timeout_s=40)
    assert result["finish_reason"] == "max_pages"
    assert result["pages"] >= 5


@pytest.mark.long
def test_secrets_stay_where_they_are(crew: Fleet, site: Known, tmp_path: Path) -> None:
    """Neither in the plan nor in any log; a worker that lacks one says which."""
    file = spiders.write(
        tmp_path,
        "keyed",
        NAMED,
        spider="keyed",
        url=site.site.url,
        start="assert self.token and self.category",
    )
    headers = json.dumps({"Authorization": f"Bearer {PASSWORD}", "X-Plain": "seen"})
    job = crew.submit(
        file, "-a", f"token={PASSWORD}", "-a", "category=books", "-s", f"http.headers={headers}"
    )
    try:
        until(lambda: "set Authorization for this worker" in trouble(crew, job))

        async def plan() -> bytes:
            connection = await asyncpg.connect(crew.servers.database)
            try:
                found: bytes = await connection.fetchval("SELECT plan FROM gossamer.job WHERE name = $1", job)
                return found
            finally:
                await connection.close()

        packed = asyncio.run(plan())
        assert PASSWORD.encode() not in packed
        assert b"books" in packed
        assert b"X-Plain" in packed
        shown = [crew.run(*words) for words in (("status", job), ("jobs",), ("fleet",))]
        clean("".join(done.stdout + done.stderr for done in shown))
    finally:
        crew.run("cancel", job)
