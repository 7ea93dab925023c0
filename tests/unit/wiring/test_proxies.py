"""Where proxies come from by the settings: lists, files and URLs; what is wrong is said with its place."""

import asyncio

import pytest

from gossamer.config.layers import load_settings
from gossamer.core.errors import MissingServiceError, SettingError
from gossamer.core.routes import Detour, Proxy
from gossamer.policy.proxies import ProxyOutcome
from gossamer.shared.memory import MemorySharedState
from gossamer.testing.clock import ManualClock
from gossamer.testing.site import SiteResponse, serve
from gossamer.wiring.proxies import ProxyReader, open_proxy_pool

SECRET = "hunter2secret"


def settings(start=None, **proxies):
    return load_settings(env={}, spider={"proxies": proxies}, start=start).settings


def read(env=None, **proxies):
    return asyncio.run(ProxyReader(settings(**proxies), ManualClock(), env or {}).read())


def test_proxies_come_from_the_settings_from_files_and_by_provider(tmp_path):
    file = tmp_path / "proxies.txt"
    file.write_text(f"# ours\nh2:80:me:{SECRET} country=fr\n", encoding="utf-8")
    found = read(
        {"ACME": SECRET},
        urls=["http://h1:80", "http://h1:80"],
        file=str(file),
        pools={"acme": {"urls": ["http://me:${ACME}@h3:80"], "kind": "mobile", "country": "de"}},
    )
    assert found == (
        Proxy(scheme="http", host="h1", port=80),
        Proxy(scheme="http", host="h2", port=80, user="me", password=SECRET, country="fr"),
        Proxy(
            scheme="http", host="h3", port=80, user="me", password=SECRET,
            provider="acme", kind="mobile", country="de",
        ),
    )  # fmt: skip


def test_proxies_that_differ_in_their_password_alone_are_several():
    lines = [f"http://me:{SECRET}_session-{n}@h:80" for n in (1, 2, 1, 3)]
    found = read(urls=lines, pools={"other": {"urls": ["http://you:x@h:80", "http://h:81"]}})
    assert [proxy.password[-1:] for proxy in found] == ["1", "2", "3", "x", ""]
    names = [proxy.name for proxy in found]
    assert len(set(names)) == 5
    assert names[1:3] == [f"{names[0]}.2", f"{names[0]}.3"]
    assert SECRET not in "".join(names)
    (chosen,) = read(urls=lines, only=[names[1]])
    assert chosen.password.endswith("2")


def test_a_country_and_a_worker_may_choose_among_them():
    lists = {
        "urls": ["http://h1:80 country=de", "http://h1:81 country=de", "http://h2:80 country=fr"],
        "pools": {"acme": {"urls": ["socks5://me:x@h3:80", "h4:80"], "country": "de"}},
    }
    assert [proxy.host for proxy in read(**lists, country="de")] == ["h1", "h1", "h3", "h4"]
    assert [proxy.host for proxy in read(**lists, only=["acme"])] == ["h3", "h4"]
    assert [proxy.port for proxy in read(**lists, only=["h1:81"])] == [81]
    assert [proxy.host for proxy in read(**lists, only=["socks5://h3:80", "http://h4:80"])] == ["h3", "h4"]
    with pytest.raises(SettingError, match=r"proxies\.only = nobody, but .* there are http://h1:80, .*acme"):
        read(**lists, only=["nobody"])
    with pytest.raises(SettingError, match=r"proxies\.country = 'it', but no proxy"):
        read(**lists, country="it")


@pytest.mark.parametrize(
    ("proxies", "told"),
    [
        ({"urls": [f"http://me:{SECRET}@h"]}, "proxies.urls = .* entry 1: a proxy has no port"),
        ({"pools": {"a": {"urls": [f"me:{SECRET}@h"]}}}, "proxies.pools.a.urls .* entry 1: a proxy has no"),
        ({"pools": {"a": {"kind": "house", "urls": ["h:1"]}}}, "proxies.pools.a.kind = 'house'"),
        ({"rotation": "random"}, "proxies.rotation = 'random'"),
        ({"country": "Germany"}, "proxies.country = 'Germany'"),
        (
            {"pools": {"a": {"kind": "mobile"}}},
            r"^proxies.pools.a names no list of proxies: set urls, file or",
        ),
        ({"urls": ["http://${NOBODY}@h:1"]}, "proxies.urls, entry 1: the environment variable 'NOBODY'"),
        ({"file": "/nowhere/p.txt"}, r"/nowhere/p.txt \(proxies.file\) cannot be read: No such file"),
        ({"block_quarantine": {"house": 1.0}}, "proxies.block_quarantine"),
    ],
)
def test_what_is_wrong_is_said_with_its_place_and_without_passwords(proxies, told):
    with pytest.raises(SettingError, match=told) as error:
        read(**proxies)
    assert SECRET not in str(error.value)


def test_a_bad_line_of_a_file_is_named(tmp_path):
    file = tmp_path / "p.txt"
    file.write_text(f"h:1\nhttp://me:{SECRET}@h\n")
    with pytest.raises(
        SettingError, match=r"p.txt, line 2: a proxy has no port\. Write http://USER"
    ) as error:
        read(file=str(file))
    assert SECRET not in str(error.value)
    file.write_text("# none today\n")
    with pytest.raises(SettingError, match=r"p\.txt names no proxy"):
        read(file=str(file))


def test_files_are_relative_to_the_project(tmp_path):
    (tmp_path / "gossamer.toml").write_text(
        '[proxies]\nfile = "a.txt"\n[proxies.pools.acme]\nfile = "b.txt"\nkind = "mobile"\n'
    )
    (tmp_path / "a.txt").write_text("h1:1\n")
    (tmp_path / "b.txt").write_text("h2:1\n")
    (tmp_path / "below").mkdir()
    settled = load_settings(env={}, start=tmp_path / "below").settings
    found = asyncio.run(ProxyReader(settled, ManualClock(), {}).read())
    assert [(proxy.host, proxy.kind) for proxy in found] == [("h1", ""), ("h2", "mobile")]


def test_a_list_is_fetched_and_read_again(tmp_path):
    lists = ["h1:1\nh2:1\n", "h2:1\n"]

    async def crawl():
        clock, seen = ManualClock(), []

        def answer(path, headers):
            seen.append(path)
            return SiteResponse(200, lists.pop(0).encode()) if lists else SiteResponse(500, b"")

        async with serve(answer) as site:
            url = f"{site.url}/list?token={SECRET}"
            settled = settings(url=url, refresh=60.0)
            pool = await open_proxy_pool(settled, MemorySharedState(clock), clock, None)
            hosts = []
            for _ in range(3):
                hosts.append({(await pool.choose_proxy("shop")).host for _ in range(4)})
                clock.advance(61.0)
                await pool.choose_proxy("shop")
                await pool._reading
            await pool.close()
            with pytest.raises(MissingServiceError, match="status 500") as error:
                await open_proxy_pool(settled, MemorySharedState(clock), clock, None)
            assert SECRET not in str(error.value)
            assert set(seen) == {f"/list?token={SECRET}"}
        return hosts

    assert asyncio.run(crawl()) == [{"h1", "h2"}, {"h2"}, {"h2"}]


async def test_quarantines_are_as_the_settings_say():
    clock = ManualClock()
    settled = settings(urls=["h1:1 kind=mobile"], block_quarantine={"mobile": 7.0})
    pool = await open_proxy_pool(settled, MemorySharedState(clock), clock, None)
    (proxy,) = pool.proxies
    await pool.record_outcome(proxy, "shop", ProxyOutcome.BLOCKED, started_at=clock.now())
    refused = Detour(wait_s=7.0, why="no proxy for shop may be used now", refusals=1, refused=1)
    assert await pool.choose_proxy("shop") == refused


async def test_a_crawl_without_proxies_has_no_pool(tmp_path):
    clock = ManualClock()
    assert await open_proxy_pool(settings(), MemorySharedState(clock), clock, None) is None
    replayed = load_settings(
        env={}, spider={"proxies": {"urls": ["h:1"]}, "replay": {"folder": str(tmp_path)}}
    ).settings
    assert await open_proxy_pool(replayed, MemorySharedState(clock), clock, None) is None
