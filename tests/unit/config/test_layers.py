"""Settings in layers."""

import json
import re
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gossamer.compat.scrapy import hints
from gossamer.config.layers import find_project, load_settings
from gossamer.config.option import SettingOption, read_option
from gossamer.config.settings import Settings, setting_fields
from gossamer.core.errors import SettingError
from gossamer.runtime.known_secrets import hide_secrets
from gossamer.version import __version__


def load(*overrides, env=None, spider=None, start=None):
    options = [read_option(text) for text in overrides]
    return load_settings(overrides=options, env=env or {}, spider=spider, start=start)


def project(folder: Path, text: str) -> Path:
    (folder / "gossamer.toml").write_text(text)
    return folder


def test_defaults_are_polite():
    settings = load().settings
    assert settings == Settings()
    assert settings.robots is True
    assert settings.per_host == 1
    assert settings.delay is None
    assert (settings.min_delay, settings.max_delay) == (0.1, 30.0)
    assert settings.user_agent == f"gossamer/{__version__}"
    assert settings.http.insecure_hosts == ()


def test_the_stronger_layer_wins(tmp_path):
    start = project(tmp_path, "delay = 1\nmax_pages = 10\n[http]\nmax_redirects = 3\n")
    layers = {"start": start}
    assert load(**layers).settings.delay == 1.0
    layers["spider"] = {"delay": 2}
    assert load(**layers).settings.delay == 2.0
    layers["env"] = {"GOSSAMER_DELAY": "3", "GOSSAMER_HTTP__MAX_REDIRECTS": "4"}
    assert load(**layers).settings.delay == 3.0
    loaded = load("delay=4", "delay=5", **layers)
    assert loaded.settings.delay == 5.0
    assert loaded.settings.http.max_redirects == 4
    assert loaded.settings.max_pages == 10
    why = loaded.explain_setting("delay")
    assert (why.value, why.layer, why.source, why.default) == (5.0, "command line", "-s delay", None)
    assert why.overridden == (("GOSSAMER_DELAY", 3), ("the spider", 2), (str(tmp_path / "gossamer.toml"), 1))
    assert [loaded.layer_of(k) for k in ("http__max_redirects", "max_pages", "robots")] == [
        "environment",
        "file",
        "default",
    ]


@pytest.mark.parametrize(
    ("text", "name", "value"),
    [
        ("max_pages=7", "max_pages", 7),
        ("max_pages=none", "max_pages", None),
        ("delay=0.5", "delay", 0.5),
        ("delay=NULL", "delay", None),
        ("robots=off", "robots", False),
        ("robots=1", "robots", True),
        ("user_agent=123", "user_agent", "123"),
        ("user_agent=none", "user_agent", "none"),
        ("frontier.url=none", "frontier.url", None),
        ("frontier__url=sqlite:///x=y.db", "frontier.url", "sqlite:///x=y.db"),
        (r"exclude=\.pdf$", "exclude", (r"\.pdf$",)),
        (r'exclude=["a,b", "[c]"]', "exclude", ("a,b", "[c]")),
        ('http.headers={"X-A": "1"}', "http.headers", {"X-A": "1"}),
        ("log.level=debug", "log.level", "debug"),
    ],
)
def test_text_becomes_the_type_of_its_setting(text, name, value):
    found = load(text).value_of(name)
    assert found == value
    assert type(found) is type(value)
    key, _, rest = text.partition("=")
    variable = "GOSSAMER_" + key.replace(".", "__").upper()
    assert load(env={variable: rest}).value_of(name) == value


@pytest.mark.parametrize(
    ("override", "message"),
    [
        ("max_page=4", "command line: unknown setting 'max_page' (= '4'); did you mean 'max_pages'?"),
        ("http.max_redirect=4", "did you mean 'http.max_redirects'?"),
        ("max_redirects=4", "did you mean 'http.max_redirects'?"),
        (
            "http.headers.X-A=1",
            """'http.headers' is a table, and given as a whole: 'http.headers={"NAME": VALUE}'""",
        ),
        ("level=debug", "did you mean 'log.level'?"),
        ("DOWNLOAD_DELAY=1", "did you mean 'delay'?"),
        ("ROBOTSTXT_OBEY=0", "did you mean 'robots'?"),
        ("USER_AGENT=x", "did you mean 'user_agent'?"),
        ("CONCURRENT_REQUESTS_PER_IP=1", "did you mean 'per_host'?"),
        ("AUTOTHROTTLE_ENABLED=1", "(= '1'): the delay follows the host's response time by itself"),
        ("AUTOTHROTTLE_MAX_DELAY=1", "did you mean 'max_delay'?"),
        ("COOKIES_ENABLED=0", "cookies are always kept"),
        ("HTTPCACHE_ENABLED=1", "replay.folder crawls saved pages"),
        ("ITEM_PIPELINES={}", "pipelines = [Step]"),
        ("DOWNLOADER_MIDDLEWARES={}", "hooks replace middlewares"),
        ("FEEDS={}", "`gossamer crawl -o FILE`"),
        ("FEED_FORMAT=csv", "`gossamer crawl -o FILE`"),
        ("RETRY_ENABLED=0", "max_retries = 0"),
        ("RETRY_HTTP_CODES=[]", "handle_httpstatus_list"),
        ("TWISTED_REACTOR=x", "asyncio"),
        ("delay=x", "delay = 'x' (-s delay): should be a valid number"),
        ("delay=-1", "greater than or equal to 0"),
        ("delay=nan", "finite"),
        ("max_pages=true", "should be a valid integer"),
        ("max_pages=0", "max_pages = 0 (-s max_pages)"),
        ("robots=2", "should be a valid boolean"),
        ("exclude=(", "'(' is not a regular expression"),
        ("tracking_params=a,b", "tracking_params = ('a,b',)"),
        ("min_delay=40", "min_delay (40.0) is greater than max_delay (30.0) (min_delay: -s min_delay)"),
        ("contact=a\nX-Evil: 1", "contact"),
        ("http.headers={", "should be a table, as in"),
        ('http.headers={"X A": "1"}', "http.headers"),
        ('http.headers={"": "1"}', "http.headers"),
        ('http.headers={"X-A:": "1"}', "http.headers"),
        ("sqlite.synchronous=off", "'normal' or 'full'"),
        ("delay", "not of the form KEY=VALUE"),
        ("=3", "not of the form KEY=VALUE"),
        ("http=3", "unknown setting 'http'"),
    ],
)
def test_errors_name_key_value_layer_and_the_nearest_name(override, message):
    with pytest.raises(SettingError) as caught:
        load(override)
    assert message in str(caught.value)


@pytest.mark.parametrize(
    ("overrides", "message"),
    [
        (
            [SettingOption("delay", -1.0, "--delay")],
            "delay = -1.0 (--delay): should be greater than or equal",
        ),
        (
            [SettingOption("min_delay", 40.0, "--min"), SettingOption("max_delay", 1.0, "-s max_delay")],
            "(min_delay: --min, max_delay: -s max_delay)",
        ),
        ({"delay": -1.0}, "delay = -1.0 (the argument delay): should be greater than or equal"),
        ([SettingOption("delay", -1.0, "delay")], "delay = -1.0: should be greater than or equal to 0"),
        (
            {"dashboard.trusted_proxies": ["10.1.0.0/16", "*"]},
            "with '*', whatever anybody says of the address they come from would be believed; name the",
        ),
        ({"dashboard.trusted_proxies": ["::/0"]}, "with '::/0', whatever anybody says"),
        ({"dashboard.trusted_proxies": ["10.1.2.3/16"]}, "'10.1.2.3/16' is neither an address nor a network"),
        ({"dashboard.trusted_proxies": ["localhost"]}, "'localhost' is neither an address nor a network"),
        ({"dela": 1.0}, "arguments: unknown setting 'dela' (= 1.0); did you mean 'delay'?"),
    ],
)
def test_errors_name_the_option_that_was_typed(overrides, message):
    with pytest.raises(SettingError) as caught:
        load_settings(overrides=overrides, env={})
    assert message in str(caught.value)


def test_the_last_option_of_a_name_counts_and_is_the_one_that_is_named():
    options = [SettingOption("delay", "3", "-s delay"), SettingOption("delay", 2.5, "--delay")]
    found = load_settings(overrides=options, env={}).explain_setting("delay")
    assert (found.value, found.source) == (2.5, "--delay")


def test_no_hint_without_a_near_name():
    with pytest.raises(SettingError) as caught:
        load("xyzzy=1")
    assert "did you mean" not in str(caught.value)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("dealy = 1", "unknown setting 'dealy' (= 1); did you mean 'delay'?"),
        ("[htp]\nmax_redirects = 1", "unknown setting 'htp'"),
        ("[http]\nmax_redirect = 1", "did you mean 'http.max_redirects'?"),
        ("http = 3", "http is a section"),
        ("delay = '1'", "delay = '1' ("),
        ("delay = true", "valid number"),
        ("max_pages = 1.5", "valid integer"),
        ("delay = ", "cannot be read"),
        ("delay = 1\ndelay: 1", "(at line 2, column 6); write delay = ..."),
        ("[proxies]\nfile = p.txt  # ours", '(at line 2, column 8); text stands in quotes: file = "..."'),
        ("delay = 1s", 'text stands in quotes: delay = "..."'),
        ("[http]\nheaders = 'Accept: a'", 'should be a table, as in {"name": "value"}'),
        ("[ladder]\nrungs = 'http, browser'", 'should be a list, as in ["first", "second"]'),
        (
            "[archve]\nurl = 'a'",
            "unknown setting 'archve' (= {'url': 'a'}); did you mean the section 'archive'?",
        ),
        ("[proxy]\nfile = 'a'", "did you mean the section 'proxies'?"),
        ("[polite]\ndelay = 1", "unknown setting 'polite' (= {'delay': 1}); 'delay' belongs to no section"),
        ("[budgets.pattern.p]\npages = 1", "did you mean the section 'budgets.patterns'?"),
        ("[exlude]\na = 1", "did you mean 'exclude'?"),
    ],
)
def test_errors_in_the_file_name_the_file(tmp_path, text, message):
    start = project(tmp_path, text)
    with pytest.raises(SettingError) as caught:
        load(start=start)
    assert message in str(caught.value)
    assert str(tmp_path / "gossamer.toml") in str(caught.value)


def test_environment_errors_name_the_variable():
    with pytest.raises(SettingError, match=r"environment variable GOSSAMER_DELAI: .* did you mean 'delay'"):
        load(env={"GOSSAMER_DELAI": "1"})
    with pytest.raises(SettingError, match=r"\(GOSSAMER_DELAY\)"):
        load(env={"GOSSAMER_DELAY": "fast"})
    assert load(env={"GOSSAMER_DELAY": "", "DELAY": "x", "gossamer_x": "1"}).settings == Settings()


def test_spider_settings_nested_or_flat():
    nested = load(spider={"http": {"headers": {"A": "1"}}, "exclude": ["x"], "max_pages": None})
    assert nested.settings == load(spider={"http.headers": {"A": "1"}, "exclude": ("x",)}).settings
    assert nested.layer_of("max_pages") == "spider"
    with pytest.raises(SettingError, match=r"the spider: unknown setting 'DEPTH_LIMIT'.*'max_depth'"):
        load(spider={"DEPTH_LIMIT": 3})


def test_overrides_as_a_mapping_keep_their_types():
    loaded = load_settings(overrides={"max_pages": 3, "delay": "0", "exclude": ["a"]}, env={})
    assert (loaded.settings.max_pages, loaded.settings.delay, loaded.settings.exclude) == (3, 0.0, ("a",))


def test_user_agent_carries_the_contact():
    assert load("contact=me@x.example").settings.user_agent == f"gossamer/{__version__} (+me@x.example)"
    assert load("contact=me@x.example", "user_agent=Bot").settings.user_agent == "Bot"


def test_the_file_is_searched_upwards_and_paths_are_relative_to_it(tmp_path):
    start = project(tmp_path, "") / "a" / "b"
    start.mkdir(parents=True)
    assert find_project(start) == tmp_path
    assert load(start=start).project == tmp_path
    assert load(start=start).path_of("data") == tmp_path / ".gossamer"
    assert load("data=here", start=start).path_of("data") == start / "here"
    assert load("data=/abs", start=start).path_of("data") == Path("/abs")
    project(tmp_path, "[replay]\nfolder = 'saved'")
    assert load(start=start).path_of("replay.folder") == tmp_path / "saved"
    assert load(start=start).path_of("log.file") is None


def test_secrets_are_never_shown():
    canary = "hunter2"
    loaded = load(
        f"frontier.url=redis://user:{canary}@host/0",
        f'http.headers={{"Authorization": "{canary}", "X-A": "1"}}',
    )
    assert canary not in str([loaded.explain_setting(key) for key in setting_fields()])
    assert loaded.explain_setting("http.headers").value == {"Authorization": "***", "X-A": "1"}
    wrong_name, no_json = f"fronteer.url=redis://user:{canary}@host/0", f"http.headers=Cookie: sid={canary}"
    for wrong in (wrong_name, no_json):
        with pytest.raises(SettingError) as caught:
            load(wrong)
        assert canary not in str(caught.value)


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("http://me:hunter2@p.example:80 kind=mobile", "http://p.example:80 kind=mobile"),
        ("http://me:hun/ter2@p.example:80", "http://…"),
        ("p.example:80:me:hunter2", "p.example:80:***"),
        ("[::1]:80:me:hunter2", "[::1]:80:***"),
        ("me:hunter2@p.example:80", "***"),
        ("p.example:80", "p.example:80"),
    ],
)
def test_passwords_of_proxies_are_never_shown(text, shown):
    loaded = load(f"proxies.urls={json.dumps([text])}", "proxies.url=http://list.example/get?apikey=hunter2")
    assert loaded.explain_setting("proxies.urls").value == (shown,)
    assert loaded.explain_setting("proxies.url").value == "http://list.example/get"
    pools = load_settings(env={}, spider={"proxies": {"pools": {"acme": {"urls": [text], "kind": "mobile"}}}})
    assert pools.explain_setting("proxies.pools.acme.urls").value == (shown,)
    assert pools.explain_setting("proxies.pools.acme.kind").value == "mobile"
    with pytest.raises(SettingError) as caught:
        load(f"proxies.urls={json.dumps([text, 'hunter2'])}")
    assert "hunter2" not in str(caught.value)
    assert "entry 2" in str(caught.value)


def test_explain_knows_its_names():
    with pytest.raises(SettingError, match="unknown setting 'dlay'; did you mean 'delay'"):
        load().explain_setting("dlay")


def test_every_setting_is_described_and_frozen():
    for name, field in setting_fields().items():
        assert field.description, name
        assert field.description.endswith("."), name
        load().explain_setting(name)
    with pytest.raises(ValueError, match="frozen"):
        Settings().delay = 3


@given(st.sampled_from(sorted(setting_fields())), st.text(max_size=20))
def test_any_text_gives_settings_or_a_setting_error(name, text):
    try:
        loaded = load(f"{name}={text}")
    except SettingError as error:
        said = str(error)
    else:
        said = loaded.explain_setting(name).source
    assert name.rpartition(".")[2] in said


def test_every_hint_for_a_setting_of_scrapy_names_settings_that_there_are():
    for name, ours in hints.SETTINGS.items():
        assert name == name.lower()
        assert ours in setting_fields(), name
    for words in (*hints.ADVICE.values(), *hints.IMPORTS.values()):
        named = re.findall(r"\b(?:max|min|http|log|replay|frontier|retry|handle)[_.][a-z_]+\b", words)
        assert set(named) <= {*setting_fields(), "handle_httpstatus_list", "log_in"}, words
    assert set(hints.ATTRIBUTES.values()) <= {*setting_fields()}
    assert hints.setting_advice("item_pipelines")
    assert not hints.setting_advice("max_page")


def test_sections_that_users_name(tmp_path):
    start = project(tmp_path, '[gateways.zyte]\ntemplate = "zyte"\nkey_env = "ZYTE_KEY"\nprice = 0.001\n')
    env = {
        "GOSSAMER_GATEWAYS__ZYTE__PRICE": "0.002",
        "GOSSAMER_GATEWAYS__OWN_1__URL": "http://g.example/{url}",
    }
    loaded = load('gateways.zyte.options={"geolocation": "DE"}', env=env, start=start)
    zyte = loaded.settings.gateways["zyte"]
    assert (zyte.template, zyte.price, zyte.options) == ("zyte", 0.002, {"geolocation": "DE"})
    assert list(loaded.settings.gateways) == ["zyte", "own_1"]
    assert loaded.value_of("gateways.zyte.key_env") == "ZYTE_KEY"
    assert loaded.value_of("gateways.other.timeout") == 90.0
    why = loaded.explain_setting("gateways__zyte__price")
    assert (why.value, why.layer, why.overridden) == (
        0.002,
        "environment",
        ((str(tmp_path / "gossamer.toml"), 0.001),),
    )
    assert why.description
    assert loaded.setting_names()[: len(setting_fields())] == list(setting_fields())
    assert set(loaded.setting_names()[len(setting_fields()) :]) == {
        "gateways.zyte.template",
        "gateways.zyte.key_env",
        "gateways.zyte.price",
        "gateways.zyte.options",
        "gateways.own_1.url",
    }
    assert load(spider={"gateways": {"zyte": {"template": "zyte"}}}).settings.gateways["zyte"].price is None
    assert "gateways" not in setting_fields()


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (
            "gateways.zyte.prise = 1",
            "unknown setting 'gateways.zyte.prise' (= 1); did you mean 'gateways.zyte.price'?",
        ),
        ("[gateways]\nzyte = 3", "gateways.zyte is a section with settings"),
        ("gateways = 3", "gateways is a section with settings"),
        ("[gateways.zyte]", "[gateways.zyte] in"),
        ("gateways.zyte.price = -1", "gateways.zyte.price = -1 ("),
        ("[gatewys.zyte]\nprice = 1", "unknown setting 'gatewys'"),
        ("gateways.zyte.template = 'zite'", "should be 'own', 'scraperapi', 'zyte'"),
        ("gateways.mine.price = 1", "gateways.mine: a gateway needs a url, or a template"),
        ("gateways.mine.url = 'ftp://x'", "gateways.mine.url = 'ftp://x' ("),
        ("gateways.mine.url = 'ftp://x'", "should be a URL that begins with http:// or https://"),
        ("proxies.pools.acme.country = 'DE'", "should be a code of two small letters, such as de"),
        ("[gateways.mine]\nurl = 'http://x'\nbody = '{'", "not JSON"),
        ("[gateways.mine]\nurl = 'http://x'\ncost = 'x'", "gateways.mine.cost = 'x'"),
        ("[gateways.mine]\nurl = 'http://x'\ncost = 'x'", "should be header:NAME, json:PATH, base64:PATH or"),
        ("gateways.Mine.url = 'http://x'", "gateways.Mine: should be named with small letters, digits,"),
        (
            "[budgets.patterns.Shop]\npattern = '/x/'\npages = 3",
            "budgets.patterns.Shop: should be named with",
        ),
    ],
)
def test_errors_in_sections_that_users_name(tmp_path, text, message):
    with pytest.raises(SettingError) as caught:
        load(start=project(tmp_path, text))
    assert message in str(caught.value)


def test_the_name_of_a_variable_is_shown_and_a_key_is_refused():
    place = "https://g.example/?token={key}&url={url}"
    loaded = load(f"gateways.mine.url={place}", "gateways.mine.key_env=MINE_KEY")
    assert loaded.explain_setting("gateways.mine.key_env").value == "MINE_KEY"
    assert loaded.explain_setting("gateways.mine.url").value == place
    for key in ("0123456789abcdefhunter2", "k-hunter2"):
        with pytest.raises(SettingError, match="the name of an environment variable, in capitals") as caught:
            load("gateways.mine.template=zyte", f"gateways.mine.key_env={key}")
        assert "hunter2" not in str(caught.value)
    for said in (
        "gateways.mine.url=https://g.example/?api_key=hunter2&url={url}",
        "gateways.mine.url=https://me:hunter2@g.example/?url={url}",
        'gateways.mine.options={"secret_token": "hunter2"}',
        'gateways.mine.headers={"Authorization": "Bearer hunter2"}',
    ):
        with pytest.raises(SettingError, match="the environment variable that holds it in key_env") as caught:
            load("gateways.mine.template=zyte", said)
        assert "hunter2" not in str(caught.value)


DOMAINS = """
[domain."shop.example"]
delay = 3
auth = ["me", "s3cret-word"]
cookies = { sid = "s3cret-word" }
[domain.other.example]
per_host = 4
[domain."127.0.0.1:8085"]
headers = { X-Shop = "a" }
"""


def test_domains_have_settings_of_their_own(tmp_path):
    start = project(tmp_path, DOMAINS)
    loaded = load(
        "domain.shop.example.delay=5", spider={"domain": {"shop.example": {"robots": False}}}, start=start
    )
    shop, other = loaded.settings.domain["shop.example"], loaded.settings.domain["other.example"]
    assert (shop.delay, shop.robots, shop.cookies, other.per_host) == (5.0, False, {"sid": "s3cret-word"}, 4)
    assert shop.auth == "Basic bWU6czNjcmV0LXdvcmQ="
    assert loaded.settings.domain["127.0.0.1:8085"].headers == {"X-Shop": "a"}
    delay = loaded.explain_setting("domain.shop.example.delay")
    assert (delay.value, delay.layer, delay.overridden) == (
        5.0,
        "command line",
        ((str(tmp_path / "gossamer.toml"), 3),),
    )
    assert loaded.explain_setting("domain.shop.example.auth").value == "***"
    assert loaded.explain_setting("domain.shop.example.cookies").value == {"sid": "***"}
    assert hide_secrets("s3cret-word bWU6czNjcmV0LXdvcmQ=") == "*** ***"


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ('[domain."shop.example"]\ndealy = 3', "did you mean 'domain.shop.example.delay'?"),
        (
            '[domain."shop.example"]\ndelay = "x"',
            "domain.shop.example.delay = 'x' .*: should be a valid",
        ),
        ('[domain."shop.example"]\nauth = 3', r"auth must be \(user, password\), or a token"),
        ('[domain."shop.example"]\ncookies = "s3cret"', r"cookies = '\*\*\*' .* a dict of values by name"),
        ('[domain."shop.example"]\nauth_env = "s3cret-word"', "the name of an environment variable"),
        ('[domain."sh op"]\ndelay = 3', "'sh op' is not a host"),
        ("[domain]\ndelay = 3", "did you mean 'domain.NAME.delay'?"),
        ('[domian."shop.example"]\ndelay = 3', "did you mean the section 'domain'?"),
    ],
)
def test_what_is_wrong_with_a_domain_is_named(text, said, tmp_path):
    with pytest.raises(SettingError, match=said) as caught:
        load(start=project(tmp_path, text))
    assert "s3cret" not in str(caught.value)
