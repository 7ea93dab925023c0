"""Alerts by the HTTP API: what is wrong now, and acknowledging it."""

from __future__ import annotations

from secrets import token_hex
from urllib.parse import quote

import pytest
from msgspec.structs import replace

from gossamer.core.hosts import FrontierRules
from gossamer.core.lifecycle import FinishReason, JobState
from gossamer.policy.alerts import AlertState
from gossamer.policy.drift import DriftFinding, FindingKind
from gossamer.policy.job_memory import JobMemory, PlaceMemory
from gossamer.policy.job_profile import JobProfile, encode_profile
from gossamer.policy.troubles import TroubleKind
from gossamer.watch.memories import (
    load_left_news,
    load_notices,
    place_of_crawl,
    place_of_fleet,
    save_job_memory,
    save_place_memory,
)
from kit.dashboard import canned_answers
from kit.servers import on_servers
from kit.web import do, make_job, open_web


@pytest.fixture(params=["sqlite", *on_servers("redis and postgres")])
async def web(request, tmp_path):
    places = {}
    if request.param != "sqlite":
        urls = {name: request.getfixturevalue(f"{name}_url") for name in ("redis", "postgres")}
        places = {
            "frontier": {"url": urls["redis"]},
            "store": {"url": urls["postgres"]},
            "redis": {"prefix": f"alerts-{token_hex(4)}"},
        }
    async with open_web(tmp_path, **places) as opened:
        yield opened


async def remember(web, job):
    """A trap and a slow store, as whoever watches has noted."""
    now, shared = web.backends.clock.now(), web.backends.requests.shared

    def state(kind, job_id, who, text):
        return AlertState(kind=kind, job=job_id, who=who, text=text, bad_since=now - 60, began_at=now - 30)

    trap = state(TroubleKind.TRAP, job.id, job.id, f"{job.id} leaves links out.")
    await save_job_memory(shared, job, JobMemory(at=now, due_at=now + 60, alerts=(trap,)))
    is_fleet = web.backends.requests.fleet is not None
    place = place_of_fleet("default") if is_fleet else place_of_crawl(job)
    slow = state(TroubleKind.STORE_LAG, "", "a/store", "a/store takes 7 s to answer.")
    await save_place_memory(shared, place, PlaceMemory(at=now, due_at=now + 60, alerts=(slow,)))


async def test_alerts_are_listed_and_acknowledged_one_by_one(web):
    job, _ = await make_job(web)
    await remember(web, job)
    page = await web.get("/alerts")
    assert [(one["kind"], one["job"]) for one in page["alerts"]] == [("store_lag", ""), ("trap", job.id)]
    assert (page["is_watched"], page["acknowledged"], page["targets"]) == (True, [], [])
    assert page["say"][0] == "2 alerts, none of which needs you."
    assert page["say"][1] == "No target is notified: the settings have no [alerts.targets.NAME]."
    assert set(page) == set(canned_answers.alerts()), "the page reads what is there"
    assert set(page["alerts"][0]) >= set(canned_answers.alerts()["alerts"][0])
    shown = (await web.get("/overview"))["troubles"]
    assert {one["id"] for one in page["alerts"]} <= {one["id"] for one in shown}
    for one in page["alerts"]:
        path = f"/alerts/{quote(one['id'], safe='')}/actions"
        done = await do(web, path, do="acknowledge", key=one["id"])
        assert (done["before"], done["after"]) == ({"alerts": [one["text"]]}, {"alerts": [one["id"]]})
        again = await do(web, path, do="acknowledge", key=one["id"])
        assert again["action"] == done["action"], "once"
        refused = await do(web, path, 400, do="acknowledge")
        assert "`gossamer alerts` lists those that are" in refused["error"]["why"]
    after = await web.get("/alerts")
    assert (after["alerts"], len(after["acknowledged"])) == ([], 2)
    assert " 2 alerts acknowledged." in after["say"][0]
    assert (await web.get("/overview"))["troubles"] == []
    await do(web, "/alerts/trap/actions", 400, do="pause")


OPS = {
    "alerts": {"targets": {"ops": {"kind": "webhook", "url_env": "NO_SUCH_URL", "severities": ["needs_you"]}}}
}


@pytest.fixture
async def notified(tmp_path):
    async with open_web(tmp_path, **OPS) as opened:
        yield opened


async def lose_a_field(web, name="shop", *, is_over=True):
    """A job whose items have no price any more, of which the targets were notified."""
    now, shared = web.backends.clock.now(), web.backends.requests.shared
    job = await web.backends.book.create(name, f"http://{name}.example/")
    await web.backends.requests.create_frontier(job, FrontierRules())
    if is_over:
        ended = replace(job, state=JobState.FINISHED, end_reason=FinishReason.FINISHED, finished_at=now)
        await web.backends.book.update(ended)
    lost = DriftFinding(kind=FindingKind.FILL, field="Product.price", now=0.0, usual=1.0, jobs=2)
    profile = JobProfile(job=job.id, at=now, pages=9, items=9, sampled=9, findings=(lost,))
    await web.backends.profiles.save_profile(job, now, encode_profile(profile))
    drift = AlertState(
        kind=TroubleKind.DRIFT,
        job=job.id,
        who="Product.price",
        text="The price is lost.",
        bad_since=now - 60,
        began_at=now,
    )  # fmt: skip
    await save_job_memory(shared, job, JobMemory(at=now, due_at=now + 60, alerts=(drift,)))
    return job


async def waiting(web, job):
    found = await load_notices(web.backends.requests.shared, place_of_crawl(job))
    return [(one.notice.change.value, one.notice.text) for one in found.waiting]


@pytest.mark.parametrize("do_what", ["accept", "acknowledge"])
async def test_an_alert_of_a_job_that_is_over_ends_for_its_targets_when_a_person_deals_with_it(
    notified, do_what
):
    """Bug it would catch: a webhook's incident stayed open, since nothing else ends such an alert."""
    job = await lose_a_field(notified)
    (alert,) = (await notified.get("/alerts"))["alerts"]
    assert do_what in [way["action"] for way in alert["ways"]]
    whose = f"/jobs/{job.id}" if do_what == "accept" else f"/alerts/{quote(alert['id'], safe='')}"
    await do(notified, f"{whose}/actions", do=do_what)
    how = {"accept": "accepted", "acknowledge": "acknowledged"}[do_what]
    assert await waiting(notified, job) == [("ended", f"The price is lost. (a person has {how} it)")]
    assert await load_left_news(notified.backends.requests.shared) == [place_of_crawl(job)]
    page = await notified.get("/alerts")
    assert (page["alerts"], len(page["acknowledged"])) == ([], int(do_what == "acknowledge"))
    assert [(one["change"], one["state"]) for one in page["notices"]] == [("ended", "waiting")]


async def test_a_job_that_runs_is_not_accepted(notified):
    job = await lose_a_field(notified, is_over=False)
    refused = await do(notified, f"/jobs/{job.id}/actions", 400, do="accept")
    assert "it has not ended" in refused["error"]["why"]
    assert await waiting(notified, job) == []


async def test_a_kind_alone_acknowledges_all_alerts_of_the_kind(web):
    """Bug it would catch: `gossamer alerts ack drift` said that no such alert is on."""
    jobs = [await lose_a_field(web, name) for name in ("one", "two")]
    await remember(web, (await make_job(web))[0])
    done = await do(web, "/alerts/drift/actions", do="acknowledge")
    assert sorted(done["after"]["alerts"]) == [f"drift:{job.id}:Product.price" for job in jobs]
    page = await web.get("/alerts")
    kinds = {one["kind"] for one in page["alerts"]}, {one["kind"] for one in page["acknowledged"]}
    assert kinds == ({"store_lag", "trap"}, {"drift"})


async def test_an_alert_that_one_look_refutes_is_not_listed(web):
    """As in the job's status. Bug it would catch: requests that are read cannot be read, it says."""
    job, _ = await make_job(web)
    now = web.backends.clock.now()
    states = tuple(
        AlertState(kind=kind, job=job.id, who=job.id, text="bad", bad_since=now - 60, began_at=now - 30)
        for kind in (TroubleKind.UNREADABLE, TroubleKind.TRAP)
    )
    memory = JobMemory(at=now, due_at=now + 60, alerts=states)
    await save_job_memory(web.backends.requests.shared, job, memory)
    page = await web.get("/alerts")
    assert [one["kind"] for one in page["alerts"] if one["job"]] == ["trap"]
