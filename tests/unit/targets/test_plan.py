"""What another machine puts the same crawl together from: it holds no secret, and is this crawl or none."""

from __future__ import annotations

import sys

import pytest
from msgspec.structs import replace

from gossamer.config.layers import load_settings
from gossamer.config.option import SettingOption, read_option
from gossamer.config.settings import Settings, setting_fields
from gossamer.core.errors import SettingError, StorageError, UsageError
from gossamer.targets.discovery import find_target
from gossamer.targets.loading import load_target
from gossamer.targets.plan import (
    check_domains,
    check_headers,
    check_options,
    check_proxies,
    fleet_notes,
    plan_from,
    sections_under,
    settings_to_keep,
    settings_under,
)
from gossamer.targets.planned_spider import plan_of, target_under, version_of

SECRET = "hunter2secret"
SPIDER = """
from gossamer import Spider


class Keyed(Spider):
    name = "keyed"
    token: str = ""
    pages: int = 1
"""


@pytest.fixture
def file(tmp_path):
    file = tmp_path / "keyed.py"
    file.write_text(SPIDER)
    return file


def settings(**said):
    return load_settings(env={}, spider=said).settings


def planned(target, arguments=None, own=None):
    arguments = arguments or {}
    found = find_target(str(target), arguments, None)
    return plan_of(str(target), arguments, own or Settings(), found)


def test_arguments_named_like_a_secret_come_from_the_worker(file, monkeypatch):
    packed = planned(file, {"token": SECRET, "pages": "3"})
    assert SECRET.encode() not in packed
    plan = plan_from(packed)
    assert (plan.arguments, plan.secrets) == ({"pages": "3"}, ("token",))
    with pytest.raises(
        UsageError, match=r"secret arguments are not kept .* SPIDER_ARG_TOKEN for this worker"
    ):
        target_under(plan, None)
    monkeypatch.setenv("SPIDER_ARG_TOKEN", SECRET)
    spider = target_under(plan, None).spider
    assert (spider.token, spider.pages) == (SECRET, 3)


def test_a_plan_of_a_version_that_kept_the_alerts_is_still_carried_out(file):
    """Bug it would catch: after an upgrade all workers refuse the jobs of before, for a setting of then."""
    plan = plan_from(planned(file))
    assert '"alerts"' not in plan.settings
    plan = replace(plan, settings='{"alerts":{"drift":0.5,"dead_letters":7},' + plan.settings[1:])
    assert settings_under(plan, settings(alerts={"dead_letters": 9})).alerts.dead_letters == 9


def test_who_submits_is_told_what_every_worker_must_have(file):
    secret = settings(http={"headers": {"Authorization": SECRET, "X-Shop": "a"}})
    said = fleet_notes(plan_from(planned(file, {"token": SECRET, "pages": "3"}, secret)))
    assert SECRET not in str(said)
    assert said == [
        "secret arguments are not kept with a job: set SPIDER_ARG_TOKEN for every worker",
        "headers that carry secrets are not kept with a job: set Authorization for every worker, "
        'as in: GOSSAMER_HTTP__HEADERS=\'{"NAME": "VALUE"}\'',
    ]
    assert fleet_notes(plan_from(planned(file, {"pages": "3"}))) == []


def test_who_submits_is_told_that_nobody_calls_closed(file):
    file.write_text(SPIDER + "\n    def closed(self, reason):\n        print(reason)\n")
    (said,) = fleet_notes(plan_from(planned(file, {"pages": "3"})))
    assert said.startswith("closed() of the spider is not called on a fleet")
    assert "after `gossamer wait`" in said


LIMITED = """
import scrapy


class Limited(scrapy.Spider):
    name = "limited"
    custom_settings = {"CLOSESPIDER_TIMEOUT_NO_ITEM": 60}
"""


def test_limits_that_go_by_the_items_of_one_process_are_named_where_there_are_more(file, caplog):
    file.write_text(LIMITED)
    note = next(said for said in fleet_notes(plan_from(planned(file))) if "NO_ITEM" in said)
    assert note.startswith("CLOSESPIDER_TIMEOUT_NO_ITEM of the spider: no effect")
    assert "max_time" in note
    load_target(str(file), {}, {"processes": 2}, env={})
    assert note in caplog.messages
    caplog.clear()
    load_target(str(file), {}, env={})
    assert note not in caplog.messages


def test_a_number_of_processes_has_no_effect_on_a_fleet_and_the_submission_says_so(file):
    plan = plan_from(planned(file, {"pages": "3"}, settings(processes=2)))
    assert settings_under(plan, Settings()).processes == 1
    (said,) = fleet_notes(plan)
    assert said.startswith("processes = 2 has no effect on a fleet, whose workers are its processes")
    assert "`gossamer up --workers 2` starts 2 of them" in said


def test_an_option_that_each_machine_has_of_its_own_has_no_effect_and_the_submission_says_so(file):
    given = [
        read_option(f"outputs.wh.url=postgresql://me:{SECRET}@h/db"),
        read_option("data=here"),
        read_option("delay=2"),
        SettingOption("max_pages", 5, "--max-pages"),
    ]
    (said,) = fleet_notes(plan_from(planned(file, {"pages": "3"})), given)
    assert said.startswith("-s outputs.wh.url: each machine has this setting of its own")
    assert SECRET not in said


def test_headers_that_carry_secrets_come_from_the_worker():
    said = settings(http={"headers": {"Authorization": SECRET, "X-Api-Token": SECRET, "X-Shop": "a"}})
    packed = planned("https://shop.example/", own=said)
    assert SECRET.encode() not in packed
    plan = plan_from(packed)
    assert plan.headers == ("Authorization", "X-Api-Token")
    assert settings_under(plan, Settings()).http.headers == {"X-Shop": "a"}
    with pytest.raises(UsageError, match="set X-Api-Token for this worker"):
        check_headers(plan, settings(http={"headers": {"authorization": "mine"}}))
    own = settings(http={"headers": {"Authorization": "mine", "x-api-token": "mine"}})
    check_headers(plan, own)
    assert settings_under(plan, own).http.headers["Authorization"] == "mine"


def test_secrets_of_domains_come_from_the_worker():
    domain = {
        "shop.example": {"auth": ["me", SECRET], "delay": 2.0, "per_host": 3},
        "api.example": {"cookies": {"sid": SECRET}, "headers": {"X-Api-Token": SECRET}},
        "b.example": {"auth_env": "B_TOKEN", "cookies": {}},
    }
    said = settings(domain=domain)
    packed = planned("https://shop.example/", own=said)
    assert SECRET.encode() not in packed
    assert said.domain["shop.example"].auth.encode() not in packed
    plan = plan_from(packed)
    told = "domain.shop.example.auth, domain.api.example.cookies, domain.api.example.headers"
    with pytest.raises(UsageError, match=f"set {told} for this worker"):
        check_domains(plan, Settings())
    got = settings_under(plan, Settings()).domain
    assert (got["shop.example"].delay, got["shop.example"].auth) == (2.0, None)
    assert got["b.example"].auth_env == "B_TOKEN"
    check_domains(plan, said)
    assert settings_under(plan, said).domain == said.domain
    assert told in fleet_notes(plan)[0]


def test_no_password_of_a_url_or_a_server_is_in_it():
    own = settings(
        frontier={"url": f"redis://:{SECRET}@queue/0", "shards": 4},
        store={"url": f"postgresql://me:{SECRET}@db/x", "history": True},
        broker={"url": f"amqp://me:{SECRET}@broker//"},
    )
    plan = planned(f"https://me:{SECRET}@shop.example/", own=own)
    assert SECRET.encode() not in plan
    assert plan_from(plan).target == "https://shop.example/"


def test_settings_are_those_of_the_crawl_and_places_those_of_the_machine():
    said = settings(
        delay=0.5, per_host=3, processes=4, max_pages=7, include=["/a", "/b"], data="/mine",
        frontier={"url": "redis://a/0", "shards": 4, "seen_ttl": 60.0}, store={"history": True},
        cluster={"fleet": "mine"}, redis={"prefix": "mine"}, http={"insecure_hosts": ["h"]},
    )  # fmt: skip
    here = settings(
        data="/here", delay=9.0, frontier={"url": "redis://b/1"}, store={"url": "postgresql://b/b"},
        cluster={"fleet": "here"}, redis={"prefix": "here"},
    )  # fmt: skip
    got = settings_under(plan_from(planned("https://shop.example/", own=said)), here)
    assert (got.frontier.url, got.store.url, got.data) == ("redis://b/1", "postgresql://b/b", "/here")
    assert (got.cluster, got.redis, got.broker, got.log) == (here.cluster, here.redis, here.broker, here.log)
    assert (got.frontier.shards, got.frontier.seen_ttl, got.store.history) == (4, 60.0, True)
    changed = {"data", "frontier", "store", "cluster", "redis", "processes"}
    assert got.model_dump(exclude=changed) == said.model_dump(exclude=changed)
    assert got.processes == 1


def test_another_version_of_the_spider_is_refused_until_it_is_the_same(file):
    plan = plan_from(planned(file))
    assert plan.version == version_of(find_target(str(file), {}, None)) != ""
    file.write_text(SPIDER + "# more\n")
    with pytest.raises(
        UsageError, match=rf"another version here \(\w+\) .* \({plan.version}\): install the same version"
    ):
        target_under(plan, None)
    file.write_text(SPIDER)
    assert target_under(plan, None).name == "keyed"


def test_a_spider_that_is_not_here_is_refused(file):
    plan = plan_from(planned(file))
    file.write_text("import nothing_like_it\n" + SPIDER)
    with pytest.raises(UsageError, match="cannot be imported: line 1: ModuleNotFoundError"):
        target_under(plan, None)
    file.unlink()
    with pytest.raises(UsageError, match=f"there is no file {file}"):
        target_under(plan, None)


def test_a_url_has_no_version():
    plan = plan_from(planned("https://shop.example/a"))
    assert plan.version == ""
    assert target_under(plan, None).spider.start_urls == ["https://shop.example/a"]


@pytest.mark.parametrize("packed", [b"", b"\xc1", b"\x93\x01\x02\x03", b"\x80"])
def test_bytes_that_are_no_plan(packed):
    with pytest.raises(StorageError, match="the plan of the job cannot be read"):
        plan_from(packed)


def test_proxies_are_each_workers_own_and_how_they_are_used_is_the_crawls(file):
    mine = settings(
        proxies={
            "urls": [f"http://me:{SECRET}@p:1"],
            "pools": {"acme": {"urls": [f"me:{SECRET}@q:1"]}},
            "rotation": "sticky",
            "always": False,
        }
    )
    packed = planned(file, {}, mine)
    assert SECRET.encode() not in packed
    plan = plan_from(packed)
    own = settings(proxies={"urls": ["http://w:1"], "only": ["w:1"], "rotation": "least_used"})
    there = settings_under(plan, own).proxies
    assert (there.urls, there.only, there.pools) == (("http://w:1",), ("w:1",), {})
    assert (there.rotation, there.always) == ("sticky", False)
    check_proxies(plan, own)
    with pytest.raises(UsageError, match=r"proxies are not kept .* GOSSAMER_PROXIES__FILE for this worker"):
        check_proxies(plan, Settings())
    (told,) = fleet_notes(plan)
    assert told.endswith("GOSSAMER_PROXIES__FILE for every worker")
    check_proxies(plan_from(planned(file)), Settings())


def test_gateways_and_budgets_travel_and_keys_do_not(file):
    own = settings(
        gateways={"zyte": {"template": "zyte", "key_env": "ZYTE_KEY", "options": {"geolocation": "DE"}}},
        budgets={"cost": 2.5, "over": "downgrade"},
    )
    said = settings_under(plan_from(planned(file, {"pages": "3"}, own)), Settings())
    assert (said.gateways, said.budgets) == (own.gateways, own.budgets)


def test_outputs_and_secret_options_of_stages_are_each_machines_own(file):
    pipeline = {"stages": ["a:Geo"], "options": {"Geo": {"api_key": SECRET, "by": ["sku"], "most": 5}}}
    mine = settings(outputs={"wh": {"url": f"postgresql://me:{SECRET}@h/db"}}, pipeline=pipeline)
    packed = planned(file, {"pages": "3"}, mine)
    assert SECRET.encode() not in packed
    assert SECRET not in settings_to_keep(mine)
    plan = plan_from(packed)
    (told,) = fleet_notes(plan)
    assert told == (
        "options of stages that carry secrets are not kept with a job: set pipeline.options.Geo.api_key "
        "for every worker"
    )
    with pytest.raises(UsageError, match=r"set pipeline.options.Geo.api_key for this worker"):
        check_options(plan, Settings())
    own = settings(
        outputs={"own": {"url": "items.jsonl"}}, pipeline={"options": {"Geo": {"api_key": "here"}}}
    )
    check_options(plan, own)
    there = settings_under(plan, own)
    assert there.outputs == own.outputs
    assert there.pipeline.options == {"Geo": {"api_key": "here", "by": ["sku"], "most": 5}}


@pytest.mark.parametrize(
    "value", [f"https://me:{SECRET}@x/", f"https://x/?token={SECRET}", {"deep": [{"password": SECRET}]}]
)
def test_a_secret_anywhere_in_an_option_of_a_stage_is_not_kept(value):
    assert SECRET not in settings_to_keep(settings(pipeline={"options": {"Geo": {"place": value}}}))


def test_some_sections_of_a_plan_are_the_same_as_all_of_them_have_them(file):
    said = {
        "frontier": {"url": "redis://far/0", "shards": 3},
        "extract": {"deferred": True},
        "budgets": {"cost": 2.5, "patterns": {"search": {"pattern": "/search", "pages": 5}}},
    }
    plan = plan_from(planned(file, own=settings(**said)))
    own = settings(frontier={"url": "redis://here/0", "shards": 5}, delay=3.0)
    whole, some = settings_under(plan, own), sections_under(plan, own, *said)
    assert (whole.frontier.url, whole.frontier.shards) == ("redis://here/0", 3)
    assert [getattr(some, name) for name in said] == [getattr(whole, name) for name in said]
    assert some.delay == 3.0, "all else is this machine's"
    with pytest.raises(SettingError, match=r"unknown setting 'extract.later'"):
        sections_under(replace(plan, settings='{"extract": {"later": 1}}'), own, "extract")


def test_reading_a_plan_costs_what_its_settings_need(file):
    """Whoever looks at hundreds of jobs reads hundreds of plans."""
    plan = plan_from(planned(file))
    own = Settings()
    settings_under(plan, own)
    sections_under(plan, own, "frontier")
    assert calls_of(lambda: settings_under(plan, own)) < 50 * len(setting_fields())
    assert calls_of(lambda: sections_under(plan, own, "frontier")) < 100


def calls_of(work) -> int:
    """How many calls of Python functions, and steps of generators, a piece of work takes."""
    found = []
    sys.setprofile(lambda _, event, __: found.append(event) if event == "call" else None)
    try:
        work()
    finally:
        sys.setprofile(None)
    return len(found)
