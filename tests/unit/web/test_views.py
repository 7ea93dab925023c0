"""The routes of the views, and that the shapes of their answers are those that the page reads."""

import json

import pytest

from gossamer.core.lifecycle import JobState
from gossamer.testing.contracts.frontier_harness import make_entry
from gossamer.testing.contracts.query_harness import QueryHarness
from kit.dashboard import canned_answers
from kit.web import open_web

MADE_UP = {"delayed", "rung"}
"""What the page shows where it is there, and is not known here."""


@pytest.fixture
async def web(tmp_path):
    async with open_web(tmp_path) as web:
        s = QueryHarness(web.backends)
        web.job = await s.make_job("shop", *(make_entry(n, host=f"h{n % 2}.example") for n in range(20)))
        async with web.backends.requests.lock_target(web.job.target):
            yield web


def missing(found, expected, path=""):
    """The fields that the page reads and an answer does not have."""
    if isinstance(expected, dict) and isinstance(found, dict):
        for name, inner in expected.items():
            if name not in found:
                yield f"{path}.{name}"
            else:
                yield from missing(found[name], inner, f"{path}.{name}")
    elif isinstance(expected, list) and isinstance(found, list) and expected and found:
        yield from missing(found[0], expected[0], f"{path}[]")


async def test_the_answers_have_what_the_page_reads(web):
    answers = {
        "/overview": canned_answers.overview({}),
        f"/jobs/{web.job.id}": {**canned_answers.job("shops-7"), "stats": {}},  # whose names are the spider's
        f"/jobs/{web.job.id}/hosts": canned_answers.hosts({}),
        f"/jobs/{web.job.id}/quality": canned_answers.quality(),
        f"/jobs/{web.job.id}/hosts/h1.example": canned_answers.host("lamps.example"),
    }
    for path, expected in answers.items():
        found = await web.get(path)
        lacking = [one for one in missing(found, expected) if one.rpartition(".")[2] not in MADE_UP]
        assert not lacking, f"{path}: {lacking}"
        assert len(json.dumps(found)) < 40_000


async def test_hosts_are_asked_for_as_the_page_asks(web):
    found = await web.get(f"/jobs/{web.job.id}/hosts?sort=host&order=up&limit=1")
    assert [row["host"] for row in found["hosts"]] == ["h0.example"]
    rest = await web.get(f"/jobs/{web.job.id}/hosts?sort=host&order=up&limit=1&cursor={found['next_cursor']}")
    assert [row["host"] for row in rest["hosts"]] == ["h1.example"]
    assert (await web.get(f"/jobs/{web.job.id}/hosts?q=nobody"))["hosts"] == []


@pytest.mark.parametrize(
    ("path", "status"),
    [
        ("/jobs/nobody-1", 404),
        ("/jobs/shop-1/hosts/nobody.example", 404),
        ("/jobs/shop-1/hosts?sort=colour", 422),
        ("/overview?show=all", 422),
        ("/overview?limit=51", 422),
        ("/fleet", 400),
    ],
)
async def test_what_cannot_be_answered_is_said(web, path, status):
    answer = await web.client.get(f"/api/v1{path}")
    assert answer.status_code == status, answer.text


async def test_a_listing_is_cut_at_fifty_jobs_and_stays_small(web):
    for number in range(60):
        await web.backends.book.create(f"a-spider-with-a-long-name-{number}", "x.py")
    found = await web.client.get("/api/v1/overview")
    assert len(found.json()["jobs"]) == 50
    assert found.json()["next_cursor"]
    assert len(found.content) < 60_000
    assert found.json()["jobs"][0]["state"] != JobState.FINISHED
