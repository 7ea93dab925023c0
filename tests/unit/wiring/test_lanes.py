"""Which lanes a job has follows from the settings; admission, supervisor and workers all read them."""

import pytest

from gossamer.cluster.app import make_app
from gossamer.cluster.publisher import queue_of
from gossamer.cluster.running import make_supervisor
from gossamer.config.layers import load_settings
from gossamer.core.errors import SettingError
from gossamer.core.requests import Entry, Request
from gossamer.jobs.control import prepare_submission, submit_job
from gossamer.targets.discovery import find_target
from gossamer.wiring.assemble import assemble_worker
from gossamer.wiring.backends import open_backends

TARGET = "https://shop.example/"
LANES = {"cluster.lanes": ["http", "slow"]}


def answers(wired):
    """What the door says of one request in each of three lanes."""
    admission = wired.parts.admission
    asked = [admission.admit_request(Request(f"{TARGET}{lane}", lane=lane)) for lane in ("http", "slow", "x")]
    return [answer if isinstance(answer, str) else type(answer) for answer in asked]


async def test_a_fleets_job_has_the_lanes_of_the_settings(redis_url, tmp_path):
    given = {"data": str(tmp_path), "frontier.url": redis_url, "robots": False, **LANES}
    settings = load_settings(env={}, overrides=given).settings
    backends = await open_backends(settings, create=True)
    settled, plan, name, text = prepare_submission(TARGET, {}, given)
    job = await submit_job(backends, settled, plan, name, text)
    target = find_target(TARGET, {}, None)
    wired = await assemble_worker(settings, target, backends, job, sinks=(), resumed=True, owner="shift")
    assert answers(wired) == [Entry, Entry, "lane"]
    await wired.close()
    assert make_supervisor(settings, backends, None, "me")._parts.watched(job, ()).lanes == ("http", "slow")
    await backends.close()


async def test_requests_that_need_a_browser_are_admitted_to_its_lane(redis_url, tmp_path):
    given = {"data": str(tmp_path), "frontier.url": redis_url, "cluster.lanes": ["http", "browser"]}
    settings = load_settings(env={}, overrides=given).settings
    backends = await open_backends(settings, create=True)
    job = await submit_job(backends, *prepare_submission(TARGET, {}, given))
    target = find_target(TARGET, {}, None)
    wired = await assemble_worker(settings, target, backends, job, sinks=(), resumed=True, owner="shift")
    admit = wired.parts.admission.admit_request
    lanes = [admit(Request(f"{TARGET}{rung}", fetch=rung)).request.lane for rung in ("browser", "http", "")]
    assert lanes == ["browser", "http", "http"]
    await wired.close()
    await backends.close()


async def test_a_crawl_on_one_machine_serves_one_lane(tmp_path):
    given = {"data": str(tmp_path), "robots": False, **LANES}
    settings = load_settings(env={}, overrides=given).settings
    backends = await open_backends(settings, create=True)
    job = await backends.book.create("shop", TARGET)
    target = find_target(TARGET, {}, None)
    wired = await assemble_worker(settings, target, backends, job, sinks=(), resumed=False)
    assert answers(wired) == [Entry, "lane", "lane"], "else a request would wait that nobody takes"
    await wired.close()
    await backends.close()


def test_a_worker_serves_all_of_them_unless_it_is_told_which():
    said = {"frontier.url": "redis://queue/0", "cluster.fleet": "mine", **LANES}
    settings = load_settings(env={}, overrides=said).settings
    assert [queue.name for queue in make_app(settings).conf.task_queues] == [
        queue_of("mine", lane) for lane in ("http", "slow", "seed")
    ]
    only = make_app(settings, ("slow",)).conf.task_queues
    assert [queue.name for queue in only] == [queue_of("mine", "slow")]


@pytest.mark.parametrize("lanes", [[], ["seed"], ["a b"]])
def test_a_lane_that_cannot_be_is_refused(lanes):
    with pytest.raises(SettingError, match=r"cluster\.lanes"):
        load_settings(env={}, overrides={"cluster.lanes": lanes})
