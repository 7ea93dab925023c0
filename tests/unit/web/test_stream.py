"""The stream: what has changed, told to all who look by looking once, within bounds."""

import asyncio
import json
import socket

import httpx2
import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gossamer.core.access import Role
from gossamer.core.errors import UsageError
from gossamer.testing.clock import run_virtual
from gossamer.web.deltas import find_delta
from gossamer.web.monitors import (
    EAGER_S,
    MAX_BUFFER,
    MAX_REST_S,
    MAX_STREAMS_EACH,
    MonitorPool,
    StreamBuffer,
    rest_after,
)
from gossamer.web.packages import uvicorn
from gossamer.web.topics import TopicQuestion, TopicRule, ask_within, read_topics
from kit.web import open_web

RULES = {
    "jobs": TopicRule("/jobs", 1.0, Role.READ),
    "job": TopicRule("/jobs/{job}", 1.0, Role.READ),
    "host": TopicRule("/jobs/{job}/hosts/{host}", 1.0, Role.READ),
}
QUESTION = TopicQuestion("jobs", "/jobs", RULES["jobs"])

json_values = st.recursive(
    st.none() | st.booleans() | st.integers(0, 3) | st.sampled_from(["", "a"]),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from("abc"), inner, max_size=3),
    max_leaves=8,
)


def applied(former, delta):
    whole = {"": json.loads(json.dumps(former))}
    for path in delta.drop:
        place = whole[""]
        for step in path[:-1]:
            place = place[step]
        del place[path[-1]]
    for path, value in delta.set:
        place, last = whole, ""
        for step in path:
            place, last = place[last], step
        place[last] = value
    return whole[""]


@settings(max_examples=40)
@given(json_values, json_values)
def test_a_delta_makes_the_later_answer_of_the_former_one(former, later):
    delta = find_delta(former, later)
    assert json.dumps(applied(former, delta), sort_keys=True) == json.dumps(later, sort_keys=True)
    assert find_delta(later, later) == ([], [])


def test_a_delta_has_what_has_changed_and_nothing_else():
    former = {"jobs": [{"id": "a", "pages": 1}, {"id": "b", "pages": 1}], "more": True, "x": 1}
    later = {"jobs": [{"id": "a", "pages": 2}, {"id": "b", "pages": 1}], "more": True}
    assert find_delta(former, later) == ([(("jobs", 0, "pages"), 2)], [("x",)])


@pytest.mark.parametrize(
    ("text", "paths"),
    [
        ("jobs", ["/jobs"]),
        ("jobs,job:a-1", ["/jobs", "/jobs/a-1"]),
        ("jobs:state=paused&limit=5", ["/jobs?state=paused&limit=5"]),
        ("host:a-1:h%3A80:q=x:y", ["/jobs/a-1/hosts/h%3A80?q=x:y"]),
        ("job:a?c%23d", ["/jobs/a%3Fc%23d"]),
    ],
)
def test_a_topic_is_a_path(text, paths):
    assert [question.path for question in read_topics(text, RULES)] == paths


@pytest.mark.parametrize(
    "text",
    [
        *("", ",", "nothing", "job", "jobs,job:1,job:2,job:3,job:4", "jobs:" + "x" * 3000),
        *("job:..%2F..%2Fme", "job:shop-1/export", "host:a-1%2Fdead:export"),
    ],
)
def test_what_is_no_topic_is_refused(text):
    with pytest.raises(UsageError):
        read_topics(text, RULES)


class Answers:
    """Answers that change when they are told to, and counts who asks."""

    def __init__(self, answer):
        self.status, self.answer, self.asked = 200, answer, 0

    async def __call__(self, _question):
        self.asked += 1
        return self.status, msgspec.json.encode(self.answer)


def told(events):
    return [
        (event.kind, {k: v for k, v in json.loads(event.data).items() if k not in ("topic", "at")})
        for event in events
    ]


def test_all_who_look_are_told_by_looking_once():
    async def main(_clock):
        answers = Answers({"n": 1})
        pool, buffers = MonitorPool(answers), [StreamBuffer() for _ in range(20)]
        for buffer in buffers:
            await pool.open_stream(buffer, [QUESTION], "")
            assert told(await buffer.take_events(0.0)) == [("snapshot", {"data": {"n": 1}})]
        answers.answer = {"n": 2}
        await asyncio.sleep(10.5)
        for buffer in buffers:
            expected = [("delta", {"set": [[["n"], 2]], "drop": []})]
            assert told(await buffer.take_events(0.0)) == expected
        assert answers.asked <= 12
        for buffer in buffers:
            pool.close_stream(buffer)
        asked = answers.asked
        await asyncio.sleep(10)
        assert (answers.asked, pool.streams) == (asked, 0), "nobody looks any more"

    run_virtual(main)


def test_who_does_something_is_told_of_it_however_long_the_topic_rests():
    async def main(_clock):
        answers = Answers({"state": "running"})
        pool, buffer = MonitorPool(answers), StreamBuffer()
        question = TopicQuestion("jobs", "/jobs", TopicRule("/jobs", 600.0, Role.READ))
        await pool.open_stream(buffer, [question], "")
        await buffer.take_events(0.0)
        answers.answer = {"state": "paused"}
        pool.look_soon()
        expected = [("delta", {"set": [[["state"], "paused"]], "drop": []})]
        assert told(await buffer.take_events(1.0)) == expected
        pool.close_stream(buffer)

    run_virtual(main)


def test_a_topic_that_costs_much_is_looked_at_often_while_what_was_done_takes_effect():
    class Slow(Answers):
        async def __call__(self, question):
            await asyncio.sleep(0.2)  # of the virtual clock: so the topic rests for ten seconds
            return await super().__call__(question)

    async def main(_clock):
        answers = Slow({"state": "running"})
        pool, buffer = MonitorPool(answers), StreamBuffer()
        question = TopicQuestion("jobs", "/jobs", TopicRule("/jobs", 1.0, Role.READ))
        await pool.open_stream(buffer, [question], "")
        await buffer.take_events(0.0)
        pool.look_soon()
        assert await buffer.take_events(3.0) == [], "the crawl has not obeyed yet"
        answers.answer = {"state": "paused"}
        expected = [("delta", {"set": [[["state"], "paused"]], "drop": []})]
        assert told(await buffer.take_events(2.0)) == expected
        await asyncio.sleep(EAGER_S)
        seen = answers.asked
        await asyncio.sleep(MAX_REST_S)
        assert answers.asked <= seen + 1, "it rests again"
        pool.close_stream(buffer)

    run_virtual(main)


def test_one_slow_look_does_not_make_a_topic_rest_long():
    lengths = iter([2.0, 0.001, 0.001, *[0.001] * 99])

    class Slow(Answers):
        async def __call__(self, question):
            await asyncio.sleep(next(lengths))
            return await super().__call__(question)

    async def main(_clock):
        answers = Slow({"n": 0})
        pool, buffer = MonitorPool(answers), StreamBuffer()
        question = TopicQuestion("jobs", "/jobs", TopicRule("/jobs", 1.0, Role.READ))
        await pool.open_stream(buffer, [question], "")
        await asyncio.sleep(2 * MAX_REST_S)
        assert answers.asked >= 5, "it rests long once at most"
        pool.close_stream(buffer)

    run_virtual(main)


def test_what_was_missed_is_told_again_or_all_of_it():
    async def main(_clock):
        answers = Answers({"n": 0})
        pool, stays, leaves = MonitorPool(answers), StreamBuffer(), StreamBuffer()
        await pool.open_stream(stays, [QUESTION], "")
        await pool.open_stream(leaves, [QUESTION], "")
        last = (await leaves.take_events(0.0))[-1].number
        pool.close_stream(leaves)
        for number in (1, 2):
            answers.answer = {"n": number}
            await asyncio.sleep(1.5)
        back = StreamBuffer()
        await pool.open_stream(back, [QUESTION], f"{pool.counter.epoch}-{last}")
        assert [said["set"] for _, said in told(await back.take_events(0.0))] == [[[["n"], 1]], [[["n"], 2]]]
        await asyncio.sleep(70)
        answers.answer = {"n": 3}
        await asyncio.sleep(1.5)
        for late in (f"{pool.counter.epoch}-{last}", "other-7", "nonsense"):
            again = StreamBuffer()
            await pool.open_stream(again, [QUESTION], late)
            assert told(await again.take_events(0.0)) == [("reset", {}), ("snapshot", {"data": {"n": 3}})], (
                late
            )
            pool.close_stream(again)
        for buffer in (stays, back):
            pool.close_stream(buffer)

    run_virtual(main)


def test_who_does_not_keep_up_is_given_the_whole_answer():
    async def main(_clock):
        answers = Answers({"text": ""})
        pool, slow = MonitorPool(answers), StreamBuffer()
        await pool.open_stream(slow, [QUESTION], "")
        for number in range(60):
            answers.answer = {"text": f"{number:07000}"}
            await asyncio.sleep(1.0)
            assert slow._bytes <= MAX_BUFFER
        await asyncio.sleep(1.0)
        (event,) = await slow.take_events(0.0)
        assert told([event]) == [("snapshot", {"data": answers.answer})]
        answers.answer = {"text": "x"}
        await asyncio.sleep(1.5)
        assert told(await slow.take_events(0.0)) == [("delta", {"set": [[["text"], "x"]], "drop": []})]
        pool.close_stream(slow)

    run_virtual(main)


@pytest.mark.parametrize(("size", "kinds"), [(7_000, ["reset", "snapshot"]), (20_000, ["snapshot"])])
def test_what_is_kept_for_those_who_come_back_has_a_bound(size, kinds):
    """A whole answer stands for all that was told before."""

    async def main(_clock):
        answers = Answers({"text": ""})
        pool, stays, leaves = MonitorPool(answers), StreamBuffer(), StreamBuffer()
        await pool.open_stream(stays, [QUESTION], "")
        await pool.open_stream(leaves, [QUESTION], "")
        last = (await leaves.take_events(0.0))[-1].number
        pool.close_stream(leaves)
        (monitor,) = pool._monitors.values()
        for number in range(55):
            answers.answer = {"text": f"{number:0{size}}"}
            await asyncio.sleep(1.0)
            await stays.take_events(0.0)
            assert sum(len(event.data) for event in monitor._told) <= MAX_BUFFER
        await asyncio.sleep(0.5)
        back = StreamBuffer()
        await pool.open_stream(back, [QUESTION], f"{pool.counter.epoch}-{last}")
        found = told(await back.take_events(0.0))
        assert [kind for kind, _ in found] == kinds
        assert found[-1][1] == {"data": answers.answer}
        for buffer in (stays, back):
            pool.close_stream(buffer)

    run_virtual(main)


def test_one_token_does_not_take_all_streams():
    async def main(_clock):
        pool = MonitorPool(Answers({}))
        buffers = [StreamBuffer() for _ in range(MAX_STREAMS_EACH)]
        for buffer in buffers:
            assert pool.has_room_for("ann")
            await pool.open_stream(buffer, [QUESTION], "", "ann")
        assert (pool.has_room_for("ann"), pool.has_room_for("bob")) == (False, True)
        for buffer in buffers:
            pool.close_stream(buffer)
        assert (pool.has_room_for("ann"), pool.streams) == (True, 0)

    run_virtual(main)


def test_an_error_is_told_once_and_its_end_too():
    async def main(_clock):
        answers = Answers({"error": {"what": "Redis cannot be read."}})
        answers.status = 503
        pool, buffer = MonitorPool(answers), StreamBuffer()
        await pool.open_stream(buffer, [QUESTION], "")
        await asyncio.sleep(5)
        answers.status, answers.answer = 200, {"n": 1}
        await asyncio.sleep(1.5)
        answers.answer = {"n": "x" * 70_000}
        await asyncio.sleep(1.5)
        found = told(await buffer.take_events(0.0))
        assert [kind for kind, _ in found] == ["error", "snapshot", "error"]
        assert (found[0][1]["error"]["status"], found[1][1]["data"]) == (503, {"n": 1})
        assert found[2][1]["error"]["what"] == "This is too large for the stream."
        pool.close_stream(buffer)

    run_virtual(main)


async def test_a_topic_is_asked_as_the_path_is(tmp_path):
    async with open_web(tmp_path, is_local=False) as web:
        (question,) = read_topics("jobs:limit=5", web.app.state.topics)
        assert await ask_within(web.app, "/api/v1", question) == (200, b'{"jobs":[],"next_cursor":null}')
        (wrong,) = read_topics("jobs:limit=x", web.app.state.topics)
        assert (await ask_within(web.app, "/api/v1", wrong))[0] == 422


@pytest.mark.slow
async def test_a_stream_over_a_connection(tmp_path):
    """Its first events, as they come; a token that is revoked ends it."""
    async with open_web(tmp_path, is_local=False) as web:
        token = await web.make_token("ann")
        listening = socket.create_server(("127.0.0.1", 0))
        config = uvicorn.Config(web.app, log_config=None, lifespan="off", timeout_graceful_shutdown=1)
        server = uvicorn.Server(config)
        serving = asyncio.create_task(server.serve(sockets=[listening]))
        where = f"http://127.0.0.1:{listening.getsockname()[1]}/api/v1/stream"
        async with httpx2.AsyncClient(headers=token, timeout=60) as client:
            assert (await client.get(where, params={"topics": "nothing"})).status_code == 400
            async with client.stream("GET", where, params={"topics": "jobs"}) as answer:
                assert answer.headers["content-type"].startswith("text/event-stream")
                lines = answer.aiter_lines()
                found = [await anext(lines) for _ in range(5)]
                assert found[:3] == ["retry: 2000", "", "event: snapshot"]
                assert json.loads(found[4].removeprefix("data: "))["data"] == {
                    "jobs": [],
                    "next_cursor": None,
                }
                await web.backends.book.create("shop", "shop")
                while not (line := await anext(lines)).startswith("data: "):
                    pass
                (change,) = json.loads(line.removeprefix("data: "))["set"]
                assert (change[0], change[1][0]["job"]) == (["jobs"], "shop-1")
        server.should_exit = True
        await serving
        assert web.app.state.monitors.streams == 0


@pytest.mark.parametrize(("took_s", "rest_s"), [(0.0, 2.0), (0.001, 2.0), (0.015, 3.0), (30.0, MAX_REST_S)])
def test_a_topic_that_costs_much_is_looked_at_less_often(took_s, rest_s):
    assert rest_after(took_s, every_s=2.0) == rest_s
