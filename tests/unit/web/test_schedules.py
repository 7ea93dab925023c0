"""Schedules by HTTP: what runs next, run now, on and off, and back again."""

from __future__ import annotations

from itertools import pairwise

import pytest
from msgspec.structs import replace

from gossamer.core.access import Role
from gossamer.core.schedules import RunOutcome, Schedule, ScheduledRun
from gossamer.policy.sentences.schedules import ScheduleFacts, say_schedules
from gossamer.testing.shop import Shop
from gossamer.testing.site import serve_in_thread
from kit.web import open_web

HOUR = 3600.0


async def do(web, path, status=200, headers=None, **order):
    answer = await web.client.post(f"/api/v1{path}", json=order, headers=headers or {})
    assert answer.status_code == status, answer.text
    return answer.json()


async def undo(web, number, status=200):
    answer = await web.client.delete(f"/api/v1/actions/{number}")
    assert answer.status_code == status, answer.text


async def add(web, name="shop", **more):
    now = web.backends.clock.now()
    schedule = Schedule(
        name=name, cron="*/10 * * * *", zone="Europe/Berlin", target="http://shop.example/", folder="/",
        place=await web.backends.read_place(), job_name="shop.example", job_target="http://shop.example/",
        created_at=now, since=now,
    )  # fmt: skip
    schedule = replace(schedule, **more)
    assert await web.backends.schedules.add_schedule(schedule)
    return schedule


async def test_without_schedules_there_is_nothing_to_show(tmp_path):
    async with open_web(tmp_path) as web:
        board = await web.get("/schedules")
        assert (board["schedules"], board["say"][0]) == ([], "Nothing is crawled again by itself.")


async def test_an_overview_has_what_comes_and_what_was(tmp_path):
    async with open_web(tmp_path) as web:
        schedule = await add(web)
        over = ScheduledRun(
            schedule="shop", due_at=schedule.since + 1.0, key="ab" * 16, outcome=RunOutcome.FAILED,
            detail="there is no file shop.py", started_at=10.0, ended_at=40.0, passed=2,
        )  # fmt: skip
        assert await web.backends.schedules.claim_run(schedule, over)
        await add(web, "other", is_on=False, place="fleet night")
        board = await web.get("/schedules")
        other, shop = board["schedules"]
        assert (shop["words"], shop["zone"]) == ("Every 10th minute of every hour", "Europe/Berlin")
        assert shop["runs"] == [{"due_at": over.due_at, "outcome": "failed", "seconds": 30.0}]
        assert shop["note"] == "there is no file shop.py; 2 due times before it also passed"
        assert shop["expected_s"] == 30.0
        assert len(shop["starts"]) == 100, "bounded"
        gaps = {later - sooner for sooner, later in pairwise(shop["starts"])}
        assert gaps <= {599, 600, 601}
        assert (other["is_on"], other["is_here"], other["next_at"]) == (False, False, None)
        assert other["starts"] == []
        assert board["say"] == [
            "No scheduler is running.",
            "1 of 2 schedules is on. 1 run of shop failed lately.",
        ]


async def test_many_schedules_are_bounded(tmp_path):
    async with open_web(tmp_path) as web:
        for number in range(150):
            long = "http://shop.example/" + "x" * 300
            schedule = await add(web, f"schedule-with-a-long-name-{number}", target=long)
            over = ScheduledRun(
                schedule=schedule.name, due_at=schedule.since + 1.0, key="ab" * 16, detail=long,
                outcome=RunOutcome.FAILED, started_at=10.0, ended_at=40.0, job=f"shop.example-{number}",
            )  # fmt: skip
            await web.backends.schedules.claim_run(schedule, over)
        answer = await web.client.get("/api/v1/schedules")
        assert len(answer.content) <= 60_000, f"{len(answer.content):,} bytes"
        board = answer.json()
        assert (len(board["schedules"]), board["has_more"]) == (100, True)


async def test_a_schedule_is_turned_off_and_on_and_back(tmp_path):
    async with open_web(tmp_path) as web:
        await add(web)
        path = "/schedules/shop/actions"
        done = await do(web, path, do="disable", expect={"is_on": True})
        assert (await web.get("/schedules"))["schedules"][0]["is_on"] is False
        await do(web, path, 409, do="run", expect={"is_on": True})
        await undo(web, done["action"])
        assert (await web.get("/schedules"))["schedules"][0]["is_on"] is True
        done = await do(web, path, do="disable")
        await do(web, path, do="enable")
        await undo(web, done["action"])
        assert (await web.get("/schedules"))["schedules"][0]["is_on"] is True, "it was so already"
        await do(web, "/schedules/shpo/actions", 400, do="enable")
        await do(web, path, 400, do="unrun")
        reader = await web.make_token("ann")
        await do(web, path, 403, headers=reader, do="disable")


@pytest.mark.slow
async def test_a_schedule_is_run_now_and_cancelled(tmp_path):
    with serve_in_thread(Shop(40, per_page=10, related=0)) as site:
        async with open_web(tmp_path) as web:
            await add(
                web, target=site.url, job_target=site.url, job_name=site.host, folder=str(tmp_path),
                options=(("delay", "5"),), is_on=False,
            )  # fmt: skip
            operator = await web.make_token("ops", Role.OPERATE)
            done = await do(web, "/schedules/shop/actions", headers=operator, do="run", key="k")
            job = await web.backends.book.get(done["after"]["job"])
            assert job is not None
            again = await do(web, "/schedules/shop/actions", headers=operator, do="run", key="k")
            assert again["action"] == done["action"]
            board = await web.client.get("/api/v1/schedules", headers=operator)
            assert board.json()["schedules"][0]["runs"][0]["outcome"] == "running"
            refused = await do(web, "/schedules/shop/actions", 409, headers=operator, do="run")
            assert f"{job.id} was not over" in refused["error"]["why"]
            answer = await web.client.delete(f"/api/v1/actions/{done['action']}", headers=operator)
            assert answer.status_code == 200, answer.text
            for _ in range(200):
                if await web.backends.at_work(job) is None:
                    break
                await web.backends.clock.sleep(0.1)
            job = await web.backends.book.get(job.id)
            assert job.state == "cancelled"


def facts(name, **more):
    plain = {"zone": "UTC", "is_on": True, "next_at": 1_700_006_400.0, "is_running": False, "outcomes": ()}
    return ScheduleFacts(name=name, **{**plain, **more})


def test_the_first_sentence_is_what_comes_next():
    said = say_schedules([facts("news"), facts("shop", next_at=1.0)], is_watched=True)
    assert said.answer == "The next crawl is shop, at 00:00 on 1970-01-01 (UTC)."
    assert said.reason == ""
    off = say_schedules([facts("news", is_on=False, next_at=None)], is_watched=True)
    assert (off.answer, off.reason) == ("All schedules are off.", "")


def test_the_second_says_what_runs_and_what_went_wrong():
    said = say_schedules(
        [
            facts("news", is_running=True, outcomes=("missed", "missed", "finished")),
            facts("shop", is_running=True, outcomes=("failed",)),
        ],
        is_watched=True,
    )
    assert (
        said.reason
        == "news and shop run now. 1 run of shop failed lately. 2 runs of news were missed lately."
    )
