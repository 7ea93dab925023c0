"""What the API changes: once, if things are as they were seen, noted, and with a way back."""

from __future__ import annotations

import asyncio
import json
from importlib import import_module
from secrets import token_hex
from urllib.parse import quote

import pytest

from gossamer.config.section import to_document
from gossamer.core.access import Role
from gossamer.core.errors import StorageError
from gossamer.core.hosts import FrontierRules
from gossamer.core.jobs import DeadLetterFilter
from gossamer.core.lifecycle import FinishReason, JobState
from gossamer.core.requests import Entry, Request
from gossamer.core.shifts import WorkerInfo, WorkerState
from gossamer.fleet.worker_orders import OrderReader
from gossamer.policy import urls
from gossamer.policy.job_life import end_run
from gossamer.policy.undo import CANCEL_S
from gossamer.queries.proxies import list_proxies
from gossamer.targets.plan import JobPlan, pack_plan, plan_from, settings_under
from gossamer.testing.clock import ManualClock
from gossamer.testing.contracts.frontier_harness import make_entry
from gossamer.web.answers import AnswerCache
from kit.servers import on_servers
from kit.web import WebHarness, bury, do, make_job, open_web


@pytest.fixture(params=["sqlite", *on_servers("redis and postgres")])
async def web(request, tmp_path):
    places = {}
    if request.param != "sqlite":
        urls = {name: request.getfixturevalue(f"{name}_url") for name in ("redis", "postgres")}
        places = {
            "frontier": {"url": urls["redis"]},
            "store": {"url": urls["postgres"]},
            "redis": {"prefix": f"actions-{token_hex(4)}"},
        }
    async with open_web(tmp_path, **places) as opened:
        yield opened


@pytest.fixture
async def alone(tmp_path):
    """Where nothing depends on the place."""
    async with open_web(tmp_path) as opened:
        yield opened


async def undo(web: WebHarness, action: int, status: int = 200):
    answer = await web.client.request("DELETE", f"/api/v1/actions/{action}")
    assert answer.status_code == status, answer.text
    return answer.json()


async def test_a_job_is_paused_and_that_is_undone(web):
    job, frontier = await make_job(web)
    done = await do(web, f"/jobs/{job.id}/actions", do="pause", expect={"state": "running"}, key="k1")
    assert (done["before"], done["after"]) == ({"state": "running"}, {"state": "paused"})
    assert (await frontier.read_stats()).state is JobState.PAUSED
    again = await do(web, f"/jobs/{job.id}/actions", do="pause", expect={"state": "running"}, key="k1")
    assert again["action"] == done["action"], "once"
    for other in ({"do": "pause"}, {"do": "resume"}, {"do": "limits", "with": {"delay": 1}}):
        refused = await do(web, f"/jobs/{job.id}/actions", 409, key="k1", **other)
        assert "was used for another order before" in refused["error"]["why"]
        assert refused["error"]["now"] == {"action": done["action"]}
    refused = await do(web, f"/jobs/{job.id}/actions", 409, do="pause", expect={"state": "running"})
    assert refused["error"]["now"] == {"state": "paused"}
    assert "state is paused now" in refused["error"]["why"]


async def test_a_key_belongs_to_all_that_was_asked_with_it(alone):
    job, _ = await make_job(alone)
    path = f"/jobs/{job.id}/actions"
    await do(alone, path, do="limits", **{"with": {"delay": 2}}, key="k1")
    await do(alone, path, do="limits", **{"with": {"delay": 2}}, key="k1")
    await do(alone, path, 409, do="limits", **{"with": {"delay": 20}}, key="k1")
    assert (await alone.backends.open_frontier(job).read_rules()).delay_s == 2.0
    host = f"/jobs/{job.id}/hosts/a.example/actions"
    await do(alone, host, do="skip", key="k2")
    await do(alone, f"/jobs/{job.id}/hosts/b.example/actions", 409, do="skip", key="k2")


async def test_an_action_that_was_cut_off_is_not_taken_for_done(alone):
    job, _ = await make_job(alone)
    path, order = f"/jobs/{job.id}/actions", {"do": "pause", "key": "k1"}
    done = await do(alone, path, **order)
    await alone.backends.actions.note_after(done["action"], {})  # as it is while it is done
    refused = await do(alone, path, 409, **order)
    assert "its end is not known" in refused["error"]["why"]


@pytest.mark.slow
async def test_who_has_changed_something_sees_that_at_once(web):
    """Answers stand for a second, but not longer than what they say."""
    job, _ = await make_job(web)
    assert (await web.get(f"/jobs/{job.id}"))["state"] == "unfinished"
    await do(web, f"/jobs/{job.id}/actions", do="pause")
    assert (await web.get(f"/jobs/{job.id}"))["state"] == "paused"


async def test_what_was_asked_before_a_change_is_no_answer_to_who_asks_after_it():
    cache, gate, answers = AnswerCache(), asyncio.Event(), iter(["before", "after"])

    async def ask():
        answer = next(answers)
        if answer == "before":
            await gate.wait()
        return answer

    early = asyncio.create_task(cache.give_answer("state", ask))
    await asyncio.sleep(0)
    await asyncio.sleep(0)
    cache.forget_answers()
    assert (await cache.give_answer("state", ask)).body == b'"after"'
    gate.set()
    assert (await early).body == b'"before"', "it was asked before"
    assert (await cache.give_answer("state", ask)).body == b'"after"'


@pytest.mark.slow
async def test_a_job_is_cancelled_unless_that_is_undone(web, monkeypatch):
    started = []

    async def start(parts, job):
        started.append(job.id)

    monkeypatch.setattr("gossamer.jobs.job_actions.check_startable", start)
    monkeypatch.setattr("gossamer.jobs.job_actions.start_again", start)
    web.backends.requests.clock = clock = ManualClock()
    job, frontier = await make_job(web)
    tasks = web.app.state.parts.tasks

    done = await do(web, f"/jobs/{job.id}/actions", do="cancel")
    assert done["undo_until"] == clock.now() + CANCEL_S
    assert (await frontier.read_stats()).state is JobState.PAUSED, "at once"
    (waiting,) = tasks
    await asyncio.sleep(0)  # it waits from now on
    clock.advance(CANCEL_S - 1)
    await undo(web, done["action"])
    assert (await frontier.read_stats()).state is JobState.RUNNING
    clock.advance(1)
    await asyncio.gather(*tasks)  # the one that waited, and the one that starts a process
    assert (await frontier.read_stats()).state is JobState.RUNNING, "it was undone"
    assert set(started) == {job.id}, "a process takes it up again"

    done = await do(web, f"/jobs/{job.id}/actions", do="cancel")
    (waiting,) = tasks
    await asyncio.sleep(0)  # it waits from now on
    clock.advance(CANCEL_S)
    await undo(web, done["action"], 409)
    await waiting
    assert (await web.backends.book.get(job.id)).state is JobState.CANCELLED
    assert (await web.get(f"/actions/{done['action']}"))["after"] == {"state": "cancelled"}
    await do(web, f"/jobs/{job.id}/actions", 400, do="resume")


async def test_a_job_that_somebody_lets_go_on_is_not_cancelled(alone, monkeypatch):
    async def start(parts, job):
        pass

    monkeypatch.setattr("gossamer.jobs.job_actions.check_startable", start)
    monkeypatch.setattr("gossamer.jobs.job_actions.start_again", start)
    alone.backends.requests.clock = clock = ManualClock()
    job, frontier = await make_job(alone)
    done = await do(alone, f"/jobs/{job.id}/actions", do="cancel")
    (waiting,) = alone.app.state.parts.tasks
    await do(alone, f"/jobs/{job.id}/actions", do="resume", expect={"state": "paused"})
    clock.advance(CANCEL_S)
    await waiting
    assert (await frontier.read_stats()).state is JobState.RUNNING
    assert (await alone.get(f"/actions/{done['action']}"))["after"]["failed"] == "it was resumed meanwhile"


@pytest.mark.slow
async def test_a_state_is_expected_as_it_is_shown(alone):
    job, _ = await make_job(alone)
    shown = {(await alone.get(f"/jobs/{job.id}"))["state"], (await alone.get("/jobs"))["jobs"][0]["state"]}
    assert shown == {"unfinished"}
    assert (await alone.get("/jobs?state=running"))["jobs"] == []
    assert len((await alone.get("/jobs?state=unfinished&state=paused"))["jobs"]) == 1
    await do(alone, f"/jobs/{job.id}/actions", do="pause", expect={"state": "unfinished"})
    await do(alone, f"/jobs/{job.id}/actions", 409, do="pause", expect={"state": "unfinished"})


async def test_a_job_that_ended_with_work_left_goes_on_and_that_is_undone(alone, monkeypatch):
    started = []

    async def start(parts, job):
        started.append(job.id)

    monkeypatch.setattr("gossamer.jobs.job_actions.check_startable", start)
    monkeypatch.setattr("gossamer.jobs.job_actions.start_again", start)
    job, frontier = await make_job(alone)
    done = await do(alone, f"/jobs/{job.id}/actions", do="resume", expect={"state": "unfinished"})
    assert (done["before"], done["after"]) == ({"state": "unfinished"}, {"state": "running"})
    await asyncio.gather(*alone.app.state.parts.tasks)
    assert started == [job.id, job.id], "it was looked at, and started"
    await undo(alone, done["action"])
    assert (await frontier.read_stats()).state is JobState.PAUSED


@pytest.mark.slow
async def test_settings_are_changed_and_put_back(web):
    job, frontier = await make_job(web)
    path = f"/jobs/{job.id}/actions"
    first = await do(
        web, path, do="limits", **{"with": {"delay": 2, "max_pages": "50"}}, expect={"delay": None}
    )
    assert first["after"] == {"settings": {"delay": 2.0, "max_pages": 50}}
    rules = await frontier.read_rules()
    assert (rules.delay_s, rules.max_pages) == (2.0, 50)
    await do(web, path, 409, do="limits", **{"with": {"delay": 9}}, expect={"delay": None})
    wrong = await do(web, path, 400, do="limits", **{"with": {"delay": -3}}, key="refused")
    assert wrong["error"]["why"] == "delay = -3: should be greater than or equal to 0"
    refused = (await web.backends.actions.list_actions(1, job=job.id))[0]
    shown = (await web.get(f"/jobs/{job.id}"))["changes"][0]
    assert (shown["what"], shown["undo_until"]) == ("limits: refused", None)
    await undo(web, refused.id, 409)
    second = await do(web, path, do="limits", **{"with": {"delay": 7}})
    await undo(web, first["action"], 409)
    await undo(web, second["action"])
    assert (await frontier.read_rules()).delay_s == 2.0, "what it was before, which somebody had changed"
    await undo(web, first["action"])
    assert await frontier.read_rules() == FrontierRules()
    assert await web.backends.book.read_changes(job) == ()
    await undo(web, first["action"], 409)
    for wrong in ({"processes": 2}, {"delay": -1}, {"no_such": 1}, {"delay": "soon"}, {}):
        await do(web, path, 400, do="limits", **{"with": wrong})
    assert await frontier.read_rules() == FrontierRules()


def fail_once(monkeypatch, place):
    """Let a function fail at its next call as if Redis went away, and never again."""
    module, _, name = place.rpartition(".")
    whole = getattr(import_module(module), name)

    async def fail(*_args, **_named):
        monkeypatch.setattr(place, whole)
        raise StorageError("Redis is away")

    monkeypatch.setattr(place, fail)


async def test_an_undo_that_fails_half_way_is_not_taken_for_done(web, monkeypatch):
    job, frontier = await make_job(web)
    path = f"/jobs/{job.id}/actions"
    await do(web, path, do="limits", **{"with": {"delay": 2}})
    done = await do(web, path, do="limits", **{"with": {"delay": 7, "max_pages": 50}})
    fail_once(monkeypatch, "gossamer.jobs.job_actions.put_back")
    failed = (await undo(web, done["action"], 503))["error"]["why"]
    assert failed == "Redis is away (done is: limits; not yet: back; undo it again)"
    rules = await frontier.read_rules()
    assert (rules.delay_s, rules.max_pages) == (2.0, 50)
    noted, shown = (await web.get(f"/jobs/{job.id}"))["changes"][:2]
    assert noted["what"] == "undo limits: done in part"
    assert (shown["id"], shown["undo_until"]) == (done["action"], done["undo_until"])
    assert shown["undone_at"] is None
    again = await do(web, path, do="limits", **{"with": {"max_pages": 60}})
    refused = await undo(web, done["action"], 409)
    assert refused["error"]["now"] == {"max_pages": 60}, "what somebody else has changed since"
    await undo(web, again["action"])
    await undo(web, done["action"])
    rules = await frontier.read_rules()
    assert (rules.delay_s, rules.max_pages) == (2.0, None)
    await undo(web, done["action"], 409)


async def test_an_undo_that_the_store_left_half_way_can_be_done_again(alone, monkeypatch):
    """Neither that it failed nor that the action is not undone could be noted: its mark stays."""
    job, frontier = await make_job(alone)
    done = await do(alone, f"/jobs/{job.id}/actions", do="limits", **{"with": {"delay": 2}})
    log = alone.backends.actions

    async def fail(*_args, **_named):
        raise StorageError("the store is away")

    with monkeypatch.context() as away:
        away.setattr("gossamer.jobs.job_actions.put_back", fail)
        away.setattr(log, "note_after", fail)
        away.setattr(log, "clear_undone", fail)
        assert "the store is away" in (await undo(alone, done["action"], 503))["error"]["why"]
    assert "undone already, or just now" in (await undo(alone, done["action"], 409))["error"]["why"]
    monkeypatch.setattr("gossamer.policy.undo.UNDO_TAKES_S", -1.0)
    shown = (await alone.get(f"/jobs/{job.id}"))["changes"]
    assert next(one for one in shown if one["id"] == done["action"])["undone_at"] is None
    await undo(alone, done["action"])
    assert (await frontier.read_rules()).delay_s != 2.0
    await undo(alone, done["action"], 409)


async def test_what_an_undo_has_done_already_is_not_done_to_a_host_again(alone, monkeypatch):
    """Whether it failed before or after its effect: nor is a pause ended that the host asks for."""
    job, frontier = await make_job(alone)
    path = f"/jobs/{job.id}/hosts/a.example/actions"
    held = await do(alone, path, do="hold", **{"with": {"seconds": 600}})
    fail_once(monkeypatch, "gossamer.jobs.host_actions.steer_host")
    assert (await undo(alone, held["action"], 503))["error"]["why"] == "Redis is away"
    assert (await frontier.find_host("a.example")).state.is_held
    await do(alone, path, do="release")
    fail_once(monkeypatch, "gossamer.jobs.host_actions.steer_host")
    await undo(alone, held["action"])
    assert not (await frontier.find_host("a.example")).state.is_held
    await undo(alone, held["action"], 409)


@pytest.mark.parametrize(
    ("path", "order", "why"),
    [
        ("/actions", {"do": "pause", "expect": {"sate": "running"}}, "pause can expect state, not 'sate'"),
        ("/actions", {"do": "limits", "with": {"delay": 1}, "expect": {"http.retries": 1, "delay": None}},
         "limits can expect delay, not 'http.retries'"),
        ("/actions", {"do": "limits", "expect": {"delay": 1}}, "say which settings are to be changed"),
        ("/actions", {"do": "fetch", "with": {"url": "http://a.example/"}, "expect": {"state": "done"}},
         "fetch can expect nothing, not 'state'"),
        ("/hosts/a.example/actions", {"do": "skip", "expect": {"paused": 1, "held": 1}},
         "skip can expect set_delay_s, hold_until, is_skipped, not 'held', 'paused'"),
        ("/dead/drop", {"expect": {"counts": 3}}, "drop can expect count, not 'counts'"),
    ],
)  # fmt: skip
async def test_what_cannot_be_seen_cannot_be_expected(alone, path, order, why):
    """A slip in a name would be an order without a condition."""
    job, frontier = await make_job(alone)
    before = await frontier.read_stats()
    refused = await do(alone, f"/jobs/{job.id}{path}", 400, **order)
    assert refused["error"]["why"].startswith(why)
    assert await frontier.read_stats() == before, "nothing was done"
    assert await alone.backends.actions.list_actions(1) == [], "nor noted"


async def test_a_host_is_steered(web):
    job, frontier = await make_job(web)
    path = f"/jobs/{job.id}/hosts/a.example/actions"
    held = await do(web, path, do="hold", **{"with": {"seconds": 600}}, expect={"hold_until": None})
    state = (await frontier.find_host("a.example")).state
    assert (state.is_held, state.hold_until) == (True, held["after"]["hold_until"])
    await do(web, path, 409, do="skip", expect={"hold_until": None})
    await do(web, path, do="pace", **{"with": {"delay": 5}})
    await undo(web, held["action"])
    state = (await frontier.find_host("a.example")).state
    assert (state.hold_until, state.delay_s) == (0.0, 5.0), "the pace, which is another's, stays"
    skipped = await do(web, path, do="skip")
    assert (await frontier.find_host("a.example")).state.is_skipped
    await undo(web, skipped["action"])
    assert not (await frontier.find_host("a.example")).state.is_skipped
    await do(web, path, 400, do="hold", **{"with": {"until": 1}})
    await do(web, path, 400, do="hold", **{"with": {"seconds": 0}})  # no time at all, and not for ever
    refused = await do(web, path, 400, do="hold", **{"with": {"minutes": 5}})
    assert refused["error"]["why"] == "hold takes until and seconds, not 'minutes'"
    await do(web, path, 400, do="pace")
    await do(web, path, 400, do="pace", **{"with": {"delay": "5"}})
    await do(web, path, 400, do="pause")
    await do(web, f"/jobs/{job.id}/hosts/z.example/actions", 400, do="skip")


async def test_letters_are_retried_edited_and_dropped(web):
    job, frontier = await make_job(web)
    await frontier.change_rules(FrontierRules(delay_s=0.0, per_host=9), expected=FrontierRules())
    clock = web.backends.clock
    await bury(frontier, clock)
    path = f"/jobs/{job.id}/dead"
    await do(web, f"{path}/retry", 409, expect={"count": 2})
    await do(web, f"{path}/drop", 400, filter={"ids": []})  # none, and not all
    await do(web, f"{path}/drop", 400, change={"priority": 1})
    assert (await do(web, f"{path}/drop", filter={"older_than": 60}))["after"] == {"done": 0}
    (one, two, three) = await frontier.dead_letters(DeadLetterFilter())
    done = await do(web, f"{path}/retry", filter={"ids": [one.id]}, expect={"count": 1})
    assert done["after"] == {"done": 1}
    change = {"callback": "parse_again", "priority": 2, "meta": {"a": 1}, "rung": "browser"}
    await do(web, f"{path}/retry", filter={"ids": [two.id]}, change=change)
    await do(web, f"{path}/drop", filter={"ids": [three.id]})
    assert await frontier.dead_letters(DeadLetterFilter()) == []
    (edited, plain) = (await frontier.lease("http", 9, 60.0)).leases
    request = edited.entry.request
    assert (request.callback, request.priority, request.meta) == ("parse_again", 2, {"a": 1})
    assert (request.fetch, edited.entry.fingerprint) == ("browser", two.entry.fingerprint)
    assert plain.entry.request == one.entry.request
    assert (await frontier.read_stats()).waiting == 2
    for wrong in (
        {"callback": "os.system"},
        {"rung": "no"},
        {"priority": "x"},
        {"body": "x"},
        {"url": "file:///x"},
    ):
        await do(web, f"{path}/retry", 400, change=wrong)
    await do(web, f"{path}/retry", 400, filter={"nothing": 1})


async def test_a_retry_and_a_drop_are_undone(web):
    job, frontier = await make_job(web)
    await frontier.change_rules(FrontierRules(delay_s=0.0, per_host=9), expected=FrontierRules())
    await bury(frontier, web.backends.clock)
    letters = await frontier.dead_letters(DeadLetterFilter())
    for kind in ("retry", "drop"):
        done = await do(web, f"/jobs/{job.id}/dead/{kind}", expect={"count": 3})
        assert await frontier.dead_letters(DeadLetterFilter()) == []
        await undo(web, done["action"])
        assert await frontier.dead_letters(DeadLetterFilter()) == letters
    edited = await do(web, f"/jobs/{job.id}/dead/retry", change={"priority": 1})
    assert edited["undo_until"] is None
    await do(web, f"/jobs/{job.id}/actions", 400, do="bury", **{"with": {"of": 1, "were_dropped": True}})


async def test_many_letters_in_slices(web, monkeypatch):
    monkeypatch.setattr("gossamer.jobs.letter_actions.SLICE", 2)
    job, frontier = await make_job(web)
    await frontier.change_rules(FrontierRules(delay_s=0.0, per_host=9), expected=FrontierRules())
    await frontier.add([make_entry(number) for number in range(3, 7)])
    await bury(frontier, web.backends.clock)
    done = await do(web, f"/jobs/{job.id}/dead/retry", expect={"count": 7})
    assert done["after"] == {"done": 2}, "the first slice"
    while web.app.state.parts.tasks:
        await web.app.state.parts.tasks.copy().pop()
    assert (await web.get(f"/actions/{done['action']}"))["after"] == {"done": 7}
    assert (await frontier.read_stats()).pending == 7


async def test_one_page_more(web):
    job, frontier = await make_job(web)
    path = f"/jobs/{job.id}/actions"
    await do(web, path, do="fetch", **{"with": {"url": "http://a.example/new"}})
    (lease,) = (await frontier.lease("http", 1, 60.0)).leases
    assert lease.entry.request.url == "http://a.example/new", "before all others"
    for wrong in ({}, {"url": "javascript:alert(1)"}, {"url": 5}):
        await do(web, path, 400, do="fetch", **{"with": wrong})


async def test_one_page_more_raises_what_waits_already(web):
    job, frontier = await make_job(web)
    url = "http://a.example/waits"
    known = urls.fingerprint_of("GET", url, b"", job.key)
    request = Request(url, "parse_item", priority=-3)
    await frontier.add([Entry(request=request, fingerprint=known, host="a.example")])
    await do(web, f"/jobs/{job.id}/actions", do="fetch", **{"with": {"url": url}})
    assert (await frontier.read_stats()).pending == 4, "it is not asked for twice"
    (lease,) = (await frontier.lease("http", 1, 60.0)).leases
    assert (lease.entry.request.url, lease.entry.request.callback) == (url, "parse_item")
    await do(web, f"/jobs/{job.id}/actions", do="fetch", **{"with": {"url": url}})
    assert (await frontier.read_stats()).pending == 4, "once more, for it is under way"


async def test_one_page_more_has_its_fragment_if_that_counts(web):
    """A bug it would catch: the first view of an application is fetched for the one that is meant."""
    job, frontier = await make_job(web)
    await frontier.change_rules(FrontierRules(delay_s=0.0, per_host=9), expected=FrontierRules())
    app, path = "http://a.example/app", f"/jobs/{job.id}/actions"
    part = f"{app}#known"
    known = urls.fingerprint_of("GET", part, b"", job.key)
    await frontier.add([Entry(request=Request(part, fetch="browser"), fingerprint=known, host="a.example")])
    for given, meant in ((f"{app}#/items 5", f"{app}#/items%205"), (part, part), (f"{app}#part", app)):
        await do(web, path, do="fetch", **{"with": {"url": given}})
        (lease,) = (await frontier.lease("http", 1, 60.0)).leases
        assert lease.entry.request.url == meant


async def test_a_letter_whose_url_is_changed_to_a_route_keeps_it(web):
    job, frontier = await make_job(web)
    await frontier.change_rules(FrontierRules(delay_s=0.0, per_host=9), expected=FrontierRules())
    await bury(frontier, web.backends.clock)
    (one, two, *_) = await frontier.dead_letters(DeadLetterFilter())
    for letter, change in ((one, {"rung": "browser"}), (two, {})):
        new = {**change, "url": "http://a.example/app#/items/6", "priority": 5}
        await do(web, f"/jobs/{job.id}/dead/retry", filter={"ids": [letter.id]}, change=new)
    leases = (await frontier.lease("http", 9, 60.0)).leases
    found = {(lease.entry.request.fetch, lease.entry.request.url) for lease in leases}
    assert found == {("browser", "http://a.example/app#/items/6"), ("", "http://a.example/app")}


async def test_who_may_do_what(alone):
    job, _ = await make_job(alone)
    path = f"/api/v1/jobs/{job.id}/actions"
    reader, worker = await alone.make_token("looks"), await alone.make_token("acts", Role.OPERATE)
    refused = await alone.client.post(path, json={"do": "pause"}, headers=reader)
    assert refused.status_code == 403
    refused = await alone.client.request("DELETE", "/api/v1/actions/1", headers=reader)
    assert refused.status_code == 403
    done = await alone.client.post(path, json={"do": "pause"}, headers=worker)
    assert done.status_code == 200
    own = f"/api/v1/actions/{done.json()['action']}"
    other = await alone.make_token("acts-too", Role.OPERATE)
    asked = [(await alone.client.get(own, headers=who)).status_code for who in (worker, other, reader)]
    assert asked == [200, 403, 403], "of others' actions the audit log tells"
    assert (await alone.client.get("/api/v1/actions", headers=worker)).status_code == 403, (
        "admins read the log"
    )
    admin = await alone.make_token("sees", Role.ADMIN)
    (noted,) = (await alone.client.get("/api/v1/actions", headers=admin)).json()["actions"]
    assert (noted["token"], noted["kind"], noted["job"]) == ("acts", "pause", job.id)


async def test_what_is_not_there(web):
    await do(web, "/jobs/none/actions", 404, do="pause")
    await undo(web, 99, 404)
    job, _ = await make_job(web)
    await do(web, f"/jobs/{job.id}/actions", 400, do="explode")
    await do(web, f"/jobs/{job.id}/actions", 422, do="pause", force=True)
    await do(web, "/workers/w1/actions", 400, do="drain")
    refused = await do(web, "/proxies/p1/actions", 400, do="rest")
    assert refused["error"]["why"] == "the settings list no proxy 'p1'"
    refused = await do(web, f"/jobs/{job.id}/actions", 400, do="limits", **{"with": {"delay": -3}})
    assert refused["error"]["why"] == "delay = -3: should be greater than or equal to 0"
    for kind, why in (("application/json", "body, character 7:"), ("text/plain", "the body is read where")):
        answer = await web.client.post(
            f"/api/v1/jobs/{job.id}/actions", content=b'{"do": pause}', headers={"Content-Type": kind}
        )
        assert (answer.status_code, answer.json()["error"]["why"].startswith(why)) == (422, True)


async def test_workers_and_crawls_of_a_fleet(redis_url, tmp_path):
    place = {"url": redis_url}
    async with open_web(tmp_path, frontier=place, redis={"prefix": f"actions-{token_hex(4)}"}) as web:
        fleet = web.backends.require_fleet()
        card = WorkerInfo(id="here:1", slots=2, lanes=("http",))
        await fleet.roster.record_heartbeat(card, ())
        orders = OrderReader()
        done = await do(web, "/workers/here:1/actions", do="drain", expect={"state": "working"})
        assert await orders.read_order(fleet.shared, card.id) is WorkerState.DRAINING
        assert await orders.read_order(fleet.shared, card.id) is None, "each once"
        await undo(web, done["action"])
        assert await orders.read_order(fleet.shared, card.id) is WorkerState.WORKING
        await do(web, "/workers/here:1/actions", 409, do="keep", expect={"state": "draining"})
        await do(web, "/workers/here:1/actions", do="forget")
        assert (await fleet.roster.read_roster()).workers == ()

        start = {"target": "https://shop.example/", "settings": {"delay": 3}}
        job = await web.backends.book.get((await do(web, "/jobs", 201, **start, key="s1"))["job"])
        assert await do(web, "/jobs", 201, **start, key="s1") == {"job": job.id}, (
            "with its key it is done once"
        )
        other = await do(web, "/jobs", 409, target="https://other.example/", key="s1")
        assert "was used for another order before" in other["error"]["why"]
        await do(web, f"/jobs/{job.id}/actions", 409, do="pause", key="s1")
        settings = settings_under(plan_from(job.plan), web.backends.settings)
        assert (settings.delay, settings.http.private_hosts) == (3.0, "none")
        assert (await web.backends.open_frontier(job).read_rules()).delay_s == 3.0
        await do(web, "/jobs", 409, **start)


async def test_proxies_rest_and_are_tried(tmp_path):
    proxies = {"urls": ["http://10.0.0.1:8080"]}
    async with open_web(tmp_path, proxies=proxies) as web:
        (proxy,) = await list_proxies(web.backends.settings, web.backends)
        path = f"/proxies/{quote(proxy.name, safe='')}/actions"
        done = await do(web, path, do="rest", **{"with": {"seconds": 900}})
        (proxy,) = await list_proxies(web.backends.settings, web.backends)
        assert proxy.quarantined_until == done["after"]["until"]
        await do(web, path, 409, do="try", expect={"quarantined_until": None})
        await do(web, path, do="try")
        (proxy,) = await list_proxies(web.backends.settings, web.backends)
        assert proxy.quarantined_until <= web.backends.clock.now(), "the next request tries it out"
        for wrong in ({"seconds": -1}, {"seconds": "x"}):
            await do(web, path, 400, do="rest", **{"with": wrong})


async def test_a_job_of_the_fleet_goes_on_when_its_skipped_host_is_taken_back(web):
    """A bug it would catch: undo changes nothing."""
    settings = json.dumps(to_document(web.backends.settings))
    plan = pack_plan(JobPlan(target="http://a.example/", settings=settings))
    job = await web.backends.book.create("shop", "http://a.example/", plan=plan)
    await web.backends.requests.create_frontier(job, FrontierRules())
    await web.backends.open_frontier(job).add([make_entry(0)])
    done = await do(web, f"/jobs/{job.id}/hosts/a.example/actions", do="skip")
    now = web.backends.clock.now()
    await web.backends.book.update(end_run(job, FinishReason.SKIPPED, JobState.RUNNING, now))
    await undo(web, done["action"])
    job = await web.backends.book.get(job.id)
    assert (job.end_reason, job.finished_at, job.is_running) == (None, None, True)
