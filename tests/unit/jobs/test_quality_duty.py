"""A fleet's jobs that have ended have profiles, whoever watched when they did."""

from __future__ import annotations

import asyncio

import pytest
from msgspec.structs import replace

from gossamer.config.settings import Settings
from gossamer.core.lifecycle import FinishReason, JobState
from gossamer.core.notes import NoteKind
from gossamer.jobs.quality_duty import LATELY_S, QualityDuty
from gossamer.policy.troubles import TroubleKind
from gossamer.queries.alerts import list_alerts
from gossamer.queries.quality import read_quality_notes
from gossamer.targets.plan import JobPlan, pack_plan
from gossamer.testing.contracts.store_harness import make_item, make_visit_result
from gossamer.watch import item_quality
from gossamer.watch.item_quality import read_profile
from gossamer.wiring.backends import Backends, open_backends
from gossamer.wiring.quality import quality_parts_of


async def end_job(backends: Backends, *, at: float, items: int = 3):
    """A job of a fleet with some items that ended at a time."""
    job = await backends.book.create("shop", "shop.py", b"a plan")
    for number in range(items):
        result = make_visit_result(make_item(f"{number}", b'{"name":"x"}'), at=at - 9, number=number)
        await backends.store.write(job, [result])
    ended = replace(job, state=JobState.FINISHED, finished_at=at, end_reason=FinishReason.FINISHED)
    await backends.book.update(ended)
    return ended


async def test_jobs_that_ended_lately_are_looked_at_once(tmp_path):
    settings = Settings(data=str(tmp_path))
    backends = await open_backends(settings, create=True)
    try:
        now, parts = backends.clock.now(), quality_parts_of(settings, backends)
        old = await end_job(backends, at=now - LATELY_S - 1)
        job = await end_job(backends, at=now - 1)
        running = await backends.book.create("shop", "shop.py", b"a plan")
        duty = QualityDuty(settings, backends)
        await duty.run(now)
        made = await read_profile(parts, job)
        assert made is not None
        assert (made.items, [one.type for one in made.types]) == (3, ["Product"])
        assert await read_profile(parts, old) is None
        assert await read_profile(parts, running) is None
        await duty.run(now)
        assert await read_profile(parts, job) == made, "it is not made again"
        again = replace(job, finished_at=made.at + 1)
        await backends.book.update(again)
        await QualityDuty(settings, backends).run(now + 2)
        later = await read_profile(parts, job)
        assert later is not None
        assert later.at >= made.at
    finally:
        await backends.close()


async def test_the_alert_of_a_fleets_job_names_field_page_and_time(redis_url, postgres_url):
    """A duty that looked elsewhere than the fleet's alerts do would leave a field that vanished untold."""
    settings = Settings.model_validate({"frontier": {"url": redis_url}, "store": {"url": postgres_url}})
    backends = await open_backends(settings, create=True)
    try:
        now = backends.clock.now()
        vanished = await run_job(backends, ended_at=now + 100, has_price=lambda page: page < 25)
        dry = await run_job(backends, name="dry", ended_at=now + 150, gives_items=lambda page: page < 25)
        assert not (await list_alerts(backends, settings)).alerts
        for _ in range(2):
            await QualityDuty(settings, backends).run(now + 400)
        alerts = {alert.job: alert for alert in (await list_alerts(backends, settings)).alerts}
        drift, missing = alerts[vanished.id], alerts[dry.id]
        assert (drift.kind, drift.who, drift.since) == (TroubleKind.DRIFT, "Product.price", now + 77)
        assert "have no Product.price" in drift.text
        assert "with http://a/25" in drift.text
        assert (missing.kind, missing.since) == (TroubleKind.NO_ITEMS, now + 127)
        assert "with http://a/25" in missing.text
        again = await run_job(backends, ended_at=now + 300, has_price=lambda page: True)
        await QualityDuty(settings, backends).run(now + 400)
        assert [alert.job for alert in (await list_alerts(backends, settings)).alerts] == [dry.id]
        assert again.id != vanished.id
    finally:
        await backends.close()


async def test_whoever_waits_for_a_job_reads_its_findings_before_the_duty_has_run(tmp_path):
    backends = await open_backends(Settings(data=str(tmp_path)), create=True)
    try:
        job = await run_job(backends, ended_at=backends.clock.now(), has_price=lambda page: page < 25)
        first, way = await read_quality_notes(backends, job)
        assert (first.kind, first.is_warning) == (NoteKind.QUALITY, True)
        assert "have no Product.price" in first.text
        assert f"`gossamer accept {job.id}`" in way.text
        await item_quality.accept_profile(quality_parts_of(backends.settings, backends), job)
        assert await read_quality_notes(backends, job) == (), "it was accepted"
    finally:
        await backends.close()


async def test_an_archive_that_does_not_answer_keeps_no_finding_from_being_told(tmp_path, monkeypatch):
    """A large file that is still open is read from front to end: the look must not wait for that."""
    monkeypatch.setattr(item_quality, "PLACES_S", 0.01)
    backends = await open_backends(Settings(data=str(tmp_path)), create=True)

    async def wait(*_):
        assert (await read_profile(parts, job)).findings, "it is kept before"
        await asyncio.Event().wait()

    try:
        job = await run_job(backends, ended_at=backends.clock.now(), has_price=lambda page: page < 25)
        parts = replace(quality_parts_of(backends.settings, backends), find_page=wait)
        (finding,) = (await item_quality.ensure_profile(parts, job)).findings
        assert (finding.field, finding.place) == ("Product.price", "")
    finally:
        await backends.close()


@pytest.mark.parametrize(("declared", "is_wrong"), [({"Product.code": "text"}, False), (None, False),
                                                   ({"Product.code": "number"}, True)])  # fmt: skip
async def test_items_of_a_fleets_job_are_judged_by_the_kinds_that_were_submitted(
    tmp_path, declared, is_wrong
):
    """Bug it would catch: codes that were digits and are declared as texts become "wrong values"."""
    backends = await open_backends(Settings(data=str(tmp_path)), create=True)
    try:
        plan = pack_plan(JobPlan(target="shop.py", declared=declared))
        job = await backends.book.create("shop", "shop.py", plan)
        codes = [b'"17"'] * 40 + [b'"A-17"'] * 8
        results = [
            make_visit_result(make_item(f"{number}", b'{"code":%s}' % code), at=9.0 + number, number=number)
            for number, code in enumerate(codes)
        ]
        await backends.store.write(job, results)
        parts = quality_parts_of(backends.settings, backends)
        profile = await item_quality.make_profile(parts, job)
        assert profile.declared == declared
        assert (profile.fields["Product.code"].kind == "number") == is_wrong
    finally:
        await backends.close()


async def run_job(
    backends, *, ended_at, name="shop", has_price=lambda page: True, gives_items=lambda page: True
):
    """A job of a fleet with 48 pages, one a second, each with a product."""
    job = await backends.book.create(name, f"{name}.py", b"a plan")
    results = []
    for page in range(48):
        price = b'"9.50"' if has_price(page) else b"null"
        item = make_item(f"{name}-{page}", b'{"name":"x","price":%s}' % price, url=f"http://a/{page}")
        found = [item] if gives_items(page) else []
        results.append(make_visit_result(*found, at=ended_at - 48 + page, number=page))
    await backends.store.write(job, results)
    ended = replace(job, state=JobState.FINISHED, finished_at=ended_at, end_reason=FinishReason.FINISHED)
    await backends.book.update(ended)
    return ended
