"""The answers of the API: what is in them, their bounds, and that wrong questions are no failures."""

import asyncio
import json
from types import SimpleNamespace

import pytest

from gossamer.core.access import Caller, Role
from gossamer.core.errors import AccessError, StorageError
from gossamer.core.hosts import FrontierRules
from gossamer.web.routes.items import export_items
from kit.servers import on_servers
from kit.web import COUNT, fill_shop, open_web

PLAIN = {"delay": 0.0, "per_host": 1000}


@pytest.fixture
async def web(tmp_path):
    async with open_web(tmp_path, **PLAIN) as web:
        web.job = await fill_shop(web.backends)
        yield web


@pytest.fixture(params=["sqlite", *on_servers("servers")])
async def either(request, tmp_path):
    """The same, in one file and on servers."""
    places = {}
    if request.param == "servers":
        redis, postgres = request.getfixturevalue("redis_url"), request.getfixturevalue("postgres_url")
        places = {"frontier": {"url": redis}, "store": {"url": postgres}}
    async with open_web(tmp_path, **PLAIN, **places) as web:
        web.job = await fill_shop(web.backends)
        yield web


async def read_all(web, path, field):
    """All rows of a listing, part by part."""
    rows, cursor = [], ""
    while True:
        joint = "&" if "?" in path else "?"
        part = await web.get(f"{path}{joint}limit=50" + (f"&cursor={cursor}" if cursor else ""))
        rows += part[field]
        cursor = part["next_cursor"]
        if cursor is None:
            return rows


@pytest.mark.slow
async def test_every_answer_is_within_its_bound(either):
    web = either
    bounds = {
        "/me": 1,
        "/jobs?limit=100": 40,
        "/jobs/shop/attempts?limit=100": 80,
        "/jobs/shop/dead?limit=100": 60,
        "/jobs/shop/items?limit=100": 200,
        "/jobs/shop/quality": 50,
        "/jobs/shop/settings": 60,
        "/explain?url=http://a.example/1": 40,
        "/proxies": 60,
        "/schedules": 60,
        "/actions": 80,
    }
    for path, kilobytes in bounds.items():
        answer = await web.client.get(f"/api/v1{path}")
        assert answer.status_code == 200, answer.text
        assert len(answer.content) <= kilobytes * 1000, f"{path}: {len(answer.content):,} bytes"
    (letter, *_) = (await web.get("/jobs/shop/dead?limit=1"))["letters"]
    whole = await web.client.get(f"/api/v1/jobs/shop-1/dead/{letter['id']}")
    assert whole.status_code == 200
    assert len(whole.json()["tries"]) == 1
    assert len(whole.content) <= 40_000


@pytest.mark.slow
async def test_listings_are_whole_part_by_part(either):
    web = either
    attempts = await read_all(web, "/jobs/shop/attempts", "attempts")
    assert len({row["id"] for row in attempts}) == len(attempts) == COUNT
    letters = await read_all(web, "/jobs/shop/dead", "letters")
    assert len({row["id"] for row in letters}) == len(letters) == 110
    found = await read_all(web, "/jobs/shop/items", "items")
    assert sorted(item["data"]["n"] for item in found) == list(range(COUNT))
    assert all(len(item["data"]["name"]) <= 400 for item in found)
    actions = (await web.get("/actions?job=shop-1"))["actions"]
    assert [action["at"] for action in actions] == [2.0, 1.0, 0.0]


@pytest.mark.slow
async def test_filters_choose(either):
    web = either
    assert len(await read_all(web, "/jobs/shop/attempts?status=2xx", "attempts")) == 10
    assert len(await read_all(web, "/jobs/shop/attempts?status=503&host=A.example", "attempts")) == 55
    assert len(await read_all(web, "/jobs/shop/attempts?verdict=success&to=0", "attempts")) == 0
    assert len(await read_all(web, "/jobs/shop/dead?reason=server&host=b.example", "letters")) == 55
    assert len(await read_all(web, "/jobs/shop/dead?older_than=3600", "letters")) == 0
    assert [row["key"] for row in await read_all(web, "/jobs/shop/items?q=K77", "items")] == ["k77"]
    assert len(await read_all(web, "/jobs/shop/items?missing=price&type=Product", "items")) == COUNT
    page = await web.get("/jobs/shop/dead?limit=1&q=a.example/1")
    assert (page["total"], page["by_reason"], page["total_is_at_least"]) == (
        page["total"],
        {"server": page["total"]},
        False,
    )


async def test_one_page_is_explained(web):
    found = await web.get("/explain?url=http://a.example/1&job=shop")
    assert (found["answer"], found["job"]) == ("dead", "shop-1")
    assert found["lines"]
    (other,) = found["other_requests"]
    assert other["fingerprint"] == f"{2:016x}"
    assert len(other["tries"][0]["detail"]) <= 400


async def test_a_page_is_explained_whatever_others_crawl(tmp_path):
    async with open_web(tmp_path) as web:
        job = await web.backends.book.create("odd", "odd a='")
        await web.backends.requests.create_frontier(job, FrontierRules())
        assert (await web.get("/explain?url=http://a.example/1"))["answer"] == "never_seen"


async def test_items_are_downloaded(web):
    for kind, count in (("jsonl", COUNT), ("json", None), ("csv", COUNT + 1), ("xml", None)):
        answer = await web.client.get(f"/api/v1/jobs/shop/export?format={kind}")
        assert answer.status_code == 200
        assert answer.headers["content-disposition"].endswith(f"shop-1.{kind}")
        assert answer.headers["content-security-policy"] == "sandbox"
        if kind == "jsonl":
            assert len(answer.text.splitlines()) == count
        if kind == "json":
            assert len(answer.json()) == COUNT
    few = await web.client.get("/api/v1/jobs/shop/export?q=K77")
    assert [json.loads(line)["n"] for line in few.text.splitlines()] == [77]


async def test_dead_letters_are_downloaded(web):
    answer = await web.client.get("/api/v1/jobs/shop/dead/export?host=b.example")
    letters = [json.loads(line) for line in answer.text.splitlines()]
    assert len({letter["id"] for letter in letters}) == len(letters) == 55
    assert answer.headers["content-disposition"].endswith("shop-1-dead.jsonl")


async def test_jobs_are_found_by_a_part_of_their_names(web):
    assert [job["job"] for job in (await web.get("/jobs?q=SHOP.p"))["jobs"]] == ["shop-1"]
    assert (await web.get("/jobs?q=news"))["jobs"] == []


async def test_a_token_downloads_one_file_at_a_time(web):
    web.app.state.exporting.add("local")
    answer = await web.client.get("/api/v1/jobs/shop/export")
    assert (answer.status_code, answer.headers["retry-after"]) == (429, "5")


async def test_two_downloads_that_begin_at_the_same_time_are_two(web):
    """A download counts before anything of it is sent, and no longer once it is given up."""
    parts, caller = web.app.state.parts, Caller(name="ann", role=Role.READ)

    async def begin():
        return await export_items(
            request=SimpleNamespace(app=web.app), parts=parts, caller=caller, job="shop"
        )

    first = await begin()
    with pytest.raises(AccessError):
        await begin()
    await first.body_iterator.aclose()
    await (await begin()).body_iterator.aclose()


@pytest.mark.parametrize(
    ("path", "status"),
    [
        ("/jobs/nothing/attempts", 404),
        ("/jobs/%00/items", 404),
        ("/jobs/shop/dead/999999", 404),
        ("/jobs/shop/dead/99999999999999999999", 422),
        ("/jobs/shop/attempts?cursor=x", 400),
        ("/jobs/shop/attempts?cursor=99999999999999999999", 400),
        ("/jobs/shop/attempts?status=odd", 400),
        ("/jobs/shop/attempts?from=nan", 422),
        ("/jobs/shop/dead?cursor=nan-1", 400),
        ("/jobs/shop/items?cursor=1-x", 400),
        ("/jobs/shop/items?missing=%22%5C%00", 200),
        ("/jobs/shop/export?format=exe", 422),
        ("/explain?url=:::", 400),
        ("/explain?url=nothing", 400),
        ("/explain?url=http://a.example/1&job=nothing", 404),
        ("/actions?before=x", 422),
    ],
)
async def test_what_cannot_be_asked_is_no_failure(web, path, status):
    answer = await web.client.get(f"/api/v1{path}")
    assert answer.status_code == status, answer.text


async def test_the_audit_log_is_for_admins(tmp_path):
    async with open_web(tmp_path, is_local=False) as web:
        for role, status in ((Role.OPERATE, 403), (Role.ADMIN, 200)):
            token = await web.make_token(role.value, role)
            assert (await web.client.get("/api/v1/actions", headers=token)).status_code == status


async def test_the_same_question_is_asked_once(tmp_path, monkeypatch):
    async with open_web(tmp_path) as web:
        asked = []

        async def list_jobs(**_):
            asked.append(1)
            await asyncio.sleep(0)
            return []

        monkeypatch.setattr(web.backends.book, "list_jobs", list_jobs)
        answers = await asyncio.gather(*(web.get("/jobs") for _ in range(20)))
        assert len(asked) == 1
        assert all(answer == {"jobs": [], "next_cursor": None} for answer in answers)


@pytest.mark.parametrize(
    ("error", "what"),
    [
        (StorageError("PostgreSQL at db:5432/g: cannot be reached"), "PostgreSQL cannot be read."),
        (StorageError("Redis at q:6379 is away"), "Redis cannot be read."),
        (TimeoutError(), "The answer took too long."),
    ],
)
async def test_a_service_that_is_away_is_named(tmp_path, monkeypatch, error, what):
    async with open_web(tmp_path) as web:

        async def list_jobs(**_):
            raise error

        monkeypatch.setattr(web.backends.book, "list_jobs", list_jobs)
        answer = await web.client.get("/api/v1/jobs")
        assert (answer.status_code, answer.json()["error"]["what"]) == (503, what)
        assert answer.headers["retry-after"] == "5"


async def test_a_bug_is_told_without_a_traceback(tmp_path, monkeypatch):
    async with open_web(tmp_path) as web:

        async def list_jobs(**_):
            raise RuntimeError("secret")

        monkeypatch.setattr(web.backends.book, "list_jobs", list_jobs)
        answer = await web.client.get("/api/v1/jobs")
        assert answer.status_code == 500
        assert "secret" not in answer.text
        assert answer.headers["content-security-policy"].startswith("default-src 'none'")
