"""Hostile inputs 12 and 15 to 17: certificates, names and addresses.

Each has servers of its own, since it is about them and not about a page.
"""

from __future__ import annotations

import contextlib
import datetime
import socket
import ssl
import threading
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

import pytest
import trustme

from kit.hostile.bad_site import crawl, headers_at, serving


@pytest.fixture(scope="module")
def authority() -> trustme.CA:
    return trustme.CA()


def server(authority: trustme.CA, name: str = "127.0.0.1", **options: object) -> ssl.SSLContext:
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    authority.issue_cert(name, **options).configure_cert(context)
    return context


def trusting(authority: trustme.CA, folder: Path) -> dict[str, str]:
    """An environment in which the machine trusts an authority."""
    file = folder / "authority.pem"
    authority.cert_pem.write_to_path(str(file))
    return {"SSL_CERT_FILE": str(file)}


@contextmanager
def old_tls(authority: trustme.CA) -> Iterator[str]:
    """The URL of a server of 1999; a thread, because asyncio drops the alert that it should send."""
    context = server(authority)
    context.set_ciphers("ALL:@SECLEVEL=0")
    with pytest.warns(DeprecationWarning, match="TLSv1 is deprecated"):
        context.minimum_version = context.maximum_version = ssl.TLSVersion.TLSv1
    listener = socket.create_server(("127.0.0.1", 0))

    def serve() -> None:
        while True:
            try:
                client, _ = listener.accept()
                with contextlib.suppress(OSError), client:
                    context.wrap_socket(client, server_side=True).close()
            except OSError:
                return

    thread = threading.Thread(target=serve)
    thread.start()
    try:
        yield f"https://127.0.0.1:{listener.getsockname()[1]}/good"
    finally:
        listener.shutdown(socket.SHUT_RDWR)
        listener.close()
        thread.join(10)


@pytest.mark.long
def test_row_15_tls(tmp_path: Path, authority: trustme.CA) -> None:
    """Verified by default; what does not verify is ``tls``; the opt-out holds for the named host only."""
    past = datetime.datetime(2020, 1, 1, tzinfo=datetime.UTC)
    contexts = {
        "good": server(authority),
        "expired": server(authority, not_after=past),
        "unknown authority": server(trustme.CA()),
        "wrong name": server(authority, "other.example"),
        "opted out": server(trustme.CA(), "other.example"),
    }
    sites = {case: serving(tls=tls, hosts=["127.0.0.1", "127.0.1.9"]) for case, tls in contexts.items()}
    with ExitStack() as stack:
        urls = {}
        for case, serve in sites.items():
            site = stack.enter_context(serve)
            urls[case] = site.url("good", host="127.0.1.9" if case == "opted out" else "127.0.0.1")
        urls["old"] = stack.enter_context(old_tls(authority))
        cut = stack.enter_context(serving(cut="hello"))
        urls["cut"] = cut.url("good").replace("http:", "https:")
        done = crawl(
            tmp_path,
            urls.values(),
            env=trusting(authority, tmp_path),
            robots=False,
            **{"http.insecure_hosts": ["127.0.1.9"]},
        )
        done.behaved()
        ended = {case: done.ending(url) for case, url in urls.items()}
        print({case: done.details[url] for case, url in urls.items()})
        wrong = ("expired", "unknown authority", "wrong name", "old")
        assert ended == dict.fromkeys(wrong, "tls") | {
            "good": "success",
            "opted out": "success",
            "cut": "connect",
        }
        assert 'http.tls = "compatible"' in done.details[urls["old"]]
        assert "http.insecure_hosts" in done.details[urls["expired"]]
        assert all(len(done.tries[urls[case]]) == 1 for case in wrong), "a certificate does not get better"
        assert len(done.tries[urls["cut"]]) == 2, "a handshake that was cut may succeed the next time"


@pytest.mark.long
def test_row_12_from_https_to_http(tmp_path: Path, authority: trustme.CA) -> None:
    with serving(tls=server(authority, "127.0.1.1"), hosts=["127.0.1.1"]) as first, serving() as other:
        seeds = [first.url(f"redirect_abroad/302/127.0.0.1:{other.port}")]
        done = crawl(
            tmp_path,
            seeds,
            spider="Poster",
            attributes={"method": "GET", "allowed_domains": ["127.0.0.1", "127.0.1.1"]},
            env=trusting(authority, tmp_path),
        )
        done.behaved()
        assert done.tries[seeds[0]] == ["redirect"]
        (sent,) = headers_at(first, "/redirect_abroad")
        assert sent["referer"]
        (bare,) = headers_at(other, "/echo")
        assert "canary" not in str(bare)
        assert "referer" not in bare


# --------------------------------------------------------------------------- names and addresses


@pytest.mark.long
def test_row_16_names_that_do_not_resolve(tmp_path: Path) -> None:
    """The machine's resolver is a fake at ``getaddrinfo``: the crawler has no resolver of its own to direct.

    A dead host costs few look-ups, however many of its pages are asked for; others go on.
    """
    names = {
        "nowhere.test": "EAI_NONAME",
        "empty.test": "EAI_NODATA",
        "failing.test": "EAI_AGAIN",
        "hanging.test": "hang",
        "loop.test": "EAI_FAIL",  # what a resolver makes of CNAMEs in a circle
        "many.test": [f"127.0.9.{number}" for number in range(1, 40)] + ["127.0.0.1"],
    }
    with serving() as site:
        seeds = {name: [site.url(f"good/{n}", host=name) for n in range(40)] for name in names}
        seeds["127.0.0.1"] = [site.url("hub/good")]
        done = crawl(
            tmp_path,
            [url for urls in seeds.values() for url in urls],
            names=names,
            robots=False,
            **{"http.connect_timeout": 1.0},
        )
        done.behaved()
        assert site.hits("good") == 21 + 40
    ended = {name: {done.ending(url) for url in urls} for name, urls in seeds.items()}
    assert ended["nowhere.test"] == ended["empty.test"] == {"dns", "host_down"}
    assert ended["failing.test"] == ended["loop.test"] == {"dns_temporary", "host_down"}
    assert (
        {"timeout_connect", "host_down"}
        <= ended["hanging.test"]
        <= {"timeout_connect", "host_down", "dns_temporary"}
    )
    assert ended["many.test"] == ended["127.0.0.1"] == {"success"}
    dead = [name for name in names if name != "many.test"]
    assert all(done.looked_up[name] < 40 for name in dead), done.looked_up


def test_row_17_addresses_of_version_6(tmp_path: Path) -> None:
    names = {"dual.test": ["::1", "127.0.0.1"], "mapped.test": ["::ffff:127.0.0.1"], "six.test": ["::1"]}
    with serving() as four, serving(hosts=["::1"]) as six:
        pages = {
            "/": f'<a href="{four.url("good", host="mapped.test")}">a</a>'
            f'<a href="{six.url("good", host="six.test")}">b</a>'
            f'<a href="http://[fe80::1]:{six.port}/">c</a><a href="http://[fe80::1%25lo]/">d</a>'
        }
        six.files.update({path: text.encode() for path, text in pages.items()})
        seeds = [six.url(), six.url("good"), four.url("good", host="dual.test")]
        done = crawl(tmp_path, seeds, names=names)
        done.behaved()
    assert [done.ending(url) for url in seeds] == ["success"] * 3
    guarded = [url for url in done.tries if url not in seeds]
    assert len(guarded) == 3
    assert [done.ending(url) for url in guarded] == ["guard"] * 3
    assert done.left_out == {"link:invalid": 1}
