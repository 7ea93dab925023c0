"""Which lanes a job has follows from the settings; admission, supervisor and workers all read them."""

import pytest
from msgspec.structs import replace

from gossamer.cluster.app import make_app
from gossamer.cluster.publisher import queue_of
from gossamer.cluster.running import make_supervisor
from gossamer.config.layers import load_settings
from gossamer.core.browsing import CapturedResponse
from gossamer.core.errors import SettingError
from gossamer.core.requests import Entry, Request
from gossamer.core.results import FetchResult
from gossamer.core.shifts import EXTRACT_LANE
from gossamer.jobs.control import prepare_submission, submit_job
from gossamer.targets.discovery import find_target
from gossamer.wiring.assemble import assemble_worker, wire_crawl
from gossamer.wiring.backends import open_backends

TARGET = "https://shop.example/"
LANES = {"cluster.lanes": ["http", "slow"]}
DEFERRED = {"extract.deferred": True, "archive.url": "pages"}
OWN = """
from gossamer import Spider

class Own(Spider):
    name = "own"
    start_urls = ["https://shop.example/"]
    require = {"parse_product": [".price"]}
"""


def make_page():
    """A page as it was fetched."""
    return FetchResult(
        url=TARGET,
        status=200,
        headers=(),
        body=b"",
        started_at=0.0,
        latency_s=0.0,
        elapsed_s=0.0,
        rung="http",
    )


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


async def test_a_deferred_jobs_pages_are_read_on_a_lane_of_their_own(redis_url, tmp_path):
    """No request may ask for it: its page would be looked for in the archive."""
    given = {"data": str(tmp_path), "frontier.url": redis_url, "robots": False, **LANES, **DEFERRED}
    settings = load_settings(env={}, overrides=given).settings
    backends = await open_backends(settings, create=True)
    job = await submit_job(backends, *prepare_submission(TARGET, {}, given))
    target = find_target(TARGET, {}, None)
    for lane, defers in (("http", True), (EXTRACT_LANE, False)):
        wired = await assemble_worker(
            settings, target, backends, job, sinks=(), resumed=True, owner="shift", lane=lane
        )
        assert answers(wired) == [Entry, Entry, "lane"]
        assert wired.parts.admission.admit_request(Request(TARGET, lane=EXTRACT_LANE)) == "lane"
        assert (wired.parts.defers_page is not None, wired.parts.is_extracting) == (defers, not defers)
        assert wired.parts.fetcher.touches_network is defers
        await wired.close()
    lanes = make_supervisor(settings, backends, None, "me")._parts.watched(job, ()).lanes
    assert lanes == ("http", "slow", EXTRACT_LANE)
    await backends.close()


async def test_pages_that_decide_how_they_are_fetched_are_read_at_once(redis_url, tmp_path):
    """Whether an element is there, or somebody is logged in: who fetched the page has to know it."""
    (tmp_path / "own.py").write_text(OWN)
    given = {"data": str(tmp_path), "frontier.url": redis_url, **DEFERRED}
    settings = load_settings(env={}, overrides=given).settings
    backends = await open_backends(settings, create=True)
    spider = str(tmp_path / "own.py")
    job = await submit_job(backends, *prepare_submission(spider, {}, given))
    target = find_target(spider, {}, None)
    wired = await assemble_worker(settings, target, backends, job, sinks=(), resumed=True, owner="shift")
    defers, page = wired.parts.defers_page, make_page()
    assert defers(Request(TARGET), page)
    assert not defers(Request(TARGET, callback="parse_product"), page)
    captured = CapturedResponse(url=TARGET, status=200, content_type="", body=b"")
    assert not defers(Request(TARGET), replace(page, captured=(captured,))), "the archive has it not"
    await wired.close()
    await backends.close()


@pytest.mark.parametrize("more", [{}, {"archive.url": "x", "archive.on": False}])
def test_pages_are_not_deferred_without_an_archive(more):
    """Who reads them would find nothing."""
    with pytest.raises(SettingError, match=r"archive\.url"):
        prepare_submission(TARGET, {}, {"extract.deferred": True, **more})


async def test_a_crawl_of_one_machine_defers_nothing(tmp_path):
    given = {"data": str(tmp_path), **DEFERRED}
    settings = load_settings(env={}, overrides=given).settings
    with pytest.raises(SettingError, match="gossamer submit"):
        await wire_crawl(settings, find_target(TARGET, {}, None), fresh=False, sinks=())


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
        queue_of("mine", lane) for lane in ("http", "slow", "extract", "seed")
    ]
    only = make_app(settings, ("slow",)).conf.task_queues
    assert [queue.name for queue in only] == [queue_of("mine", "slow")]


@pytest.mark.parametrize("lanes", [[], ["seed"], ["extract"], ["a b"]])
def test_a_lane_that_cannot_be_is_refused(lanes):
    with pytest.raises(SettingError, match=r"cluster\.lanes"):
        load_settings(env={}, overrides={"cluster.lanes": lanes})
